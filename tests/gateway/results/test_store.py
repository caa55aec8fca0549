"""Kept results in the database: for how long, how many, and whose."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from core.db import Database
from core.sealed_records import RecordSealer
from core.secret import Secret
from gateway.results import store as stored
from gateway.results.handles import ResultHandle
from gateway.results.store import LIFETIME, ResultSource, ResultStore
from tests.support.postgres import MadeTenant, ScratchDatabase

SOURCE = ResultSource("lab", "look")
SECOND = timedelta(seconds=1)


@dataclass
class Clock:
    now: datetime = field(default_factory=lambda: datetime(2026, 11, 27, 9, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def results(database: ScratchDatabase, clock: Clock) -> AsyncIterator[ResultStore]:
    async with database.open("mcpist_gateway") as gateway:
        yield make_store(gateway, clock)


def make_store(gateway: Database, clock: Clock, key: str = "the digest key of a deployment") -> ResultStore:
    return ResultStore(gateway, RecordSealer(Secret(key)), clock)


@pytest.fixture
async def tenants(make_tenant: Callable[..., Awaitable[MadeTenant]]) -> list[MadeTenant]:
    return [await make_tenant(users=2), await make_tenant(users=1)]


async def keep(results: ResultStore, tenant: MadeTenant, content: bytes, user: int = 0) -> ResultHandle:
    handle, sealed = results.seal(tenant.id, content)
    assert await results.keep(tenant.id, tenant.users[user], SOURCE, handle, sealed, results.expires_at)
    return handle


async def read(results: ResultStore, tenant: MadeTenant, handle: ResultHandle, user: int = 0) -> bytes | None:
    found = await results.load(tenant.id, tenant.users[user], handle)
    return None if found is None else results.open(tenant.id, handle, found[1])


async def test_it_is_kept_for_its_hour_and_swept_behind_it(
    database: ScratchDatabase, results: ResultStore, clock: Clock, tenants: list[MadeTenant]
) -> None:
    handles = [await keep(results, tenant, b"{}") for tenant in tenants]
    clock.now += LIFETIME - SECOND
    assert [await read(results, *pair) for pair in zip(tenants, handles, strict=True)] == [b"{}", b"{}"]
    assert await results.sweep() == 0
    later = await keep(results, tenants[0], b"[]")
    clock.now += SECOND
    assert [await read(results, *pair) for pair in zip(tenants, handles, strict=True)] == [None, None]
    assert await results.sweep() == 2
    assert await read(results, tenants[0], later) == b"[]"
    async with database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM results.results") == 1


async def test_it_is_nobody_else_s(results: ResultStore, tenants: list[MadeTenant]) -> None:
    handle = await keep(results, tenants[0], b"mine")
    assert await read(results, tenants[0], handle) == b"mine"
    assert await read(results, tenants[0], handle, user=1) is None
    assert await read(results, tenants[1], handle) is None


async def test_another_key_opens_nothing(
    database: ScratchDatabase, results: ResultStore, clock: Clock, tenants: list[MadeTenant]
) -> None:
    handle = await keep(results, tenants[0], b"mine")
    assert await read(results, tenants[0], handle._replace(key=bytes(16))) is None
    async with database.open("mcpist_gateway") as gateway:
        assert await read(make_store(gateway, clock, "the digest key of another one"), tenants[0], handle) is None


async def test_the_oldest_make_room(
    results: ResultStore, clock: Clock, tenants: list[MadeTenant], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "MAX_KEPT", 3)
    theirs = await keep(results, tenants[0], b"theirs", user=1)
    handles: list[ResultHandle] = []
    for number in range(5):
        clock.now += SECOND
        handles.append(await keep(results, tenants[0], b"%d" % number))
    assert [await read(results, tenants[0], handle) for handle in handles] == [None, None, b"2", b"3", b"4"]
    assert await read(results, tenants[0], theirs, user=1) == b"theirs"
    monkeypatch.setattr(stored, "MAX_KEPT_BYTES", 70)
    clock.now += SECOND
    handles.append(await keep(results, tenants[0], b"5"))
    assert [await read(results, tenants[0], handle) for handle in handles[2:]] == [None, None, b"4", b"5"]


async def test_nothing_is_kept_of_an_account_that_is_gone(results: ResultStore, tenants: list[MadeTenant]) -> None:
    """Disconnected between the vendor's answer and the moment in which it is kept."""
    handle, sealed = results.seal(tenants[0].id, b"{}")
    source = SOURCE._replace(credential_id=uuid4())
    assert not await results.keep(tenants[0].id, tenants[0].users[0], source, handle, sealed, results.expires_at)
    assert await read(results, tenants[0], handle) is None
