"""Two advisories against another MCP proxy, played against ours, and their relatives (threat-model.md §2, row 3).

The attacker of both is a client: it wants a code for the victim's account. Everything that it can do is to send links.
"""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from tests.broker.authorization_server.server_rig import (
    DYNAMIC,
    VERIFIER,
    Server,
    answer_of,
    fields,
    location,
    server_on,
)
from tests.support.postgres import ScratchDatabase

ATTACKER, VICTIM = 1, 0
EVIL = {"client_id": DYNAMIC.id, "redirect_uri": DYNAMIC.redirect_uris[0]}


@pytest.fixture
async def server(database: ScratchDatabase, make_tenant) -> AsyncIterator[Server]:
    async with server_on(database, await make_tenant(users=2)) as made:
        yield made


async def owners(server: Server) -> list[UUID]:
    """Whose codes there are."""
    async with server.scratch.admin_connection() as admin:
        return [row["user_id"] for row in await admin.fetch("SELECT user_id FROM auth.codes")]


async def test_ghsa_c2jp_a_new_client_gets_nothing_by_a_session_that_is_there(server: Server) -> None:
    """GHSA-c2jp-c369-7pvx: the victim is signed in, at the provider too, and agreed to other clients long ago."""
    await server.sign_in(VICTIM)
    await server.press(await server.authorize())
    await server.execute("DELETE FROM auth.codes")
    for site in ("cross-site", "same-site", "none", None):
        page = await server.authorize(site=site, **EVIL)
        assert page.status_code == 200
        assert "form_token" in fields(page), "a page that asks, and not an answer"
        assert "http-equiv" not in page.text
    assert await owners(server) == []


@pytest.mark.guarantee("G11")
async def test_ghsa_rww4_what_the_attacker_agreed_to_is_nothing_to_the_victim(server: Server) -> None:
    """GHSA-rww4-4w9c-7733: the attacker agrees in a browser of their own, and sends the victim what comes next."""
    await server.sign_in(ATTACKER)
    page = await server.authorize(**EVIL)
    going_on = await server.press(page)
    assert "code" in answer_of(going_on)
    assert await owners(server) == [server.tenant.users[ATTACKER]]
    await server.sign_in(VICTIM)
    asked = await server.authorize(**EVIL)
    assert "form_token" in fields(asked), "the victim is asked for themselves"
    assert (await server.press(page)).status_code == 403, "nor does the attacker's page count in their browser"
    assert await owners(server) == [server.tenant.users[ATTACKER]]


async def test_ghsa_rww4_before_anybody_is_signed_in(server: Server) -> None:
    """Who agrees has signed in before: what the sign-in leads back to is the question, and never an answer."""
    await server.sign_in(ATTACKER)
    await server.press(await server.authorize(**EVIL))
    server.sign_out()
    leads_to = location(await server.authorize(**EVIL))
    assert leads_to.startswith("/sign-in?next=%2Foauth%2Fauthorize")
    await server.sign_in(VICTIM)
    assert "form_token" in fields(await server.authorize(**EVIL))


async def test_a_consent_page_that_the_attacker_has_made_is_of_no_use(server: Server) -> None:
    """Phishing by link: every part of the form that a link could bring along is the session's own or is refused."""
    await server.sign_in(VICTIM)
    own = fields(await server.authorize(**EVIL))
    await server.sign_in(ATTACKER)
    attackers = fields(await server.authorize(**EVIL))
    await server.sign_in(VICTIM)
    query = f"{own['request']}&decision=allow&form_token={own['form_token']}"
    page = await server.authorize(query)
    assert "form_token" in fields(page), "by GET nothing is decided, not even with the right token"
    response = await server.press(page, form_token=attackers["form_token"])
    assert response.status_code == 403
    assert await owners(server) == []


async def test_twenty_presses_of_one_form(server: Server) -> None:
    """A form may be sent again, by a double click or a reload: each time for the same person, client and request."""
    await server.sign_in(VICTIM)
    page = await server.authorize(**EVIL)
    pressed = await asyncio.gather(*(server.press(page) for _ in range(20)))
    codes = {answer_of(one)["code"] for one in pressed}
    assert len(codes) == 20
    assert await owners(server) == [server.tenant.users[VICTIM]] * 20
    assert await server.value("SELECT count(*) FROM auth.consents") == 1
    scopes = "SELECT count(DISTINCT (client_id, redirect_uri, scopes, challenge)) FROM auth.codes"
    assert await server.value(scopes) == 1
    server.clock.go(hours=1)
    assert (await server.press(page)).status_code == 303, "and not beyond the session"


async def test_an_injected_code_is_of_no_use_to_another_start(server: Server) -> None:
    """Code injection: the attacker's start has a challenge of its own, which the stolen code was not made for."""
    await server.sign_in(VICTIM)
    code = await server.code()
    for verifier in (VERIFIER.upper(), VERIFIER + "x"):
        response = await server.redeem(code, {"code_verifier": verifier})
        assert (response.status_code, response.json()["error"]) == (400, "invalid_grant")
    response = await server.redeem(code, {"client_id": DYNAMIC.id})
    assert response.json()["error"] == "invalid_grant"
    assert (await server.redeem(code)).status_code == 200
