"""Answers that come when another process has gone on, the spool, and a database that is away at the wrong moment."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker.connections.account_repository import AccountGrant, replace_grant
from broker.connections.account_snapshot import AccessToken, TokenUnavailable, UnavailableReason
from broker.oauth_client.types import ErrorClass, TokenEndpointClient, TokenSet
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.spool import Spool
from broker.refresh.token_service import AccountTokenService
from broker.vault.credential_store import CredentialOwner
from core.db import Database
from core.secret import Secret
from tests.broker.refresh.endpoints import Held, Scripted, failed
from tests.broker.refresh.refresh_app import RefreshApp, app_on
from tests.broker.refresh.vendor import HOUR, Vendor
from tests.support.eventually import within
from tests.support.failpoints import held_at
from tests.support.postgres import ScratchDatabase
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy

LEASE = 35
"""Past a lease, in seconds."""
MOMENT = 3
"""Past what a late holder is given after that."""


class Late:
    """A broker whose answer is on its way, while the others believe that it is dead."""

    def __init__(self, app: RefreshApp, account: object, endpoint: TokenEndpointClient | None = None) -> None:
        self.endpoint = Held(endpoint or app.tools.endpoint)
        self.broker: AccountTokenService = app.with_endpoint(self.endpoint)
        self.task = asyncio.create_task(self.broker.get_access_token(app.tenant.id, account, within=60))  # type: ignore[arg-type]

    async def arrives(self) -> AccessToken | TokenUnavailable:
        self.endpoint.go.set()
        return await self.task


async def test_a_late_answer_is_not_written_over_a_newer_one(app: RefreshApp, vendors: dict[str, Vendor]) -> None:
    vendor = vendors["grace"]
    account = await app.connect(vendor)
    await app.ahead(HOUR + 10)
    late = Late(app, account)
    await late.endpoint.answered.wait()
    await app.ahead(HOUR + 10 + LEASE)
    winner = await app.token(account)
    answer = await late.arrives()
    assert isinstance(answer, AccessToken)
    assert (answer.version, answer.token.reveal()) == (winner.version, winner.token.reveal())
    assert await app.count("vault.candidates") == 1
    await app.ahead(2 * HOUR + 60)
    assert await vendor.takes((await app.token(account)).token)
    assert await app.count("vault.candidates") == 0, "of no use any more"
    assert await vendor.reuses() == 0


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize("profile", ["grace", "non_rotating"])
async def test_a_late_refusal_says_nothing_of_the_winner_s_token(
    app: RefreshApp, vendors: dict[str, Vendor], profile: str
) -> None:
    """pomerium#6801: the loser of a race hears that its token is dead, which it is."""
    vendor = vendors[profile]
    account = await app.connect(vendor)
    await app.ahead(HOUR + 10)
    loser = Late(app, account, Scripted(failed(ErrorClass.PERMANENT)))
    await loser.endpoint.answered.wait()
    await app.ahead(HOUR + 10 + LEASE)
    winner = await app.token(account)
    assert isinstance(await loser.arrives(), AccessToken)
    row = await app.row(account)
    assert (row["status"], row["version"], row["last_error_class"]) == ("active", winner.version, "")
    assert (await app.token(account)).token == winner.token
    assert await app.events(account) == [("connected", ""), ("refreshed", "")]


async def test_a_late_answer_heals_what_was_given_up(app: RefreshApp, strict: Vendor) -> None:
    """Here the vendor does not notice the reuse, so what comes late is the only thing that works."""
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    late = Late(app, account)
    await late.endpoint.answered.wait()
    await app.ahead(HOUR + 10 + LEASE)
    refuses = app.with_endpoint(Scripted(failed(ErrorClass.PERMANENT)))
    await refuses.get_access_token(app.tenant.id, account)
    await app.ahead(HOUR + 10 + LEASE + MOMENT)
    assert await refuses.get_access_token(app.tenant.id, account) == TokenUnavailable(
        UnavailableReason.NEEDS_REAUTH, "lost_rotation"
    )
    assert isinstance(await late.arrives(), AccessToken)
    row = await app.row(account)
    assert (row["status"], row["reason"], row["uncertain"]) == ("active", "", True)
    assert await strict.takes((await app.token(account)).token)


async def test_a_holder_that_comes_a_moment_late_is_in_time(app: RefreshApp, strict: Vendor) -> None:
    """Its database was away for longer than the lease: whoever comes first then does not show the token at once."""
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    late = Late(app, account)
    await late.endpoint.answered.wait()
    await app.ahead(HOUR + 10 + LEASE)
    answer = await app.fresh(account)
    assert isinstance(answer, TokenUnavailable)
    assert answer.reason is UnavailableReason.VENDOR
    assert answer.retry_after == pytest.approx(2, abs=0.5)
    assert isinstance(await late.arrives(), AccessToken)
    assert not (await app.row(account))["uncertain"], "nobody else has shown the token"
    await app.ahead(2 * HOUR + 60)
    assert await strict.takes((await app.token(account)).token)
    assert (await strict.calls(), await strict.reuses()) == (2, 0)


async def test_an_unused_candidate_is_tried_before_anybody_is_asked_to_come_back(
    app: RefreshApp, vendors: dict[str, Vendor]
) -> None:
    vendor = vendors["non_rotating"]
    account = await app.connect(vendor)
    first = app.with_endpoint(Scripted(name="the winner"))
    await app.ahead(HOUR + 10)
    late = Held(Scripted(name="the late one"))
    slow = asyncio.create_task(app.with_endpoint(late).get_access_token(app.tenant.id, account, within=60))
    await late.answered.wait()
    await app.ahead(HOUR + 10 + LEASE)
    assert isinstance(await first.get_access_token(app.tenant.id, account), AccessToken)
    late.go.set()
    await slow
    assert await app.count("vault.candidates") == 1
    await app.ahead(2 * HOUR + 100)
    endpoint = Scripted(failed(ErrorClass.PERMANENT))
    answer = await app.with_endpoint(endpoint).get_access_token(app.tenant.id, account)
    assert isinstance(answer, AccessToken)
    assert endpoint.shown == ["rt-00000001-of-the winner", "rt-00000001-of-the late one"]
    assert ("candidate_adopted", "") in await app.events(account)
    assert await app.count("vault.candidates") == 0


async def test_what_a_refresh_of_an_old_grant_brings_is_void(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    late = Late(app, account)
    await late.endpoint.answered.wait()
    provider = strict.provider
    assert provider.oauth is not None
    tokens = await strict.grant("ada")
    owner = CredentialOwner("personal", app.tenant.users[0])
    async with app.database.tenant(app.tenant.id) as work:
        grant = AccountGrant(strict.id, app.clients[strict.id], owner, tokens, provider.oauth.refresh)
        await replace_grant(work, app.vault, account, grant)
    answer = await late.arrives()
    assert isinstance(answer, AccessToken)
    assert answer.token.reveal() == tokens.access_token.reveal()
    assert await app.count("vault.candidates") == 0


@pytest.mark.guarantee("G2")
async def test_a_process_that_slept_past_its_lease_sends_nothing(
    app: RefreshApp, strict: Vendor, tmp_path: Path
) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    slept = 0.0
    sleeper = app.with_endpoint(app.tools.endpoint, RefreshTiming(), lambda: boottime() + slept)
    async with held_at(tmp_path, "before_send") as held:
        asking = asyncio.create_task(sleeper.get_access_token(app.tenant.id, account))
        await held.reached()
        slept = 20.0  # the lease has ten seconds left, and a call may take longer
        held.go_on()
        answer = await asking
    assert isinstance(answer, TokenUnavailable)
    assert await strict.calls() == 0
    row = await app.row(account)
    assert (row["uncertain"], row["lease_owner"]) == (False, None)


# The database -------------------------------------------------------------------------------------------------------


@pytest.fixture
async def proxied(
    database: ScratchDatabase, vendors: dict[str, Vendor], tmp_path: Path
) -> AsyncIterator[tuple[RefreshApp, PostgresProxy]]:
    """An app whose broker reaches its database by way of a proxy; the test's own hands do not."""
    for one in vendors.values():
        await one.reset()
    async with postgres_proxy(database.as_role("mcpist_broker")) as proxy:
        way = Database(proxy.address, timeout=2)
        await way.open()
        try:
            providers = [one.provider for one in vendors.values()]
            hosts = [one.host for one in vendors.values()]
            async with app_on(database, tmp_path, providers, hosts, database=way) as made:
                yield made, proxy
        finally:
            await way.close()


@pytest.mark.guarantee("G3")
async def test_the_answer_is_stored_when_the_database_is_back(
    proxied: tuple[RefreshApp, PostgresProxy], vendor: Vendor
) -> None:
    app, proxy = proxied
    account = await app.connect(vendor)
    before = await app.token(account)
    await app.ahead(HOUR + 10)
    late = Late(app, account)
    await late.endpoint.answered.wait()
    proxy.hang_up()
    late.endpoint.go.set()
    await within(10, lambda: _spooled(app))
    proxy.resume()
    answer = await late.task
    assert isinstance(answer, AccessToken)
    assert answer.version == before.version + 1
    assert await vendor.takes(answer.token)
    assert await vendor.calls() == 1
    assert not list(app.spool.iterdir())


async def test_nothing_is_sent_while_the_database_is_away(
    proxied: tuple[RefreshApp, PostgresProxy], strict: Vendor
) -> None:
    app, proxy = proxied
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    proxy.hang_up()
    with pytest.raises(Exception, match="database is unavailable"):
        await app.fresh(account)
    assert await strict.calls() == 0
    proxy.resume()
    await app.token(account)


async def test_what_a_process_could_not_store_the_next_one_does(
    proxied: tuple[RefreshApp, PostgresProxy], strict: Vendor
) -> None:
    app, proxy = proxied
    account = await app.connect(strict)
    before = await app.token(account)
    await app.ahead(HOUR + 10)
    late = Late(app, account)
    await late.endpoint.answered.wait()
    proxy.hang_up()
    late.endpoint.go.set()
    await within(10, lambda: _spooled(app))
    for task in list(late.broker._flights._running.values()):  # as when its process ends
        task.cancel()
    await asyncio.gather(late.task, return_exceptions=True)
    proxy.resume()
    assert (await app.row(account))["version"] == before.version
    following = app.another()
    await following.replay_spool()
    answer = await following.get_access_token(app.tenant.id, account)
    assert isinstance(answer, AccessToken)
    assert answer.version == before.version + 1
    assert await strict.takes(answer.token)
    assert await strict.calls() == 1
    assert not list(app.spool.iterdir())


async def test_the_spool_holds_nothing_to_read_and_is_its_owner_s_alone(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    spool = Spool(app.spool)
    kept: list[bytes] = []
    real_remove = spool.remove

    def remove(path: Path) -> None:
        assert path.stat().st_mode & 0o777 == 0o600
        kept.append(path.read_bytes())
        real_remove(path)

    spool.remove = remove  # type: ignore[method-assign]
    settler = OutcomeWriter(app.database, app.vault, spool, app.tools.timing, boottime)
    answer = await app.another(outcome_writer=settler).get_access_token(app.tenant.id, account)
    assert isinstance(answer, AccessToken)
    assert answer.token.reveal()[:12].encode() not in kept[0]
    assert app.spool.stat().st_mode & 0o777 == 0o700


async def test_what_is_no_answer_is_left_in_the_spool(app: RefreshApp, strict: Vendor) -> None:
    await app.connect(strict)
    for name, text in (("a.answer", b"{}"), ("b.answer", b"\xff"), ("c.answer", b""), ("d.half", b"{")):
        (app.spool / name).write_bytes(text)
    await app.another().replay_spool()
    assert len(list(app.spool.iterdir())) == 4


async def test_a_spooled_answer_is_stored_once(app: RefreshApp, strict: Vendor) -> None:
    """The acknowledgement of its commit was lost: the file is there, and so is the row."""
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    spool = Spool(app.spool)
    spool.remove = lambda path: None  # type: ignore[method-assign]
    settler = OutcomeWriter(app.database, app.vault, spool, app.tools.timing, boottime)
    answer = await app.another(outcome_writer=settler).get_access_token(app.tenant.id, account)
    assert isinstance(answer, AccessToken)
    await app.another().replay_spool()
    assert (await app.row(account))["version"] == answer.version
    assert await app.count("vault.candidates") == 0
    assert not list(app.spool.iterdir())


async def test_a_spooled_answer_that_the_database_refuses_is_kept(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    spool = Spool(app.spool)
    spool.remove = lambda path: None  # type: ignore[method-assign]
    settler = OutcomeWriter(app.database, app.vault, spool, app.tools.timing, boottime)
    assert isinstance(await app.another(outcome_writer=settler).get_access_token(app.tenant.id, account), AccessToken)
    (waiting,) = app.spool.iterdir()
    await app.execute("REVOKE SELECT ON vault.accounts FROM mcpist_broker")
    await app.another().replay_spool()
    assert list(app.spool.iterdir()) == [waiting]
    await app.execute("GRANT SELECT ON vault.accounts TO mcpist_broker")
    await app.another().replay_spool()
    assert list(app.spool.iterdir()) == []


async def test_a_full_disk_does_not_keep_an_answer_from_the_database(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    settler = OutcomeWriter(app.database, app.vault, Spool(app.spool / "not" / "there"), app.tools.timing, boottime)
    assert isinstance(await app.another(outcome_writer=settler).get_access_token(app.tenant.id, account), AccessToken)


async def test_a_refresh_answer_without_a_refresh_token_keeps_the_old_one(
    app: RefreshApp, vendors: dict[str, Vendor]
) -> None:
    vendor = vendors["non_rotating"]
    tokens = await vendor.grant("ada")
    given = Secret(tokens.refresh_token.reveal()) if tokens.refresh_token else None
    account = await app.link(vendor.provider, vendor.client, TokenSet(tokens.access_token, given, 3600.0, None))
    for number in (1, 2):
        await app.ahead(number * (HOUR + 10))
        await app.token(account)
    endpoint = Scripted()
    await app.ahead(3 * (HOUR + 10))
    await app.with_endpoint(endpoint).get_access_token(app.tenant.id, account)
    assert given is not None
    assert endpoint.shown == [given.reveal()]


async def _spooled(app: RefreshApp) -> bool:
    return any(path.suffix == ".answer" for path in app.spool.iterdir())
