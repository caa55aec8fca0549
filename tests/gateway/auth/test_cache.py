"""The cache of verified credentials: what ends it, besides the generation; and one verification for many requests."""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from broker.interface import CredentialRefusal, RefusalReason
from core.audit.failed_auth import AuthFailureLog
from core.audit.passes import AuditPasses
from core.audit.writer import AuditWriter
from core.caller import Credential
from core.concurrency.rate_limits import AttemptLimits
from core.db import Database
from core.errors import LimitReached
from core.generations import Generations
from core.observability.metrics import Metrics
from core.secret import Secret
from core.token_format import generate_token
from gateway.auth.authenticator import MAX_CACHE_SECONDS, MAX_RENEWALS, CallerAuthenticator
from gateway.mcp.errors import Unauthenticated
from tests.support.eventually import within
from tests.support.postgres import MadeTenant, ScratchDatabase

JWT = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Clock:
    """Seconds since 1970; nothing but this clock passes."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now.timestamp()


class CountingBroker:
    """Vouches for every well-formed token, as it is told, and counts how often it was asked."""

    def __init__(self, tenant_id: UUID, user_id: UUID, clock: Clock) -> None:
        self.credential = Credential("a", "api_token", tenant_id, user_id, frozenset({"mcp:read"}), generation=1)
        self.asked = 0
        self.together: list[int] = []
        self.unknown: set[str] = set()
        self.gate = asyncio.Event()
        self.gate.set()
        self._clock = clock

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        self.asked += 1
        await self.gate.wait()
        expires = self.credential.expires_at
        if expires is not None and expires <= self._clock.now:
            return CredentialRefusal(RefusalReason.EXPIRED)
        return self.credential

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        assert tenant_id == self.credential.tenant_id
        self.together.append(len(tokens))
        verdicts = [None if token.reveal() in self.unknown else await self.verify(token) for token in tokens]
        return [verdict if isinstance(verdict, Credential) else None for verdict in verdicts]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def gateway(database: ScratchDatabase) -> AsyncIterator[Database]:
    async with database.open("mcpist_gateway") as opened:
        yield opened


@pytest.fixture
async def broker(make_tenant: Callable[..., Awaitable[MadeTenant]], clock: Clock) -> CountingBroker:
    tenant = await make_tenant()
    return CountingBroker(tenant.id, tenant.users[0], clock)


@pytest.fixture
def generations(database: ScratchDatabase, gateway: Database) -> Generations:
    """They are kept up to date while there is an authenticator."""
    return Generations(database.as_role("mcpist_gateway"), gateway)


@pytest.fixture
async def authenticate(
    generations: Generations, gateway: Database, broker: CountingBroker, clock: Clock
) -> AsyncIterator[CallerAuthenticator]:
    audit = AuditWriter(gateway)
    tasks = [asyncio.create_task(work) for work in (generations.run(), audit.run())]
    refusals = AuthFailureLog(audit, AttemptLimits(3, 3, clock=clock), Metrics())

    async def listening() -> bool:
        return generations.listening

    await within(5, listening)
    yield CallerAuthenticator(broker, gateway, generations, refusals, AuditPasses(), clock=clock)
    await audit.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def token() -> str:
    return f"Bearer {generate_token()[1].reveal()}"


async def test_a_known_credential_costs_no_second_question(
    authenticate: CallerAuthenticator, broker: CountingBroker, token: str
) -> None:
    assert authenticate.find(authenticate.compute_key(token)) is None
    first = await authenticate(token, "192.0.2.1")
    assert await authenticate(token, "192.0.2.1") is first
    assert authenticate.find(authenticate.compute_key(token)) is first
    assert (broker.asked, len(authenticate)) == (1, 1)


async def test_expiry_needs_no_event(
    authenticate: CallerAuthenticator, broker: CountingBroker, clock: Clock, token: str
) -> None:
    broker.credential = replace(broker.credential, expires_at=NOW + timedelta(seconds=30))
    await authenticate(token, "192.0.2.1")
    clock.now = NOW + timedelta(seconds=29.9)
    await authenticate(token, "192.0.2.1")
    assert broker.asked == 1
    clock.now = NOW + timedelta(seconds=30)
    assert authenticate.find(authenticate.compute_key(token)) is None
    for _ in range(20):
        with pytest.raises(Unauthenticated):
            await authenticate(token, "192.0.2.1")
    assert broker.asked == 1, "nobody has to be asked, and an address where many expire is not held for an attacker's"


async def test_an_expiry_that_was_put_off_counts(
    authenticate: CallerAuthenticator, broker: CountingBroker, clock: Clock, database: ScratchDatabase, token: str
) -> None:
    broker.credential = replace(broker.credential, expires_at=NOW + timedelta(seconds=30))
    await authenticate(token, "192.0.2.1")
    clock.now = NOW + timedelta(seconds=30)
    broker.credential = replace(broker.credential, expires_at=NOW + timedelta(seconds=60))
    await promote(database, broker)

    async def counts() -> bool:
        with contextlib.suppress(Unauthenticated):
            return (await authenticate(token, "192.0.2.1")).system_role == "admin"
        return False

    await within(1, counts)


@pytest.mark.parametrize("kind", ["api_token", "oauth"])
async def test_an_access_token_is_known_like_any_other(
    authenticate: CallerAuthenticator, broker: CountingBroker, kind: str
) -> None:
    broker.credential = replace(broker.credential, kind=kind)
    first = await authenticate(f"Bearer {JWT}", "192.0.2.1")
    assert await authenticate(f"Bearer {JWT}", "192.0.2.1") is first
    assert broker.asked == 1


@pytest.mark.parametrize(
    "text", ["a.b", "a.b.", ".b.c", "a.b.c.d", "a b.c.d", "a.b.c=", "a.b.é", "a.b.c\n.d", "a.b." + "c" * 8_189]
)
async def test_what_is_no_jwt_is_noise_for_which_nobody_is_asked(
    authenticate: CallerAuthenticator, broker: CountingBroker, text: str
) -> None:
    with pytest.raises(Unauthenticated):
        await authenticate(f"Bearer {text}", "192.0.2.1")
    assert broker.asked == 0


async def test_the_longest_jwt_is_asked_for(authenticate: CallerAuthenticator, broker: CountingBroker) -> None:
    await authenticate("Bearer a.b." + "c" * 8_188, "192.0.2.1")
    assert broker.asked == 1


async def test_it_is_asked_again_after_a_while(
    authenticate: CallerAuthenticator, broker: CountingBroker, clock: Clock, token: str
) -> None:
    await authenticate(token, "192.0.2.1")
    clock.now += timedelta(seconds=MAX_CACHE_SECONDS - 1)
    await authenticate(token, "192.0.2.1")
    assert broker.asked == 1
    clock.now += timedelta(seconds=1)
    await authenticate(token, "192.0.2.1")
    assert broker.asked == 2


async def test_many_requests_wait_for_one_verification(
    authenticate: CallerAuthenticator, broker: CountingBroker, token: str
) -> None:
    broker.gate.clear()
    waiting = [asyncio.create_task(authenticate(token, "192.0.2.1")) for _ in range(20)]
    await within(5, lambda: asked(broker))
    waiting[0].cancel()  # who asked first goes away: the others do not
    broker.gate.set()
    callers = await asyncio.gather(*waiting[1:])
    assert len({id(caller) for caller in callers}) == 1
    assert broker.asked == 1


async def promote(database: ScratchDatabase, broker: CountingBroker) -> None:
    """The user becomes an administrator; the trigger raises the generation of the tenant that is set."""
    async with database.open("mcpist_console") as console, console.tenant(broker.credential.tenant_id) as work:
        await work.execute("UPDATE core.users SET system_role = 'admin' WHERE tenant_id = $1")


async def asked(broker: CountingBroker) -> bool:
    return broker.asked > 0


async def test_a_generation_that_rises_ends_what_is_cached(
    authenticate: CallerAuthenticator, broker: CountingBroker, database: ScratchDatabase, token: str
) -> None:
    await authenticate(token, "192.0.2.1")
    await authenticate(token, "192.0.2.1")
    assert broker.asked == 1
    await promote(database, broker)

    async def is_unknown() -> bool:
        return authenticate.find(authenticate.compute_key(token)) is None

    async def seen() -> bool:
        return (await authenticate(token, "192.0.2.1")).system_role == "admin"

    await within(1, is_unknown)
    await within(1, seen)


async def test_what_was_read_before_a_change_is_not_kept_after_it(
    authenticate: CallerAuthenticator,
    generations: Generations,
    broker: CountingBroker,
    database: ScratchDatabase,
    token: str,
) -> None:
    """The broker's answer is older than the change, the rest is newer: such a mixture is asked for again."""
    await promote(database, broker)
    await authenticate(token, "192.0.2.1")
    before = broker.credential.generation
    assert before is not None

    async def announced() -> bool:
        return (generations.current(broker.credential.tenant_id) or before) > before

    await within(5, announced)
    await authenticate(token, "192.0.2.1")
    assert broker.asked == 2


async def test_a_user_that_is_gone_between_two_looks_is_nobody(
    authenticate: CallerAuthenticator, broker: CountingBroker, token: str
) -> None:
    broker.credential = replace(broker.credential, user_id=UUID(int=7))
    with pytest.raises(Unauthenticated):
        await authenticate(token, "192.0.2.1")
    assert len(authenticate) == 0


async def test_wrong_credentials_are_limited_by_address_and_known_good_ones_are_not(
    authenticate: CallerAuthenticator, clock: Clock, token: str
) -> None:
    await authenticate(token, "192.0.2.1")
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            await authenticate("Bearer wrong", "192.0.2.1")
    with pytest.raises(LimitReached) as limited:
        await authenticate("Bearer wrong", "192.0.2.1")
    assert 0 < limited.value.retry_after <= 20
    await authenticate(token, "192.0.2.1")
    with pytest.raises(Unauthenticated):
        await authenticate("Bearer wrong", "198.51.100.1")
    clock.now += timedelta(seconds=math.ceil(limited.value.retry_after))
    with pytest.raises(Unauthenticated):
        await authenticate("Bearer wrong", "192.0.2.1")


async def test_nothing_of_a_credential_is_kept_but_a_digest(authenticate: CallerAuthenticator, token: str) -> None:
    await authenticate(token, "192.0.2.1")
    kept: Any = vars(authenticate)
    assert token.removeprefix("Bearer ") not in repr(kept)


async def test_those_that_are_renewed_get_each_their_own(
    authenticate: CallerAuthenticator, broker: CountingBroker, database: ScratchDatabase, token: str
) -> None:
    other, stranger = (f"Bearer {generate_token()[1].reveal()}" for _ in range(2))
    first = await authenticate(token, "192.0.2.1")
    assert list(await authenticate.renew(first.tenant_id, [token, token])) == [first, first]
    assert broker.asked == 1
    broker.unknown.add(stranger.removeprefix("Bearer "))
    await promote(database, broker)

    async def is_outdated() -> bool:
        return not authenticate.is_current(first)

    await within(5, is_outdated)
    renewed = await authenticate.renew(first.tenant_id, [stranger, token, other, token])
    assert [caller and caller.system_role for caller in renewed] == [None, "admin", "admin", "admin"]
    assert renewed[1] is renewed[3]
    assert authenticate.find(authenticate.compute_key(stranger)) is None


async def test_more_are_renewed_than_one_request_may_ask_for(
    authenticate: CallerAuthenticator, broker: CountingBroker, token: str
) -> None:
    first = await authenticate(token, "192.0.2.1")
    longs = [f"Bearer {JWT}{'A' * 7_000}{number}" for number in range(8)]
    shorts = [f"Bearer {generate_token()[1].reveal()}" for _ in range(MAX_RENEWALS + 1)]
    renewed = await authenticate.renew(first.tenant_id, [*longs, *shorts])
    assert len(renewed) == len(longs) + len(shorts)
    assert None not in renewed
    assert all(size <= MAX_RENEWALS for size in broker.together)
    assert len(broker.together) == 3
