"""Senders of notifications over the API: a trial message before they are stored, and in use without a restart."""

import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from aiohttp import web

from broker.notifications.dispatcher import NotificationDispatcher
from broker.notifications.mail_connection import MailAddressGuard
from broker.notifications.sender_trial import SenderTrial
from broker.notifications.settings import MailSettings, NotificationSettings
from broker.notifications.stored_senders import NotificationSenders, SenderAdministration
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.vault.deployment_settings import DeploymentSettingsStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from core.http.outbound_addresses import AllowedAddresses
from tests.admin_ui.admin_app import OPERATORS, AdminApp, Clock, Tenant, app_on
from tests.support.mail_server import MailServer, mail_server
from tests.support.postgres import ScratchDatabase

PATH = "/deployment/notification-senders"
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
PASSWORD = "a-password-of-the-tests"


@pytest.fixture
def post() -> Any:
    with mail_server() as server:
        yield server


@pytest.fixture
async def app(database: ScratchDatabase, post: MailServer) -> AsyncIterator[AdminApp]:
    async with app_on(database, f"127.0.0.1:{post.port}", "127.0.0.1:1") as made:
        yield made


@pytest.fixture
async def operators(app: AdminApp) -> Tenant:
    return await app.tenant(OPERATORS)


def mail(port: int, **changes: Any) -> dict[str, Any]:
    there = {"server": "127.0.0.1", "port": port, "security": "none", "sender": "MCPist <mcpist@acme.example>"}
    return there | changes


def senders(app: AdminApp, port: int, of_file: NotificationSettings | None = None) -> NotificationSenders:
    """The senders as another process sees them."""
    hosts = (f"127.0.0.1:{port}",)
    store = DeploymentSettingsStore(app.broker, InMemoryKeyProvider("k", {"k": b"k" * 32}), clock=app.clock)
    http = VendorHttpClient(AllowedAddresses.from_hosts(hosts))
    return NotificationSenders(store, of_file or NotificationSettings(), MailAddressGuard(hosts), http)


async def test_a_mail_server_from_tried_to_removed(app: AdminApp, operators: Tenant, post: MailServer) -> None:
    async with app.browser(operators.admin) as operator:
        tried = await operator.post(f"{PATH}/mail/test", json=mail(post.port))
        assert tried.json()["passed"], tried.text
        assert [check["check"] for check in tried.json()["checks"]] == ["address", "connection", "login", "message"]
        (message,) = post.messages
        assert (message["To"], message["From"]) == (operators.admin.email, "MCPist <mcpist@acme.example>")
        assert (await operator.get(PATH)).json()["items"] == []
        saved = await operator.put(f"{PATH}/mail", json=mail(post.port, recipient="ops@acme.example"))
        assert saved.status_code == 200, saved.text
        assert post.messages[1]["To"] == "ops@acme.example"
        (listed,) = (await operator.get(PATH)).json()["items"]
        assert (listed["kind"], listed["source"], listed["port"], listed["in_use"]) == (
            "mail",
            "database",
            post.port,
            True,
        )
        for words, count in (("MAIL 127.0", 1), ("acme.example", 1), ("webhook", 0)):
            assert len((await operator.get(PATH, params={"q": words})).json()["items"]) == count, words
        again = await operator.put(f"{PATH}/mail", json=mail(post.port), headers={"If-Match": '"v0"'})
        assert (again.status_code, again.json()["current"]["state"]["port"]) == (412, post.port)
        read = await operator.get(f"{PATH}/mail")
        assert (read.headers["etag"], read.json()) == (saved.headers["etag"], listed)
        assert (await operator.delete(f"{PATH}/mail")).status_code == 204
        assert (await operator.delete(f"{PATH}/mail")).status_code == 404
        assert (await operator.get(f"{PATH}/mail")).status_code == 404


async def test_what_is_due_goes_by_a_sender_that_was_just_stored(
    app: AdminApp, operators: Tenant, post: MailServer
) -> None:
    elsewhere = senders(app, post.port)
    dispatcher = NotificationDispatcher(
        app.broker, elsewhere.list_channels, str.title, "https://mcp.test", clock=app.clock
    )
    assert await elsewhere.list_channels() == []
    async with app.browser(operators.admin) as operator:
        assert (await operator.put(f"{PATH}/mail", json=mail(post.port))).status_code == 200
        await app.execute("UPDATE vault.credentials SET state = 'broken', cause = 'rejected'")
        await app.execute("UPDATE vault.notices SET due_at = now() - interval '1 minute'")
        post.messages.clear()
        assert await dispatcher.send_due() == 1
        assert [message["To"] for message in post.messages] == [operators.admin.email]
        assert (await operator.put(f"{PATH}/mail", json=mail(post.port, sender="New <new@acme.example>"))).is_success
        await app.execute("UPDATE vault.credentials SET state = 'ok'")
        await app.execute("UPDATE vault.credentials SET state = 'broken', cause = 'rejected'")
        await app.execute("UPDATE vault.notices SET due_at = now() - interval '1 minute'")
        post.messages.clear()
        await dispatcher.send_due()
        assert [message["From"] for message in post.messages] == ["New <new@acme.example>"]


async def test_a_trial_that_fails_names_the_step_and_stores_nothing(
    app: AdminApp, operators: Tenant, post: MailServer
) -> None:
    async with app.browser(operators.admin) as operator:
        for change, step in (
            ({"server": "127.0.0.1", "port": 1}, "connection"),
            ({"port": 25}, "address"),
            ({"server": "localhost", "port": 587}, "address"),
            ({"security": "starttls"}, "connection"),
            ({"security": "tls"}, "connection"),
            ({"user": "mcpist", "password": PASSWORD}, "login"),
            ({"recipient": "nobody@acme.example"}, "message"),
        ):
            post.unknown = {"nobody@acme.example"}
            answer = await operator.put(f"{PATH}/mail", json=mail(post.port) | change)
            assert answer.status_code == 400, answer.text
            assert f"{step}: " in answer.json()["detail"], answer.text
            assert PASSWORD not in answer.text
        assert (await operator.get(PATH)).json()["items"] == []
        kept = await operator.put(f"{PATH}/mail", json=mail(1, despite_failures=True))
        assert [check["outcome"] for check in kept.json()["checks"]] == ["ok", "failed"]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (socket.EAI_NONAME, "does not resolve"),
        (socket.EAI_AGAIN, "the name server cannot be asked now"),
        ("10.0.0.9", "MCPIST_ALLOWED_PRIVATE_HOSTS"),
    ],
)
async def test_a_trial_says_why_a_name_leads_nowhere(found: int | str, told: str) -> None:
    async def look_up(_host: str, _port: int) -> list[tuple[int, str]]:
        if isinstance(found, int):
            raise socket.gaierror(found, "the resolver's own words")
        return [(socket.AF_INET, found)]

    trial = SenderTrial(MailAddressGuard((), look_up), VendorHttpClient(AllowedAddresses()), clock=Clock())
    settings = MailSettings(server="mail.acme.example", sender="MCPist <mcpist@acme.example>")
    (check,) = await trial.try_mail(settings, "ada@acme.example")
    assert (check.check, check.outcome, told in str(check.message)) == ("address", "failed", True), check
    assert check.message_ja != str(check.message)


async def test_a_stored_password_goes_to_no_other_server(app: AdminApp, operators: Tenant, post: MailServer) -> None:
    with_user = mail(post.port, user="mcpist", despite_failures=True)
    async with app.browser(operators.admin) as operator:
        assert (await operator.put(f"{PATH}/mail", json=with_user | {"password": PASSWORD})).status_code == 200
        stored = str(await app.value("SELECT string_agg(s::text, ' ') FROM auth.deployment_settings s"))
        assert PASSWORD not in stored
        assert PASSWORD.encode().hex() not in stored
        assert (await operator.put(f"{PATH}/mail", json=with_user)).status_code == 200
        for change in ({"server": "mail.evil.example"}, {"port": 1}, {"user": "other"}, {"security": "tls"}):
            answer = await operator.put(f"{PATH}/mail", json=with_user | change)
            assert "password is missing" in answer.json()["detail"]
            tried = {name: value for name, value in (with_user | change).items() if name != "despite_failures"}
            assert (await operator.post(f"{PATH}/mail/test", json=tried)).status_code == 400
        bare = await operator.put(f"{PATH}/mail", json=with_user | {"user": ""})
        assert bare.status_code == 200
    assert await app.value("SELECT wrapped FROM auth.deployment_settings") is None


@contextlib.asynccontextmanager
async def receiver(statuses: list[int]) -> AsyncIterator[tuple[int, list[Any]]]:
    """Whoever takes webhooks; answers one status after another."""
    seen: list[Any] = []

    async def take(request: web.Request) -> web.Response:
        seen.append((dict(request.headers), orjson.loads(await request.read())))
        return web.Response(status=statuses.pop(0))

    server = web.Application()
    server.router.add_post("/hook", take)
    runner = web.AppRunner(server)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    yield site._server.sockets[0].getsockname()[1], seen  # type: ignore[attr-defined]
    await runner.cleanup()


async def test_a_webhook_is_tried_with_a_signed_event(database: ScratchDatabase) -> None:
    async with receiver([500, 204]) as (port, seen), app_on(database, f"127.0.0.1:{port}") as app:
        operators = await app.tenant(OPERATORS)
        body = {"url": f"http://127.0.0.1:{port}/hook", "secret": SECRET}
        async with app.browser(operators.admin) as operator:
            refused = await operator.put(f"{PATH}/webhook", json=body)
            assert (refused.status_code, "did not answer 2xx" in refused.json()["detail"]) == (400, True)
            saved = await operator.put(f"{PATH}/webhook", json=body)
            assert saved.json()["sender"]["url"] == body["url"]
            elsewhere = await operator.put(f"{PATH}/webhook", json={"url": "https://evil.example/"})
            assert "secret is missing" in elsewhere.json()["detail"]
        for told in (refused, saved, elsewhere):
            assert SECRET not in told.text
        headers, event = seen[1]
        assert event["type"] == "mcpist.test"
        assert headers["webhook-signature"].startswith("v1,")
        (channel,) = await senders(app, port).list_channels()
        assert channel.name == "webhook"


async def test_a_sender_of_the_file_wins_and_is_not_changed(app: AdminApp, operators: Tenant, post: MailServer) -> None:
    of_file = NotificationSettings(mail=MailSettings(server="smtp.acme.example", sender="F <f@acme.example>"))
    async with app.browser(operators.admin) as operator:
        assert (await operator.put(f"{PATH}/mail", json=mail(post.port))).status_code == 200
    known = senders(app, post.port, of_file)
    (channel,) = await known.list_channels()
    assert channel._settings.server == "smtp.acme.example"  # type: ignore[attr-defined]
    administration = app.deployment.notification_senders
    with_file = SenderAdministration(administration._store, of_file, administration._trial)
    assert [(one.source, one.in_use) for one in await with_file.list()] == [("file", True), ("database", False)]
    app.deployment = replace(app.deployment, notification_senders=with_file)
    app.served = None
    async with app.browser(operators.admin) as operator:
        refused = await operator.put(f"{PATH}/mail", json=mail(post.port))
        assert (refused.status_code, "notices.toml" in refused.json()["detail"]) == (409, True)
        assert (await operator.delete(f"{PATH}/mail")).status_code == 204
        assert (await operator.delete(f"{PATH}/mail")).status_code == 409


async def test_a_sender_that_cannot_be_opened_keeps_what_is_due(
    app: AdminApp, operators: Tenant, post: MailServer
) -> None:
    async with app.browser(operators.admin) as operator:
        body = mail(post.port, user="mcpist", password=PASSWORD, despite_failures=True)
        assert (await operator.put(f"{PATH}/mail", json=body)).status_code == 200
    await app.execute("UPDATE auth.deployment_settings SET version = version + 1")
    (channel,) = await senders(app, post.port).list_channels()
    assert not await channel.send(None, None, app.clock())  # type: ignore[arg-type]
