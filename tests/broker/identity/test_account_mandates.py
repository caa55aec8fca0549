"""What works in one's absence, at /account over HTTP: seen, agreed to, ended, and nobody else's."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID, uuid4

import httpx2
import pytest
import pytest_asyncio

from broker.interface import CredentialRefusal, Mandate, MandatePurpose, MandateRequest
from core.secret import Secret
from tests.support.identity import Identity, identity_on
from tests.support.postgres import DatabaseServer
from tests.support.product import Person, product_on

SECTION = re.compile(r'<section aria-labelledby="mandates">(.*?)</section>', re.S)
pytestmark = pytest.mark.asyncio(loop_scope="module")
TOOL = ("knowledge_graph", "create_entities")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def identity(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Identity]:
    """One for all tests; each has people of its own."""
    async with (
        database_server.database() as database,
        product_on(database, tmp_path_factory.mktemp("mandates") / "home") as product,
        identity_on(product, providers=False) as running,
    ):
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(identity: Identity) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=identity.url, headers={"Accept": "text/html"}) as client:
        yield client


async def people(identity: Identity) -> tuple[Person, Person, Person]:
    """ada and bob of one tenant, and another ada of another tenant."""
    slugs = [f"{name}-{uuid4().hex[:12]}" for name in ("acme", "umbrella")]
    acme, umbrella = [await identity.product.tenant(slug, services=["knowledge_graph"]) for slug in slugs]
    return (
        await identity.product.person(acme, f"ada@{acme.slug}.test", allow=["*"]),
        await identity.product.person(acme, f"bob@{acme.slug}.test", allow=["*"]),
        await identity.product.person(umbrella, f"ada@{umbrella.slug}.test", allow=["*"]),
    )


async def make(
    identity: Identity,
    person: Person,
    title: str,
    purpose: MandatePurpose = MandatePurpose.SCHEDULE,
    tools: tuple[tuple[str, str], ...] = (TOOL,),
) -> Mandate:
    until = identity.product.clock() + timedelta(days=30)
    wanted = MandateRequest(Secret(person.token), purpose, uuid4(), title, tools, until)
    made = await identity.zone.broker.create_mandate(wanted)
    assert isinstance(made, Mandate), made
    return made


async def shown(identity: Identity, http: httpx2.AsyncClient, person: Person, language: str = "en") -> str:
    """The section of the page as text."""
    headers = {"Cookie": await identity.session(person), "Accept-Language": language}
    found = SECTION.search((await http.get("/account", headers=headers)).text)
    assert found
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[1]))


async def test_every_tool_is_named_before_one_agrees(identity: Identity, http: httpx2.AsyncClient) -> None:
    ada, *_ = await people(identity)
    names = ("create_entities", "create_relations", "add_observations", "delete_entities", "read_graph", "get_nodes")
    await make(identity, ada, "Sync", tools=tuple(("knowledge_graph", name) for name in names))
    text = await shown(identity, http, ada)
    assert all(f"knowledge_graph.{name}" in text for name in names), text
    assert "…" not in text


async def press(
    identity: Identity, http: httpx2.AsyncClient, person: Person, what: str, mandate_id: UUID, origin: str = ""
) -> tuple[int, str]:
    headers = {"Cookie": await identity.session(person), "Origin": origin or identity.url}
    answer = await http.post(f"/account/mandates/{what}", data={"id": str(mandate_id)}, headers=headers)
    return answer.status_code, answer.headers.get("location", "")


async def counts(identity: Identity, mandate: Mandate) -> bool:
    return not isinstance(await identity.zone.broker.verify_mandate(mandate.reference), CredentialRefusal)


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "en",
            ("What works in your absence", "waits for your consent", "Schedule", "never used", "Job", "Allow", "End"),
        ),
        ("ja", ("不在時に動作するもの", "同意待ち", "スケジュール", "未使用", "ジョブ", "許可する", "終了させる")),
    ],
)
async def test_what_is_shown(
    identity: Identity, http: httpx2.AsyncClient, language: str, texts: tuple[str, ...]
) -> None:
    ada, _, _ = await people(identity)
    await make(identity, ada, "<b>nightly</b>")
    await make(identity, ada, "", MandatePurpose.JOB)
    text = await shown(identity, http, ada, language)
    assert [one for one in texts if one not in text] == []
    assert "&lt;b&gt;nightly&lt;/b&gt;" in text
    assert ".".join(TOOL) in text


async def test_it_counts_from_the_consent_to_the_end(identity: Identity, http: httpx2.AsyncClient) -> None:
    ada, _, _ = await people(identity)
    mandate = await make(identity, ada, "nightly")
    assert not await counts(identity, mandate)
    assert await press(identity, http, ada, "allow", mandate.id) == (303, "/account?done=mandate_allowed")
    assert await counts(identity, mandate)
    assert "waits" not in await shown(identity, http, ada)
    assert (await press(identity, http, ada, "allow", mandate.id))[0] == 404, "once"
    assert await press(identity, http, ada, "end", mandate.id) == (303, "/account?done=mandate_revoked")
    assert not await counts(identity, mandate)
    assert "nightly" not in await shown(identity, http, ada)
    assert (await press(identity, http, ada, "end", mandate.id))[0] == 404


async def test_nobody_else_decides(identity: Identity, http: httpx2.AsyncClient) -> None:
    """Neither a colleague, nor the same name elsewhere, nor another site's page in one's own browser."""
    ada, *others = await people(identity)
    waiting, working = await make(identity, ada, "nightly"), await make(identity, ada, "once", MandatePurpose.JOB)
    for other in others:
        assert "nightly" not in await shown(identity, http, other)
        assert (await press(identity, http, other, "allow", waiting.id))[0] == 404
        assert (await press(identity, http, other, "end", working.id))[0] == 404
    for what, mandate in (("allow", waiting), ("end", working)):
        assert (await press(identity, http, ada, what, mandate.id, "https://evil.example"))[0] == 403
        answer = await http.post(
            f"/account/mandates/{what}", data={"id": str(mandate.id)}, headers={"Origin": identity.url}
        )
        assert answer.headers["location"].startswith("/sign-in"), "nobody who is not signed in"
    assert not await counts(identity, waiting)
    assert await counts(identity, working)
