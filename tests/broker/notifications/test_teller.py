"""Owners are told once when an account needs them: to whom, when, by what, and what happens when nobody listens."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from aiohttp import web

from broker.notifications.dispatcher import ListChannels, NotificationChannel, NotificationDispatcher
from broker.notifications.mail import MailChannel
from broker.notifications.settings import MailSettings, WebhookSettings
from broker.notifications.webhook import WebhookChannel, sign_event
from broker.oauth_client.vendor_http import VendorHttpClient
from core.http.outbound_addresses import AllowedAddresses
from tests.broker.broker_harness import BrokerHarness, Person
from tests.support.certificates import self_signed
from tests.support.mail_server import MailServer, mail_server

SECRET = "whsec_" + "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
PUBLIC = "https://mcpist.test"
BREAK = "UPDATE vault.credentials SET state = 'broken', cause = $2 WHERE id = $1"


def always(*channels: NotificationChannel) -> ListChannels:
    """The same channels at all times."""

    async def list_channels() -> Sequence[NotificationChannel]:
        return channels

    return list_channels


@dataclass(slots=True)
class Post:
    """A mail server, and a teller that uses it."""

    app: BrokerHarness
    server: MailServer

    @property
    def mail(self) -> MailChannel:
        return MailChannel(
            MailSettings(server="127.0.0.1", port=self.server.port, security="none", sender="M <m@mcpist.test>")
        )

    def teller(self, *channels: NotificationChannel) -> NotificationDispatcher:
        return NotificationDispatcher(
            self.app.trusted, always(*(channels or (self.mail,))), str.title, PUBLIC, clock=self.app.clock
        )

    async def ahead(self, minutes: float) -> None:
        await self.app.execute(
            "CREATE OR REPLACE FUNCTION vault.clock() RETURNS timestamptz LANGUAGE sql VOLATILE "
            f"RETURN clock_timestamp() + interval '{minutes} minutes'"
        )

    async def outcomes(self) -> list[str]:
        async with self.app.database.admin_connection() as admin:
            return [
                row["outcome"] for row in await admin.fetch("SELECT outcome FROM vault.notices ORDER BY created_at")
            ]

    async def break_one(self, person: Person, cause: str = "rejected") -> UUID:
        credential = await self.app.put(person.tenant_id, person.own, "ghp_a-token-of-the-tests", account="mona")
        await self.app.execute(
            "UPDATE vault.credentials SET state = 'broken', cause = $2 WHERE id = $1", credential, cause
        )
        return credential


@pytest.fixture
def post(app: BrokerHarness) -> Any:
    with mail_server() as server:
        yield Post(app, server)


async def people(app: BrokerHarness) -> tuple[Person, Person]:
    acme, globex = await app.tenant("acme"), await app.tenant("globex")
    return await app.person(acme, "ada@acme.test"), await app.person(globex, "eve@globex.test")


async def test_the_owner_gets_one_mail_and_nobody_else_any(post: Post) -> None:
    ada, _ = await people(post.app)
    await post.break_one(ada)
    assert await post.teller().send_due() == 0, "a vendor may take it back for some minutes"
    await post.ahead(6)
    assert await post.teller().send_due() == 1
    (message,) = post.server.messages
    assert message["To"] == "ada@acme.test"
    body = message.get_content()
    assert f"{PUBLIC}/connect/github" in body
    assert "接続し直してください" in body
    assert "does not accept it any more" in body
    assert message["Auto-Submitted"] == "auto-generated"
    await post.ahead(600)
    assert await post.teller().send_due() == 0
    assert len(post.server.messages) == 1
    assert await post.outcomes() == ["told"]


async def test_each_change_of_state_is_told_and_no_repetition(post: Post) -> None:
    ada, _ = await people(post.app)
    credential = await post.break_one(ada)
    await post.app.execute(BREAK, credential, "unreadable")
    await post.ahead(6)
    await post.teller().send_due()
    assert len(post.server.messages) == 1
    await post.app.execute("UPDATE vault.credentials SET state = 'ok', cause = '' WHERE id = $1", credential)
    await post.app.execute(BREAK, credential, "rejected")
    await post.ahead(12)
    await post.teller().send_due()
    assert len(post.server.messages) == 2


async def test_what_is_mended_in_time_troubles_nobody(post: Post) -> None:
    ada, _ = await people(post.app)
    credential = await post.break_one(ada)
    await post.app.execute("UPDATE vault.credentials SET state = 'ok' WHERE id = $1", credential)
    await post.ahead(6)
    await post.teller().send_due()
    assert (post.server.messages, await post.outcomes()) == ([], ["over"])


async def test_a_removed_credential_and_a_suspended_owner_are_nobody_s_mail(post: Post) -> None:
    ada, eve = await people(post.app)
    credential = await post.break_one(ada)
    await post.app.execute("DELETE FROM vault.credentials WHERE id = $1", credential)
    await post.break_one(eve)
    await post.app.execute("UPDATE core.users SET status = 'suspended' WHERE id = $1", eve.id)
    await post.ahead(6)
    await post.teller().send_due()
    assert post.server.messages == []
    assert await post.outcomes() == ["over", "told"]


async def test_a_shared_credential_and_a_refused_client_are_the_administrators_of_its_tenant(post: Post) -> None:
    app = post.app
    ada, eve = await people(app)
    await app.execute("UPDATE core.users SET system_role = 'admin'")
    await app.person(ada.tenant_id, "bob@acme.test")
    role = await app.role(ada.tenant_id, "everybody")
    credential = await app.put(ada.tenant_id, role, "ghp_a-token-of-the-tests")
    await app.execute(BREAK, credential, "rejected")
    client = uuid4()
    await app.execute(
        "INSERT INTO vault.oauth_clients (tenant_id, id, provider, client_id, auth_method, version, created_at, "
        "updated_at) VALUES ($1, $2, 'notion', 'c', 'none', 1, now(), now())",
        eve.tenant_id,
        client,
    )
    await app.execute(
        "UPDATE vault.oauth_clients SET state = 'misconfigured', cause = 'secret_expired' WHERE id = $1", client
    )
    await post.ahead(6)
    assert await post.teller().send_due() == 2
    assert sorted(str(message["To"]) for message in post.server.messages) == ["ada@acme.test", "eve@globex.test"]
    (told,) = post.server.to("eve@globex.test")
    assert "client secret has run out" in told.get_content()
    assert "No account is lost" in told.get_content()


async def test_a_server_that_is_away_is_tried_again_and_a_recipient_who_is_gone_is_not(post: Post) -> None:
    ada, eve = await people(post.app)
    await post.break_one(ada)
    await post.break_one(eve)
    post.server.unknown.add("eve@globex.test")
    post.server.away = True
    await post.ahead(6)
    assert await post.teller().send_due() == 2
    assert await post.teller().send_due() == 0, "not at once"
    post.server.away = False
    await post.ahead(9)
    await post.teller().send_due()
    assert [str(message["To"]) for message in post.server.messages] == ["ada@acme.test"]
    assert await post.outcomes() == ["told", "told"]


async def test_after_three_days_it_is_given_up(post: Post) -> None:
    ada, _ = await people(post.app)
    await post.break_one(ada)
    post.server.away = True
    for turn in range(1, 63):
        await post.ahead(turn * 61)
        await post.teller().send_due()
    assert await post.outcomes() == ["given_up"]


async def test_two_processes_tell_once(post: Post) -> None:
    ada, _ = await people(post.app)
    await post.break_one(ada)
    await post.ahead(6)
    async with post.app.database.open("mcpist_broker") as other:
        second = NotificationDispatcher(other, always(post.mail), str.title, PUBLIC, clock=post.app.clock)
        assert await post.teller().send_due() + await second.send_due() == 1
    assert len(post.server.messages) == 1


@dataclass(slots=True)
class Hook:
    """Whoever takes the webhook; `status` is what they answer."""

    url: str
    status: int
    got: list[tuple[dict[str, str], bytes]]


@contextlib.asynccontextmanager
async def hook() -> AsyncIterator[Hook]:
    async def take(request: web.Request) -> web.Response:
        found.got.append(({name.lower(): value for name, value in request.headers.items()}, await request.read()))
        return web.Response(status=found.status)

    app = web.Application()
    app.router.add_post("/alarm", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    found = Hook(f"http://127.0.0.1:{port}/alarm", 204, [])
    try:
        yield found
    finally:
        await runner.cleanup()


async def test_a_webhook_is_signed_and_tried_again_without_a_second_mail(post: Post) -> None:
    ada, _ = await people(post.app)
    await post.break_one(ada)
    await post.ahead(6)
    async with hook() as alarm, reaching(alarm.url) as http:
        settings = WebhookSettings(url=alarm.url, secret=SECRET)  # type: ignore[arg-type]
        alarm.status = 500
        teller = post.teller(post.mail, WebhookChannel(settings, http))
        await teller.send_due()
        alarm.status = 204
        await post.ahead(9)
        await teller.send_due()
    assert len(post.server.messages) == 1
    (first, _), (headers, body) = alarm.got
    assert first["webhook-id"] == headers["webhook-id"]
    assert headers["webhook-signature"] == sign_event(
        settings, headers["webhook-id"], headers["webhook-timestamp"], body
    )
    event = orjson.loads(body)
    assert event["type"] == "credential.broken"
    assert event["data"]["recipients"] == ["ada@acme.test"]
    assert "ghp_" not in body.decode()


async def test_a_webhook_reaches_no_private_host_that_nobody_has_listed(post: Post) -> None:
    ada, _ = await people(post.app)
    await post.break_one(ada)
    await post.ahead(6)
    async with hook() as alarm, reaching() as http:
        await post.teller(WebhookChannel(WebhookSettings(url=alarm.url, secret=SECRET), http)).send_due()  # type: ignore[arg-type]
    assert alarm.got == []


@contextlib.asynccontextmanager
async def reaching(*urls: str) -> AsyncIterator[VendorHttpClient]:
    http = VendorHttpClient(AllowedAddresses.from_hosts([url.split("/")[2] for url in urls]))
    await http.open()
    try:
        yield http
    finally:
        await http.close()


@pytest.mark.parametrize(("password", "messages"), [("pw-00000001-right", 1), ("pw-00000002-wrong", 0)])
async def test_a_login_is_used_and_neither_it_nor_the_server_s_words_are_logged(
    app: BrokerHarness, caplog: pytest.LogCaptureFixture, tmp_path: Path, password: str, messages: int
) -> None:
    ada, _ = await people(app)
    signed = self_signed(tmp_path)
    with mail_server(signed.server(), password="pw-00000001-right") as server:
        post = Post(app, server)
        given = {"server": "127.0.0.1", "port": server.port, "sender": "m@mcpist.test"}
        settings = MailSettings.model_validate({**given, "user": "m", "password": password})
        await post.break_one(ada)
        await post.ahead(6)
        await post.teller(MailChannel(settings, tls=signed.client())).send_due()
        await post.ahead(9)
        await post.teller(MailChannel(settings)).send_due()  # whose certificate is it?
    assert len(server.messages) == messages
    assert ("notification was not delivered" in caplog.text) == (not messages)
    assert password not in caplog.text
