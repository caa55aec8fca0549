"""An OAuth client and its person at a split deployment: everything goes by the public URL, as in the wild."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2

from broker.authorization_server.registered_clients import NewClient, RegisteredClients
from broker.identity.identity_services import build_identity_services
from broker.vault.key_wrapping import load_or_create
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from server.role_database import get_utc_now
from tests.clients.browser_person import BrowserPerson
from tests.support.eventually import within
from tests.support.loopback_client import LoopbackClient
from tests.support.product import ACTOR, Person
from tests.support.split import Heard, Split

Tokens = dict[str, Any]


@dataclass
class ClientOf:
    """A client that a person has signed in for. `http` has no cookies, `browser` has the person's."""

    deployment: Split
    person: Person
    id: str
    at: LoopbackClient
    browser: BrowserPerson
    http: httpx2.AsyncClient = field(repr=False)

    async def code(self) -> str:
        """Send the browser, which agrees; the code."""
        answer = await self.browser.agree(self.at.authorize(self.deployment.public_url, self.id))
        assert (answer["iss"], answer["state"]) == (self.deployment.public_url, self.at.state)
        return answer["code"]

    async def asked(self, form: dict[str, str], url: str = "") -> httpx2.Response:
        """What the token endpoint answers; at another process than the public one if `url` says so.

        Raises:
            httpx2.TransportError: the connection broke.
        """
        headers = {"Host": httpx2.URL(self.deployment.public_url).netloc.decode()}
        return await self.http.post(f"{url or self.deployment.public_url}/oauth/token", data=form, headers=headers)

    async def redeemed(self, code: str) -> httpx2.Response:
        return await self.asked(self.at.redemption(code, self.id))

    async def refreshed(self, token: str, url: str = "") -> httpx2.Response:
        form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.id}
        return await self.asked(form, url)

    async def tokens(self) -> Tokens:
        """A new grant's."""
        return given(await self.redeemed(await self.code()))

    async def look(self, access_token: str, at: int) -> Heard:
        """A call of the shop at one gateway, with an access token."""
        return await self.deployment.call(replace(self.person, token=access_token), "shop", "look", at=at, what="tea")

    async def works(self, access_token: str) -> None:
        """At every gateway, at once."""
        for number in range(len(self.deployment.gateways)):
            heard = await self.look(access_token, number)
            assert (heard.status, heard.failed) == (200, False), heard

    async def ends(self, access_token: str) -> None:
        """At every gateway, within a second from now."""

        async def everywhere() -> bool:
            heard = [await self.look(access_token, number) for number in range(len(self.deployment.gateways))]
            return all(one.status == 401 for one in heard)

        await within(1.0, everywhere)

    async def grants(self) -> list[Any]:
        """The causes for which this client's grants have ended; None for one that lives."""
        async with self.deployment.product.database.admin_connection() as admin:
            rows = await admin.fetch(
                "SELECT revoked_at, cause FROM auth.grants WHERE client_id = $1 ORDER BY created_at", self.id
            )
        return [row["cause"] if row["revoked_at"] else None for row in rows]


def given(answer: httpx2.Response) -> Tokens:
    """The tokens of an answer that must have some."""
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: httpx2.Response) -> str:
    """The error of an answer that must have one."""
    assert answer.status_code == 400, answer.text
    return answer.json()["error"]


@contextlib.asynccontextmanager
async def client_of(deployment: Split, person: Person) -> AsyncIterator[ClientOf]:
    """A registered client, and the person signed in at the broker by a one-time link."""
    peppers = load_or_create(deployment.product.deployment.peppers)
    at = LoopbackClient("http://127.0.0.1:3456")
    asked = NewClient(name="Split client", redirect_uris=(at.redirect_uri,))
    client, _ = await RegisteredClients(deployment.operator, peppers, clock=get_utc_now).create(
        ACTOR, person.tenant.id, asked
    )
    no_http = JsonDocumentFetcher(AllowedAddresses())
    links = build_identity_services(
        deployment.operator, (), deployment.public_url, clock=get_utc_now, http=no_http
    ).links
    link = await links.create(ACTOR, person.tenant.id, person.id)
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=20) as browser,
        httpx2.AsyncClient(trust_env=False, timeout=20) as http,
    ):
        human = BrowserPerson(
            deployment.public_url, f"{deployment.public_url}/sign-in/link?code={link.reveal()}", browser
        )
        await human.sign_in()
        yield ClientOf(deployment, person, client.id, at, human, http)


@contextlib.asynccontextmanager
async def held(deployment: Split, statement: str, *values: Any) -> AsyncIterator[Callable[[], Any]]:
    """Keep rows locked that the broker needs; what is yielded waits until it stands before them."""
    async with (
        deployment.product.database.admin_connection() as admin,
        deployment.product.database.admin_connection() as other,
    ):

        async def waited_for() -> None:
            async with asyncio.timeout(10):
                while not await other.fetchval(_WAITING):
                    await asyncio.sleep(0.01)

        async with admin.transaction():
            assert await admin.fetch(statement, *values)
            yield waited_for


_WAITING = """SELECT EXISTS (SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND usename = 'mcpist_broker' AND wait_event_type = 'Lock')"""
