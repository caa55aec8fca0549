"""Who is told of which state, how often: accounts that break at a real vendor, through restarts, several processes,
and what comes and goes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson
import pytest

from broker.notifications.dispatcher import NotificationChannel, NotificationDispatcher
from broker.notifications.mail import MailChannel
from broker.notifications.outbox import UserNotification
from broker.notifications.settings import MailSettings, WebhookSettings
from broker.notifications.templates import NotificationText
from broker.notifications.webhook import WebhookChannel
from tests.broker.doctor.doctor_app import Case, DoctorApp, doctor_app_on
from tests.broker.doctor.test_states import away, disabled, granted_less, lost, nothing, other_secret, revoked
from tests.broker.notifications.test_teller import SECRET, always, hook, reaching
from tests.support.mail_server import MailServer, mail_server
from tests.support.postgres import ScratchDatabase

MINUTE = 60.0
STYLES = ("google", "github", "microsoft")


@dataclass(slots=True)
class NotificationsApp:
    """An app whose notices go to a mail server here."""

    doctor: DoctorApp
    server: MailServer

    @property
    def mail(self) -> MailChannel:
        return MailChannel(
            MailSettings(server="127.0.0.1", port=self.server.port, security="none", sender="M <m@mcpist.test>")
        )

    @contextlib.asynccontextmanager
    async def process(self, *channels: NotificationChannel) -> AsyncIterator[NotificationDispatcher]:
        """Another broker process, as far as notices go."""
        async with self.doctor.identity.product.database.open("mcpist_broker") as database:
            yield NotificationDispatcher(
                database, always(*(channels or (self.mail,))), str.title, self.doctor.identity.url,
                clock=self.doctor.identity.product.clock,
            )  # fmt: skip

    async def told(self, *channels: NotificationChannel) -> int:
        """A process starts, tells what is due, and ends."""
        async with self.process(*channels) as teller:
            return await teller.send_due()

    def recipients(self) -> list[str]:
        return sorted(str(message["To"]) for message in self.server.messages)


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[NotificationsApp]:
    with mail_server() as server:
        async with doctor_app_on(database, tmp_path, *STYLES) as doctor:
            yield NotificationsApp(doctor, server)


async def mended(case: Case) -> None:
    """The person connects again, which the vendor takes."""
    await case.connect()


STATES: dict[str, tuple[str, Callable[[Case], Awaitable[None]], str, str]] = {
    "connected": ("google", nothing, "", ""),
    "revoked": ("google", revoked, "owner", "access was taken back there, or used up elsewhere"),
    "lost rotation": ("github", lost, "owner", "answer was lost"),
    "account disabled": ("microsoft", disabled, "owner", "disabled at the vendor"),
    "scope too small": ("google", granted_less, "", ""),
    "service misconfigured": ("google", other_secret, "administrators", "or the secret is wrong"),
    "vendor down": ("google", away, "", ""),
}
"""Style, what happens, who is told, and a part of what."""


@pytest.mark.reuse("nothing is left to lose: the rule of recovery shows the token once more")
@pytest.mark.parametrize("state", STATES)
async def test_who_is_told_of_a_state_and_only_once(app: NotificationsApp, state: str) -> None:
    style, does, who, part = STATES[state]
    stranger = await app.doctor.case(style)
    await app.doctor.administrator(stranger.tenant)
    case = await app.doctor.case(style)
    boss = await app.doctor.administrator(case.tenant)
    await case.connect()
    await does(case)
    assert await app.told() == 0, "what is mended at once troubles nobody"
    await app.doctor.later(6 * MINUTE)
    for _ in range(3):
        await app.told()
        await case.call()
        await app.doctor.later(90 * MINUTE)
    assert app.recipients() == {"owner": [case.person.email], "administrators": [boss.email], "": []}[who]
    for message in app.server.messages:
        body = message.get_content()
        assert part in body
        link = f"/connect/{case.module}" if who == "owner" else "/connect"
        assert f"{app.doctor.identity.url}{link}\n" in body
        assert await case.page(link, person=boss if who == "administrators" else None)


async def test_a_vendor_that_goes_and_comes_troubles_nobody(app: NotificationsApp) -> None:
    case = await app.doctor.case("google")
    await case.connect()
    for _ in range(4):
        await away(case)
        assert (await case.standing())["state"] == "vendor_down"
        await app.doctor.later(6 * MINUTE)
        await app.told()
        assert not (await case.call()).failed
        assert (await case.standing())["state"] == "connected"
    assert app.recipients() == []


async def test_what_comes_and_goes_is_told_when_it_stays(app: NotificationsApp) -> None:
    """Five times refused and mended within minutes, then refused for good: one mail."""
    case = await app.doctor.case("google")
    boss = await app.doctor.administrator(case.tenant)
    await case.connect()
    good = case.vendor.secret
    for turn in range(6):
        await other_secret(case)
        assert (await case.standing())["state"] == "service_misconfigured"
        await app.told()
        await app.doctor.later(1 * MINUTE)
        if turn < 5:
            case.vendor.secret = good
            await app.doctor.mend(case.tenant, case.vendor)
            assert not (await case.call()).failed
    for _ in range(12):
        await app.doctor.later(1 * MINUTE)
        await app.told()
    assert app.recipients() == [boss.email]


async def test_each_time_that_it_stays_broken_is_told(app: NotificationsApp) -> None:
    case = await app.doctor.case("google")
    await case.connect()
    for turn in range(1, 4):
        case.vendor.state.grants[-1].dead = True
        await case.run_out()
        await case.call()
        await app.doctor.later(6 * MINUTE)
        await app.told()
        assert len(app.server.messages) == turn
        await mended(case)
        assert (await case.standing())["state"] == "connected"


async def test_before_a_grant_ends_for_good_its_owner_is_told_once_and_not_after_renewing_it(
    app: NotificationsApp,
) -> None:
    first, second = await app.doctor.case("google"), await app.doctor.case("github")
    for case in (first, second):
        await case.connect()
        await app.doctor.execute(
            "UPDATE vault.accounts SET granted_at = vault.clock() - interval '20 days', "
            "ends_at = vault.clock() + interval '5 days' WHERE id = $1",
            (await case.account())["id"],
        )
    async with app.process() as teller:
        for _ in range(3):
            await app.doctor.identity.zone.database.call("SELECT vault.announce_ends()")
            await app.doctor.execute(
                "UPDATE vault.accounts SET ends_at = vault.clock() + interval '90 days' WHERE id = $1",
                (await second.account())["id"],
            )
            await app.doctor.later(6 * MINUTE)
            await teller.send_due()
    assert app.recipients() == [first.person.email]
    body = app.server.messages[0].get_content()
    assert f"{(await first.account())['told_end']:%Y-%m-%d %H:%M} UTC" in body
    assert f"Connect it again before that, and nothing is interrupted: {app.doctor.identity.url}/connect/" in body


async def test_several_processes_and_their_restarts_tell_once(app: NotificationsApp) -> None:
    cases = []
    for _ in range(3):
        case = await app.doctor.case("google")
        await case.connect()
        cases.append(case)
        await revoked(case)
    await app.doctor.later(6 * MINUTE)
    async with contextlib.AsyncExitStack() as stack:
        tellers = [await stack.enter_async_context(app.process()) for _ in range(4)]
        assert sum(await asyncio.gather(*(teller.send_due() for teller in tellers))) == 3
    await app.doctor.later(180 * MINUTE)
    assert await app.told() == 0, "a process that starts later finds nothing to tell"
    assert app.recipients() == sorted(case.person.email for case in cases)


async def test_a_process_that_is_killed_while_it_tells_is_followed_by_one_that_tells(app: NotificationsApp) -> None:
    case = await app.doctor.case("google")
    await case.connect()
    await revoked(case)
    await app.doctor.later(6 * MINUTE)

    class Never:
        name = "mail"

        async def send(self, notice: UserNotification, wording: NotificationText, now: datetime) -> bool:
            await asyncio.Event().wait()
            return False

    dying = asyncio.create_task(app.told(Never()))

    async def taken() -> bool:
        return bool(await app.doctor.rows("SELECT FROM vault.notices WHERE attempts = 1"))

    while not await taken():
        await asyncio.sleep(0.01)
    dying.cancel()
    await asyncio.wait([dying])
    assert await app.told() == 0, "it may still be at it"
    await app.doctor.later(3 * MINUTE)
    assert await app.told() == 1
    assert app.recipients() == [case.person.email]


async def test_a_webhook_that_fails_is_tried_again_by_whoever_lives_and_names_its_tenant_only(
    app: NotificationsApp,
) -> None:
    first, second = await app.doctor.case("google"), await app.doctor.case("github")
    for case in (first, second):
        await case.connect()
        await revoked(case)
    await app.doctor.later(6 * MINUTE)
    async with hook() as alarm, reaching(alarm.url) as http:
        webhook = WebhookChannel(WebhookSettings(url=alarm.url, secret=SECRET), http)  # type: ignore[arg-type]
        alarm.status = 503
        for wait in (3, 5, 9):
            await app.told(app.mail, webhook)
            await app.doctor.later(wait * MINUTE)
        assert len(alarm.got) == 6
        alarm.status = 204
        await app.told(app.mail, webhook)
        await app.doctor.later(300 * MINUTE)
        await app.told(app.mail, webhook)
        assert len(alarm.got) == 8
    assert app.recipients() == sorted([first.person.email, second.person.email]), "the mails went out once"
    for case in (first, second):
        bodies = [body for _, body in alarm.got if str(case.tenant.id).encode() in body]
        assert len(bodies) == 4
        assert {orjson.loads(body)["data"]["recipients"][0] for body in bodies} == {case.person.email}
        other = second if case is first else first
        assert not [body for body in bodies if other.person.email.encode() in body]
