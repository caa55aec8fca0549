"""One's own API tokens at /account, over HTTP: seen, ended, and nobody else's."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from core.secret import Secret
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Person, product_on

SECTION = re.compile(r'<section aria-labelledby="tokens">(.*?)</section>', re.S)


@pytest.fixture
async def identity(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Identity]:
    async with product_on(database, tmp_path / "home") as product, identity_on(product, providers=False) as running:
        yield running


@pytest.fixture
async def people(identity: Identity) -> dict[str, Person]:
    """ada and bob of one tenant, and another ada of another tenant: each has a token that is called `test`."""
    acme, umbrella = [await identity.product.tenant(slug) for slug in ("acme", "umbrella")]
    return {
        "ada": await identity.product.person(acme, "ada@acme.test"),
        "bob": await identity.product.person(acme, "bob@acme.test"),
        "eve": await identity.product.person(umbrella, "ada@umbrella.test"),
    }


@pytest.fixture
async def http(identity: Identity) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=identity.url, headers={"Accept": "text/html"}) as client:
        yield client


async def tokens(identity: Identity, http: httpx2.AsyncClient, person: Person, language: str = "en") -> str:
    """The section of the page as text."""
    headers = {"Cookie": await identity.session(person), "Accept-Language": language}
    page = await http.get("/account", headers=headers)
    assert page.status_code == 200
    found = SECTION.search(page.text)
    assert found, page.text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[1]))


async def end(identity: Identity, http: httpx2.AsyncClient, person: Person, token_id: str) -> httpx2.Response:
    headers = {"Cookie": await identity.session(person), "Origin": identity.url}
    return await http.post("/account/tokens/end", data={"id": token_id}, headers=headers)


async def works(identity: Identity, token: str) -> bool:
    return not hasattr(await identity.zone.tokens.verify(Secret(token)), "reason")


async def test_what_is_shown_of_a_token(
    identity: Identity, http: httpx2.AsyncClient, people: dict[str, Person]
) -> None:
    ada, until = people["ada"], identity.product.clock() + timedelta(days=30)
    more = {"scopes": ["mcp:read"], "read_only": True, "expires_at": until}
    _, token = await identity.product.tokens.create(ACTOR, ada.tenant.id, ada.id, "<b>laptop</b>", **more)  # type: ignore[arg-type]
    shown = await tokens(identity, http, ada)
    assert "&lt;b&gt;laptop&lt;/b&gt;" in shown
    assert "read and change" in shown, "of the one called test"
    assert "read-only" in shown
    assert "never used" in shown
    assert f"expires {until.day} {until:%B} {until.year}" in shown
    assert "does not expire" in shown
    assert not any(secret in shown for secret in (token.reveal(), ada.token, people["bob"].token_id))
    await identity.zone.tokens.verify(token)
    assert "last used" in await tokens(identity, http, ada)
    japanese = await tokens(identity, http, ada, "ja")
    assert "API トークン" in japanese
    assert "読み取り専用" in japanese


async def test_one_s_own_token_ends_at_once(
    identity: Identity, http: httpx2.AsyncClient, people: dict[str, Person]
) -> None:
    ada = people["ada"]
    ended = await end(identity, http, ada, ada.token_id)
    assert (ended.status_code, ended.headers["location"]) == (303, "/account?done=token_revoked")
    page = await http.get("/account?done=token_revoked", headers={"Cookie": await identity.session(ada)})
    assert "no longer works" in page.text
    assert not await works(identity, ada.token)
    assert "You have none" in await tokens(identity, http, ada)
    [event] = await identity.product.events(ada.tenant, "token.revoked")
    assert (event.actor, (event.detail or {})["token"]) == (ada.email, ada.token_id)
    assert (await end(identity, http, ada, ada.token_id)).status_code == 404


async def test_nobody_else_s(identity: Identity, http: httpx2.AsyncClient, people: dict[str, Person]) -> None:
    """Not a colleague's, not another tenant's, not as an administrator: that is the admin API's."""
    async with identity.product.database.admin_connection() as admin:
        await admin.execute("UPDATE core.users SET system_role = 'admin' WHERE id = $1", people["ada"].id)
    for owner in ("bob", "eve"):
        assert people[owner].token_id not in await tokens(identity, http, people["ada"])
        refused = await end(identity, http, people["ada"], people[owner].token_id)
        assert (refused.status_code, await works(identity, people[owner].token)) == (404, True)
    for wrong in ("", "x", "../..", people["ada"].token, str(people["ada"].id), "a" * 5000):
        refused = await end(identity, http, people["ada"], wrong)
        assert refused.status_code == 404, wrong
        assert people["ada"].token not in refused.text
    assert await works(identity, people["ada"].token)


async def test_without_a_session_or_from_another_site(
    identity: Identity, http: httpx2.AsyncClient, people: dict[str, Person]
) -> None:
    ada, form = people["ada"], {"id": people["ada"].token_id}
    cookie = {"Cookie": await identity.session(ada)}
    assert (await http.post("/account/tokens/end", data=form, headers={"Origin": identity.url})).status_code == 303
    for headers in ({}, {"Origin": "https://evil.example"}, {"Origin": identity.url, "Sec-Fetch-Site": "cross-site"}):
        answer = await http.post("/account/tokens/end", data=form, headers={**cookie, **headers})
        assert answer.status_code == 403
    assert await works(identity, ada.token)


async def test_only_live_ones_however_many_have_ended(
    identity: Identity, http: httpx2.AsyncClient, people: dict[str, Person]
) -> None:
    ada = people["ada"]
    async with identity.product.database.admin_connection() as admin:
        await admin.execute(
            """INSERT INTO auth.api_tokens (tenant_id, id, user_id, name, pepper_kid, secret_hmac, scopes, read_only,
                revoked_at)
            SELECT $1, lpad(n::text, 12, '0'), $2, 'ended', 'k', sha256(n::text::bytea), '{mcp:read}', false, now()
            FROM generate_series(1, 1200) n""",
            ada.tenant.id,
            ada.id,
        )
    soon = identity.product.clock() + timedelta(minutes=5)
    await identity.product.tokens.create(ACTOR, ada.tenant.id, ada.id, "short", expires_at=soon)
    assert "short" in await tokens(identity, http, ada)
    identity.product.clock.ahead = timedelta(minutes=6)
    shown = await tokens(identity, http, ada)
    assert ("ended" in shown, "short" in shown, "test" in shown) == (False, False, True)
