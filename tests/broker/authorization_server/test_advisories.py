"""Two advisories against another MCP proxy, played against ours, and their relatives (threat-model.md §2, row 3).

The attacker of both is a client: it wants a code for the victim's account. Everything that it can do is to send links.
"""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from tests.broker.authorization_server.server_app import (
    DYNAMIC,
    VERIFIER,
    AuthorizationServerApp,
    answer_of,
    fields,
    location,
    server_on,
)
from tests.support.postgres import ScratchDatabase

ATTACKER, VICTIM = 1, 0
EVIL = {"client_id": DYNAMIC.id, "redirect_uri": DYNAMIC.redirect_uris[0]}


@pytest.fixture
async def app(database: ScratchDatabase, make_tenant) -> AsyncIterator[AuthorizationServerApp]:
    async with server_on(database, await make_tenant(users=2)) as made:
        yield made


async def owners(app: AuthorizationServerApp) -> list[UUID]:
    """Whose codes there are."""
    async with app.scratch.admin_connection() as admin:
        return [row["user_id"] for row in await admin.fetch("SELECT user_id FROM auth.codes")]


async def test_ghsa_c2jp_a_new_client_gets_nothing_by_a_session_that_is_there(app: AuthorizationServerApp) -> None:
    """GHSA-c2jp-c369-7pvx: the victim is signed in, at the provider too, and agreed to other clients long ago."""
    await app.sign_in(VICTIM)
    await app.press(await app.authorize())
    await app.execute("DELETE FROM auth.codes")
    for site in ("cross-site", "same-site", "none", None):
        page = await app.authorize(site=site, **EVIL)
        assert page.status_code == 200
        assert "form_token" in fields(page), "a page that asks, and not an answer"
        assert "http-equiv" not in page.text
    assert await owners(app) == []


@pytest.mark.guarantee("G11")
async def test_ghsa_rww4_what_the_attacker_agreed_to_is_nothing_to_the_victim(app: AuthorizationServerApp) -> None:
    """GHSA-rww4-4w9c-7733: the attacker agrees in a browser of their own, and sends the victim what comes next."""
    await app.sign_in(ATTACKER)
    page = await app.authorize(**EVIL)
    going_on = await app.press(page)
    assert "code" in answer_of(going_on)
    assert await owners(app) == [app.tenant.users[ATTACKER]]
    await app.sign_in(VICTIM)
    asked = await app.authorize(**EVIL)
    assert "form_token" in fields(asked), "the victim is asked for themselves"
    assert (await app.press(page)).status_code == 403, "nor does the attacker's page count in their browser"
    assert await owners(app) == [app.tenant.users[ATTACKER]]


async def test_ghsa_rww4_before_anybody_is_signed_in(app: AuthorizationServerApp) -> None:
    """Who agrees has signed in before: what the sign-in leads back to is the question, and never an answer."""
    await app.sign_in(ATTACKER)
    await app.press(await app.authorize(**EVIL))
    app.sign_out()
    leads_to = location(await app.authorize(**EVIL))
    assert leads_to.startswith("/sign-in?next=%2Foauth%2Fauthorize")
    await app.sign_in(VICTIM)
    assert "form_token" in fields(await app.authorize(**EVIL))


async def test_a_consent_page_that_the_attacker_has_made_is_of_no_use(app: AuthorizationServerApp) -> None:
    """Phishing by link: every part of the form that a link could bring along is the session's own or is refused."""
    await app.sign_in(VICTIM)
    own = fields(await app.authorize(**EVIL))
    await app.sign_in(ATTACKER)
    attackers = fields(await app.authorize(**EVIL))
    await app.sign_in(VICTIM)
    query = f"{own['request']}&decision=allow&form_token={own['form_token']}"
    page = await app.authorize(query)
    assert "form_token" in fields(page), "by GET nothing is decided, not even with the right token"
    response = await app.press(page, form_token=attackers["form_token"])
    assert response.status_code == 403
    assert await owners(app) == []


async def test_twenty_presses_of_one_form(app: AuthorizationServerApp) -> None:
    """A form may be sent again, by a double click or a reload: each time for the same person, client and request."""
    await app.sign_in(VICTIM)
    page = await app.authorize(**EVIL)
    pressed = await asyncio.gather(*(app.press(page) for _ in range(20)))
    codes = {answer_of(one)["code"] for one in pressed}
    assert len(codes) == 20
    assert await owners(app) == [app.tenant.users[VICTIM]] * 20
    assert await app.value("SELECT count(*) FROM auth.consents") == 1
    scopes = "SELECT count(DISTINCT (client_id, redirect_uri, scopes, challenge)) FROM auth.codes"
    assert await app.value(scopes) == 1
    app.clock.go(hours=1)
    assert (await app.press(page)).status_code == 303, "and not beyond the session"


async def test_an_injected_code_is_of_no_use_to_another_start(app: AuthorizationServerApp) -> None:
    """Code injection: the attacker's start has a challenge of its own, which the stolen code was not made for."""
    await app.sign_in(VICTIM)
    code = await app.code()
    for verifier in (VERIFIER.upper(), VERIFIER + "x"):
        response = await app.redeem(code, {"code_verifier": verifier})
        assert (response.status_code, response.json()["error"]) == (400, "invalid_grant")
    response = await app.redeem(code, {"client_id": DYNAMIC.id})
    assert response.json()["error"] == "invalid_grant"
    assert (await app.redeem(code)).status_code == 200
