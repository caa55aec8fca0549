"""Whoever guesses at the doors of sign-in has to wait, and nobody else (threat-model.md §2, rows 33 and 43)."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from broker.identity.random_secrets import new_secret
from tests.broker.identity.browser import Browser
from tests.broker.identity.identity_app import IdentityApp, house_on
from tests.broker.identity.people import ACTOR
from tests.broker.identity.vendors import CLIENT_ID, CLIENT_SECRET
from tests.support.postgres import ScratchDatabase

FLOW = "__Host-mcpist-flow"
ALLOWED = 20
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[IdentityApp]:
    secrets = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    github = {"id": "github", "kind": "github", "base_url": NOWHERE, "api_url": NOWHERE, **secrets}
    async with house_on(database, [github]) as made:
        yield made


@pytest.fixture
async def browser(app: IdentityApp) -> AsyncIterator[Browser]:
    async with app.browser() as made:
        yield made


def pretending(number: int) -> dict[str, str]:
    """Headers of a proxy that is none."""
    return {"X-Forwarded-For": f"203.0.113.{number}", "Forwarded": f"for=203.0.113.{number}"}


async def test_links_that_are_made_up(app: IdentityApp, browser: Browser) -> None:
    tenant_id = await app.people.tenant("acme")
    ada = await app.people.user(tenant_id, "ada@acme.test")
    browser.http.headers.update(pretending(1))
    for number in range(ALLOWED):
        browser.http.headers.update(pretending(number))
        assert (await browser.send("/sign-in/link", code=new_secret().reveal())).status_code == 410
    code = (await app.people.door.links.create(ACTOR, tenant_id, ada)).reveal()
    limited = await browser.send("/sign-in/link", code=code)
    assert (limited.status_code, "session" in str(limited.headers)) == (429, False)
    assert int(limited.headers["retry-after"]) > 0
    async with app.browser("198.51.100.7") as elsewhere:
        assert (await elsewhere.send("/sign-in/link", code=code)).status_code == 303
    refused = await app.people.events("sign_in.refused")
    assert len(refused) == ALLOWED, "what is limited leaves nothing in the audit log"


async def test_answers_that_are_made_up(app: IdentityApp, browser: Browser) -> None:
    statuses: list[int] = []
    for number in range(ALLOWED + 5):
        query = httpx2.QueryParams({"state": new_secret().reveal(), "code": "x"})
        headers = {"Cookie": f"{FLOW}={new_secret().reveal()}", **pretending(number)}
        answer = await browser.http.get(f"https://mcpist.test/sign-in/callback/github?{query}", headers=headers)
        statuses.append(answer.status_code)
    assert statuses == [403] * ALLOWED + [429] * 5
    assert len(await app.people.events("sign_in.refused")) == ALLOWED
