"""Results over the budget: what a model is shown, how it reads the rest, and who else can, by whole gateways."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import orjson
import pytest
import pytest_asyncio
from pydantic import BaseModel, ConfigDict, Field

from core.directory.services import set_service
from core.directory.users import remove_user
from core.sealed_records import RecordSealer, UnreadableRecord
from gateway.results.handles import parse_handle
from gateway.results.store import KIND
from modules.kit import AccountRequest, Context, Hints, Module, VendorApi, tool
from tests.path.shop_app import ShopApp, open_shop_app, people
from tests.support.directory import revoke
from tests.support.eventually import within
from tests.support.mcp_client import MODERN, Answer
from tests.support.postgres import DatabaseServer, ScratchDatabase
from tests.support.product import ACTOR, Node, Person
from tests.support.tokens import tokens

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=True)
FACT = "The second key is kept in Falkenberg"
GONE = "there is no such result for you"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Report(BaseModel):
    """Any fields."""

    model_config = ConfigDict(extra="allow")


class Written(BaseModel):
    text: str


def items(number: int) -> list[dict[str, Any]]:
    """Rows as vendors have them; the fact is in the last but one."""
    rows = [
        {
            "key": f"ABC-{n}",
            "title": f"Something to do {n}",
            "at": "2026-05-01T10:00:00Z",
            "labels": ["export", "later"],
        }
        for n in range(number)
    ]
    rows[-2]["body"] = f"Long talk.\n{FACT}.\nAll agreed."
    return rows


@tool(hints=READS, scopes=["shop:read"])
async def report(context: Context, number: Annotated[int, Field(description="How many")]) -> Report:
    """Report much."""
    await context.vendor.request("GET", "/report")
    return Report.model_validate({"items": items(number), "nextCursor": "c2"})


@tool(hints=READS, scopes=["shop:read"])
async def write(context: Context, text: Annotated[Any, Field(description="Anything")]) -> Written:
    """Write something down."""
    await context.vendor.request("GET", "/write")
    return Written(text=orjson.dumps(text).decode())


def wordy_module(base_url: str) -> Module:
    scopes = frozenset({"shop:read"})
    return Module(
        "shop",
        "Shop",
        "Reports.",
        scopes,
        (report, write),
        vendor=VendorApi(base_url=base_url, account=AccountRequest("/me", name="/name")),
    )


@contextlib.asynccontextmanager
async def open_app(database: ScratchDatabase, folder: Path) -> AsyncIterator[tuple[ShopApp, Person]]:
    """A product with the module of this file, and one of its people, who is connected."""
    async with open_shop_app(database, folder, make_module=wordy_module) as app:
        ada, eve = await people(app)
        for person in (ada, eve):
            await app.add(person, f"token-of-{person.email}")
        yield app, ada


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[ShopApp, Person]]:
    """One product for all tests: who changes rights or settings does so as a :func:`newcomer`."""
    async with (
        database_server.database() as database,
        open_app(database, tmp_path_factory.mktemp("results")) as opened,
    ):
        yield opened


@pytest.fixture
def app(opened: tuple[ShopApp, Person]) -> ShopApp:
    opened[0].shop.asked.clear()
    return opened[0]


@pytest.fixture
def ada(opened: tuple[ShopApp, Person]) -> Person:
    return opened[1]


@pytest_asyncio.fixture(loop_scope="module")
async def newcomer(app: ShopApp) -> Person:
    """A connected person of whom nobody has heard yet, alone in their tenant."""
    tenant = await app.product.tenant(f"t-{uuid4().hex[:12]}", services=["shop"])
    person = await app.product.person(tenant, f"ada@{tenant.slug}.test", allow=["*"])
    await app.add(person, f"token-of-{person.email}")
    return person


async def ask(node: Node, person: Person, number: int = 2000, **options: Any) -> Answer:
    params = {"module": "shop", "tool_name": "report", "params": {"number": number}, **options}
    return await node.tool(person.token, "call", params)


async def handle_of(node: Node, person: Person) -> str:
    return (await ask(node, person)).value["partial"]["handle"]


async def read(node: Node, person: Person, handle: str, **params: Any) -> Answer:
    return await node.call(person.token, "results", "read_result", {"handle": handle, **params})


async def find(node: Node, person: Person, handle: str, text: str, **params: Any) -> Answer:
    return await node.call(person.token, "results", "search_result", {"handle": handle, "text": text, **params})


async def is_gone(node: Node, person: Person, handle: str) -> bool:
    """Whether neither way shows anything of it."""
    answers = [await read(node, person, handle), await find(node, person, handle, "Falkenberg")]
    gone = [answer.failed and answer.text.startswith(GONE) for answer in answers]
    assert all(FACT.encode() not in answer.body for answer, is_gone in zip(answers, gone, strict=True) if is_gone)
    return all(gone)


async def rows(app: ShopApp, person: Person) -> list[Any]:
    async with app.product.database.admin_connection() as admin:
        return await admin.fetch("SELECT * FROM results.results WHERE tenant_id = $1", person.tenant.id)


# --- What is shown ----------------------------------------------------------------------------------------------------


async def test_a_small_result_is_as_it_was(app: ShopApp, newcomer: Person) -> None:
    answer = await ask(app.node, newcomer, 20)
    assert answer.value == {"items": items(20), "nextCursor": "c2"}
    assert await rows(app, newcomer) == []


async def test_a_large_result_is_whole_items_within_the_budget(app: ShopApp, ada: Person) -> None:
    answer = await ask(app.node, ada)
    assert tokens(answer.text) <= 8000
    assert tokens(orjson.dumps(answer.result["structuredContent"]).decode()) <= 8000
    assert answer.is_marked
    shown, partial = answer.value["items"], answer.value["partial"]
    assert shown == items(2000)[: len(shown)]
    assert len(shown) > 80, "most of the budget is used"
    assert partial["left"] == [{"path": "items", "items": 2000, "next": len(shown)}]
    assert partial["shape"].startswith("{items: [{key: str, title: str, at: str, labels: [str]")
    assert answer.value["nextCursor"] == "c2"


BUDGETS = [200, 800, 3000, 50_000]


async def test_a_call_says_how_much_it_takes(app: ShopApp, ada: Person) -> None:
    for budget in BUDGETS:
        answer = await ask(app.node, ada, max_tokens=budget)
        assert budget / 3 < tokens(answer.text) <= budget or budget < 800
        assert answer.value["partial"]["handle"]


NO_BUDGETS: list[Any] = [0, 199, 50_001, "800", 1.5, True]


async def test_a_budget_that_is_none_is_refused_before_anything_runs(app: ShopApp, ada: Person) -> None:
    for wrong in NO_BUDGETS:
        answer = await ask(app.node, ada, max_tokens=wrong)
        assert answer.failed
        assert answer.text == "max_tokens is a whole number of tokens from 200 to 50000"
        assert app.shop.asked == []


async def test_a_token_has_a_budget_of_its_own(app: ShopApp, ada: Person) -> None:
    frugal = await app.product.with_token(ada, result_tokens=1000)
    answer = await ask(app.node, frugal)
    assert 600 < tokens(answer.text) <= 1000
    part = await read(app.node, frugal, answer.value["partial"]["handle"], path="items")
    assert 600 < tokens(part.text) <= 1000
    assert 1500 < tokens((await ask(app.node, frugal, max_tokens=2000)).text) <= 2000


async def test_a_modern_client_is_known_by_its_name(app: ShopApp, ada: Person) -> None:
    arguments = {"module": "shop", "tool_name": "report", "params": {"number": 2000}}
    shown: list[int] = []
    for name in ("claude-code", "another"):
        meta = {"name": "call", "arguments": arguments, "_meta": {CLIENT_INFO: {"name": name, "version": "1"}}}
        answer = await app.node.post(ada.token, "tools/call", meta, revision=MODERN)
        shown.append(len(answer.result["structuredContent"]["items"]))
    assert shown[0] > shown[1] * 1.2


# --- Reading the rest -------------------------------------------------------------------------------------------------


async def test_the_rest_is_read_without_asking_the_vendor_again(app: ShopApp, ada: Person) -> None:
    first = await ask(app.node, ada)
    handle, found, at = first.value["partial"]["handle"], list(first.value["items"]), len(first.value["items"])
    while at is not None:
        answer = await read(app.node, ada, handle, path="items", start=at)
        assert tokens(answer.text) <= 8000
        assert answer.is_marked
        found += answer.value["items"]
        at = answer.value.get("next")
    assert found == items(2000)
    assert len(app.shop.asked) == 1


async def test_columns_are_rows(app: ShopApp, ada: Person) -> None:
    handle = await handle_of(app.node, ada)
    answer = await read(app.node, ada, handle, path="items", start=10, count=2, columns=["key", "labels[1]", "body"])
    assert answer.value["columns"] == ["key", "labels[1]", "body"]
    assert answer.value["rows"] == [["ABC-10", "later", None], ["ABC-11", "later", None]]
    assert answer.value["next"] == 12


async def test_a_text_is_found(app: ShopApp, ada: Person) -> None:
    handle = await handle_of(app.node, ada)
    answer = await find(app.node, ada, handle, "falkenberg")
    assert answer.value["total"] == 1
    assert answer.value["matches"] == [{"path": "items[1998].body", "text": items(2000)[1998]["body"]}]
    assert (await read(app.node, ada, handle, path="items[1998].key")).value["text"] == "ABC-1998"


WRONG_PLACES: list[tuple[dict[str, Any], str]] = [
    ({"path": "itens"}, '$ has no .itens; it has: "items", "nextCursor"'),
    ({"path": "items[2000]"}, "items is an array of 2000; there is no [2000]"),
    ({"path": "items", "start": 2000}, "start 2000 is behind the end: items has 2000"),
    ({"path": "a b"}, "not a path: 'a b'"),
    ({"path": "items[0]", "columns": ["key"]}, "columns are of the items of an array"),
]


async def test_what_is_not_there_is_told(app: ShopApp, ada: Person) -> None:
    for params, error in WRONG_PLACES:
        answer = await read(app.node, ada, await handle_of(app.node, ada), **params)
        assert answer.failed
        assert answer.text.startswith(error)


async def test_the_module_is_read_by_its_name_and_never_listed(app: ShopApp, ada: Person) -> None:
    nobody = await app.product.person(ada.tenant, f"nobody-{uuid4()}@acme.test")
    answer = await app.node.tool(nobody.token, "get_module_schema", {"module": "results"})
    assert [one["name"] for one in answer.value["modules"][0]["tools"]] == [
        "read_result",
        "search_result",
        "show_content",
    ]
    for person in (ada, nobody):
        listed = await app.node.tool(person.token, "get_module_schema", {})
        assert "results" not in [one["module"] for one in listed.value["modules"]]
        assert "results" not in (await app.node.post(person.token, "tools/list")).result["tools"][0]["description"]


async def test_any_replica_serves_it(app: ShopApp, ada: Person) -> None:
    handle = await handle_of(app.node, ada)
    async with app.product.gateway(allowed_private_hosts=(app.shop.host,)) as other:
        assert (await find(other, ada, handle, "Falkenberg")).value["total"] == 1
    assert len(app.shop.asked) == 1


# --- Batches ----------------------------------------------------------------------------------------------------------


async def batch(node: Node, person: Person, *steps: dict[str, Any], **options: Any) -> Answer:
    return await node.tool(person.token, "batch", {"commands": list(steps), **options})


def step(id: str, number: int = 2000, **options: Any) -> dict[str, Any]:
    return {"id": id, "module": "shop", "tool_name": "report", "params": {"number": number}, "output": True, **options}


async def test_the_results_of_a_batch_share_the_budget(app: ShopApp, ada: Person) -> None:
    answer = await batch(app.node, ada, step("small", 3), step("a"), step("b"), step("own", max_tokens=500))
    assert not answer.failed
    assert tokens(answer.text) <= 8500
    small, a, b, own = (one["result"] for one in answer.result["structuredContent"]["steps"])
    assert small == {"items": items(3), "nextCursor": "c2"}
    assert abs(len(a["items"]) - len(b["items"])) < 10
    assert len(a["items"]) > 40
    assert tokens(orjson.dumps(own).decode()) <= 500
    for result in (a, b, own):
        assert (await find(app.node, ada, result["partial"]["handle"], "Falkenberg")).value["total"] == 1


async def test_parts_of_kept_results_share_the_budget_too(app: ShopApp, ada: Person) -> None:
    handle = await handle_of(app.node, ada)
    part = {"module": "results", "tool_name": "read_result", "output": True}
    steps = [{"id": f"p{n}", **part, "params": {"handle": handle, "path": "items", "start": n}} for n in range(4)]
    answer = await batch(app.node, ada, *steps)
    assert not answer.failed
    assert 4000 < tokens(answer.text) <= 8000
    for n, one in enumerate(answer.result["structuredContent"]["steps"]):
        assert one["result"]["items"][0]["key"] == f"ABC-{n}"
        assert "partial" not in one["result"]


async def test_a_batch_reads_five_kept_results(app: ShopApp, ada: Person) -> None:
    handles = [await handle_of(app.node, ada) for _ in range(6)]
    text = {"id": "w", "module": "shop", "tool_name": "write", "output": True}
    for number, failed in ((5, False), (6, True)):
        keys = " ".join(f"${{{handle}.items[0].key}}" for handle in handles[:number])
        answer = await batch(app.node, ada, {**text, "params": {"text": keys}})
        assert answer.failed == failed
        assert ("at most 5 kept results in one batch" if failed else "ABC-0 ABC-0") in answer.text


async def test_a_step_takes_from_a_kept_result_what_no_model_was_shown(app: ShopApp, ada: Person) -> None:
    handle = await handle_of(app.node, ada)
    text = {"id": "w", "module": "shop", "tool_name": "write", "output": True}
    answer = await batch(app.node, ada, {**text, "params": {"text": f"${{{handle}.items[1998].key}}"}})
    assert answer.result["structuredContent"]["steps"][0]["result"] == {"text": '"ABC-1998"'}
    answer = await batch(app.node, ada, {**text, "params": {"text": f"all: ${{{handle}.items}}"}, "max_tokens": 400})
    kept = answer.result["structuredContent"]["steps"][0]["result"]["partial"]["handle"]
    assert (await find(app.node, ada, kept, "Falkenberg")).value["total"] == 1
    answer = await batch(app.node, ada, {**text, "params": {"text": f"${{{handle}.made_up}}"}})
    assert "has no" in answer.text


async def test_a_batch_with_a_handle_of_somebody_else_does_not_run(app: ShopApp, ada: Person) -> None:
    other = await app.product.person(ada.tenant, f"bob-{uuid4()}@acme.test", allow=["*"])
    await app.add(other, "token-of-bob-0123456789")
    handle = await handle_of(app.node, ada)
    app.shop.asked.clear()
    steps = step("a"), {"id": "w", "module": "shop", "tool_name": "write", "params": {"text": f"${{{handle}.items}}"}}
    for options in ({}, {"dry_run": True}):
        answer = await batch(app.node, other, *steps, **options)
        assert answer.failed
        assert GONE in answer.text
    assert app.shop.asked == []


# --- Who may ----------------------------------------------------------------------------------------------------------


async def test_nobody_else_reads_it(app: ShopApp, ada: Person) -> None:
    """Another person of the tenant with the same rights, an administrator of another tenant, somebody without roles."""
    handle = await handle_of(app.node, ada)
    bob = await app.product.person(ada.tenant, f"bob-{uuid4()}@acme.test", allow=["*"])
    nobody = await app.product.person(ada.tenant, f"nobody-{uuid4()}@acme.test")
    initech = await app.product.tenant("initech")
    eve = await app.product.person(initech, "eve@initech.test", allow=["*"])
    for person in (bob, nobody, eve):
        assert await is_gone(app.node, person, handle)
    same = await app.product.with_token(ada)
    assert (await find(app.node, same, handle, "Falkenberg")).value["total"] == 1


async def test_a_handle_that_was_changed_or_made_up_opens_nothing(app: ShopApp, ada: Person) -> None:
    handle = await handle_of(app.node, ada)
    changed = handle[:30] + ("A" if handle[30] != "A" else "B") + handle[31:]
    for wrong in (changed, handle[:-1], handle + "A", "res_", "", "res_" + "A" * 43):
        assert await is_gone(app.node, ada, wrong)


async def test_without_the_tool_s_permission_it_is_gone(app: ShopApp, newcomer: Person) -> None:
    handle = await handle_of(app.node, newcomer)
    await revoke(app.product.console, ACTOR, newcomer.tenant.id, newcomer.email, "*")
    await within(1.0, lambda: is_gone(app.node, newcomer, handle))


async def test_without_the_service_it_is_gone(app: ShopApp, newcomer: Person) -> None:
    handle = await handle_of(app.node, newcomer)
    await set_service(app.product.console, ACTOR, newcomer.tenant.id, "shop", enabled=False)
    await within(1.0, lambda: is_gone(app.node, newcomer, handle))


async def test_it_dies_with_the_account_for_good(app: ShopApp, newcomer: Person) -> None:
    handle = await handle_of(app.node, newcomer)
    owner = await app.credentials.resolve_owner(newcomer.tenant.id, email=newcomer.email)
    await app.credentials.remove(ACTOR, newcomer.tenant.id, "shop", owner)
    assert await rows(app, newcomer) == []
    assert await is_gone(app.node, newcomer, handle)
    await app.add(newcomer, "another-token-0123456789")
    assert await is_gone(app.node, newcomer, handle)
    assert not (await ask(app.node, newcomer)).failed


async def test_it_dies_with_the_person(app: ShopApp, newcomer: Person) -> None:
    await handle_of(app.node, newcomer)
    await remove_user(app.product.console, ACTOR, newcomer.tenant.id, newcomer.id)
    assert await rows(app, newcomer) == []


async def test_it_expires(app: ShopApp, newcomer: Person) -> None:
    handle = await handle_of(app.node, newcomer)
    async with app.product.database.admin_connection() as admin:
        await admin.execute(
            """UPDATE results.results SET created_at = created_at - interval '2 h',
            expires_at = expires_at - interval '1 h' WHERE tenant_id = $1""",
            newcomer.tenant.id,
        )
    assert await is_gone(app.node, newcomer, handle)


async def test_a_row_alone_is_unreadable(app: ShopApp, newcomer: Person) -> None:
    """Of a copy of the database nothing can be read, not even with the deployment's key."""
    handle = parse_handle(await handle_of(app.node, newcomer))
    assert handle is not None
    (row,) = await rows(app, newcomer)
    everything = b"\n".join(str(value).encode() if not isinstance(value, bytes) else value for value in row.values())
    for secret in (b"Falkenberg", b"ABC-1998", handle.key, handle.key.hex().encode()):
        assert secret not in everything
    sealer = RecordSealer(app.product.deployment.digest_key)
    with pytest.raises(UnreadableRecord):
        sealer.open(newcomer.tenant.id, KIND, row["id"], row["sealed"])
    opened = sealer.open(newcomer.tenant.id, KIND, row["id"], row["sealed"], handle.key)
    assert FACT.encode() in opened


async def test_the_audit_log_has_no_handle(app: ShopApp, newcomer: Person) -> None:
    async with app.product.database.admin_connection() as admin:
        await admin.execute("UPDATE core.tenants SET record_arguments = true WHERE tenant_id = $1", newcomer.tenant.id)
    handle = await handle_of(app.node, newcomer)
    await read(app.node, newcomer, handle, path="items", start=3)
    events = await app.product.events(newcomer.tenant)
    assert any(b'"start":3' in (event.arguments or b"") for event in events)
    assert not any(handle.encode() in orjson.dumps(str(event)) for event in events)
