"""Grants whose end is known: it is stored, told of a week ahead, and called by its name when it has come."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from broker.connections.account_repository import AccountGrant, replace_grant
from broker.connections.account_snapshot import AccessToken, TokenUnavailable, UnavailableReason
from broker.notifications.outbox import UserNotification, read_notification, take_due
from broker.notifications.templates import render_notification
from broker.notifications.webhook import EVENT_TYPES
from broker.oauth_client.types import ErrorClass, OAuthClientConfig, TokenResponse, TokenResult, TokenSet
from broker.providers.schema import Provider
from broker.refresh.scheduler import RefreshScheduler
from broker.refresh.spool import Spool
from broker.vault.credential_store import CredentialOwner
from core.secret import Secret
from tests.broker.refresh.endpoints import Scripted, exchange, failed
from tests.broker.refresh.refresh_app import FixedProviders, RefreshApp
from tests.support.eventually import within

DAY = 86_400.0
CLIENT = OAuthClientConfig("client", Secret("cs-000009-made-up"))
URLS = {"authorize_url": "https://vendor.test/authorize", "token_url": "https://vendor.test/token"}
REVOKED = failed(ErrorClass.PERMANENT)


def provider(**refresh: Any) -> Provider:
    return Provider.model_validate({"id": "ending", "title": "Ending", "oauth": {**URLS, "refresh": refresh}})


YEAR = provider(life_days=365)
OPEN = provider()


def tokens(number: int = 0, refresh_expires_in: float | None = None, life: float = 3600.0) -> TokenSet:
    access, refresh = Secret(f"at-{number:08}-of-an-end"), Secret(f"rt-{number:08}-of-an-end")
    return TokenSet(access, refresh, life, None, refresh_expires_in)


class Ending:
    """One account at a vendor whose grants end, and a broker whose vendor answers as told."""

    def __init__(self, app: RefreshApp, account: UUID, provider: Provider) -> None:
        self.app = app
        self.account = account
        self.provider = provider

    async def fresh(self, *answers: TokenResult) -> AccessToken | TokenUnavailable:
        endpoint = Scripted(*answers)
        broker = self.app.another(endpoint=endpoint, providers=FixedProviders([self.provider]))
        return await broker.get_access_token(self.app.tenant.id, self.account)

    async def granted(self, number: int, days: float) -> None:
        answer = await self.fresh(TokenResponse(tokens(number, days * DAY), exchange()))
        assert isinstance(answer, AccessToken)

    async def days(self, column: str) -> float | None:
        row = await self.app.row(self.account)
        return None if row[column] is None else (row[column] - row["granted_at"]).total_seconds() / DAY

    async def announced(self) -> int:
        return await self.app.database.call("SELECT vault.announce_ends()")

    async def notices(self) -> Sequence[UserNotification]:
        found: list[UserNotification | None] = []
        for tenant_id, notice_id in await take_due(self.app.database):
            async with self.app.database.tenant(tenant_id) as work:
                found.append(await read_notification(work, notice_id))
        return [one for one in found if one is not None]


async def ending(app: RefreshApp, of: Provider, granted: TokenSet) -> Ending:
    return Ending(app, await app.link(of, CLIENT, granted), of)


async def test_a_life_from_the_grant_on_is_stored_and_no_refresh_puts_it_off(app: RefreshApp) -> None:
    account = await ending(app, YEAR, tokens())
    await app.ahead(300 * DAY)
    assert isinstance(await account.fresh(), AccessToken)
    assert await account.days("ends_at") == pytest.approx(365)
    assert await account.days("refresh_ends_at") is None


async def test_the_owner_is_told_a_week_ahead_and_once(app: RefreshApp) -> None:
    account = await ending(app, YEAR, tokens())
    module = "INSERT INTO vault.credentials (tenant_id, id, module, user_id, type, version, account_id, created_at,"
    values = " updated_at) VALUES ($1, $2, 'kiosk', $3, 'B', 1, $4, now(), now())"
    await app.execute(module + values, app.tenant.id, uuid4(), app.tenant.users[0], account.account)
    await app.ahead(357 * DAY)
    assert await account.announced() == 0
    await app.ahead(359 * DAY)
    assert [await account.announced() for _ in range(3)] == [1, 0, 0]
    assert await account.notices() == [], "in some minutes"
    await app.ahead(359 * DAY + 600)
    (notice,) = await account.notices()
    ends_at = (await app.row(account.account))["ends_at"]
    assert (notice.subject_type, notice.is_resolved, notice.ends_at) == ("account_end", False, ends_at)
    assert notice.recipients == (f"user0@{app.tenant.slug}.test",)
    said = render_notification(notice, "Ending", "https://mcpist.test")
    assert f"{ends_at:%Y-%m-%d}" in said.subject
    assert f"{ends_at:%Y-%m-%d}" in said.body
    assert said.link == "https://mcpist.test/connect/kiosk"
    assert EVENT_TYPES[notice.subject_type] == "account.ending"


async def test_the_sweeper_announces(app: RefreshApp) -> None:
    account = await ending(app, YEAR, tokens())
    await app.ahead(360 * DAY)
    running = asyncio.create_task(RefreshScheduler(app.accounts, app.database, app.tools.timing, every=0.02).run())

    async def told() -> bool:
        return (await app.row(account.account))["told_end"] is not None

    await within(10, told)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_who_connects_again_in_time_is_told_nothing(app: RefreshApp) -> None:
    account = await ending(app, YEAR, tokens())
    await app.ahead(360 * DAY)
    assert await account.announced() == 1
    owner, client = CredentialOwner("personal", app.tenant.users[0]), app.clients[YEAR.id]
    assert YEAR.oauth is not None
    async with app.database.tenant(app.tenant.id) as work:
        grant = AccountGrant(YEAR.id, client, owner, tokens(1), YEAR.oauth.refresh)
        await replace_grant(work, app.vault, account.account, grant)
    assert await account.days("ends_at") == pytest.approx(365), "from the new grant on"
    await app.ahead(360 * DAY + 600)
    (notice,) = await account.notices()
    assert notice.is_resolved
    assert await account.announced() == 0


@pytest.mark.parametrize(("at", "reason"), [(364.0, "revoked"), (365.1, "expired")])
async def test_after_the_end_it_reads_expired(app: RefreshApp, at: float, reason: str) -> None:
    account = await ending(app, YEAR, tokens())
    await app.ahead(at * DAY)
    assert await account.fresh(REVOKED) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, reason)


async def test_what_the_vendor_says_more_exactly_stays(app: RefreshApp) -> None:
    account = await ending(app, YEAR, tokens())
    await app.ahead(366 * DAY)
    answer = await account.fresh(failed(ErrorClass.PERMANENT, "account_disabled"))
    assert answer == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "account_disabled")


async def test_many_that_end_on_one_day_are_no_outage(app: RefreshApp) -> None:
    accounts = [await ending(app, YEAR, tokens(number)) for number in range(8)]
    await app.ahead(366 * DAY)
    for one in accounts:
        assert await one.fresh(REVOKED) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "expired")


async def test_the_end_of_a_refresh_token_is_stored_and_expires(app: RefreshApp) -> None:
    account = await ending(app, OPEN, tokens(0, 30 * DAY))
    assert await account.days("refresh_ends_at") == pytest.approx(30)
    await app.ahead(22 * DAY)
    assert await account.announced() == 0
    await app.ahead(24 * DAY)
    assert await account.announced() == 1
    await app.ahead(31 * DAY)
    assert await account.fresh(REVOKED) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "expired")


async def test_an_end_that_each_refresh_puts_off_troubles_nobody(app: RefreshApp) -> None:
    account = await ending(app, OPEN, tokens(0, DAY))
    for day in (0.5, 1.0, 20.0, 20.5, 60.0):
        await app.ahead(day * DAY)
        await account.granted(int(day * 10), 1)
        assert await account.announced() == 0
    assert await account.days("ends_at") is None
    assert await account.days("refresh_ends_at") == pytest.approx(61, abs=0.01)


async def test_an_end_that_no_refresh_puts_off_is_the_grant_s(app: RefreshApp) -> None:
    account = await ending(app, OPEN, tokens(0, 60 * DAY))
    await app.ahead(10 * DAY)
    await account.granted(1, 50)
    assert await account.days("ends_at") == pytest.approx(60, abs=0.01)
    await app.ahead(56 * DAY)
    await account.granted(2, 4)
    assert await account.announced() == 1
    assert await account.announced() == 0


async def test_a_new_refresh_token_without_an_end_has_none(app: RefreshApp) -> None:
    account = await ending(app, OPEN, tokens(0, 30 * DAY))
    await app.ahead(DAY)
    assert isinstance(await account.fresh(), AccessToken)
    assert await account.days("refresh_ends_at") is None


async def test_an_answer_in_the_spool_keeps_its_end(app: RefreshApp) -> None:
    account = await ending(app, OPEN, tokens())
    spool = Spool(app.spool)
    kept: list[Any] = []
    real = spool.write

    def keep(outcome: Any) -> Any:
        path = real(outcome)
        kept.extend((outcome, *(one for _, one in spool.iterate_pending())))
        return path

    spool.write = keep  # type: ignore[method-assign]
    settler = app.settler(app.tools.timing)
    settler._spool = spool
    late = provider(late=True)
    broker = app.another(
        endpoint=Scripted(TokenResponse(tokens(1, DAY), exchange())),
        outcome_writer=settler,
        providers=FixedProviders([late]),
    )
    await app.ahead(2 * 3600)
    await broker.get_access_token(app.tenant.id, account.account)
    written, read_back = kept
    assert read_back == written
    assert written.invalidates_old_access
    assert written.refresh_ends_at - written.expires_at == timedelta(days=1, hours=-1)
