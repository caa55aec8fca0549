"""No news are lost: neither what is heard while subscriptions are loaded, nor what was taken before a source failed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from core.caller import Caller, Credential
from core.errors import Unavailable
from core.permissions import Policy, Role
from core.scopes import READ
from gateway.mcp.errors import Unauthenticated
from gateway.sieve.sieve import Sieve
from gateway.streams.open_stream import ClientNotification, NewsSource, OpenStream
from gateway.streams.resource_changes import ResourceChange
from gateway.streams.resource_subscriptions import SubscribedClient
from gateway.streams.resource_updates import MAX_CHANGED, ResourceUpdates, ResourceWatch
from gateway.streams.stream_hub import StreamHub
from tests.path.stream_app import NOTE, build_desk_catalogue, until

ROLE = Role("reader", allow=frozenset({"*"}))
CREDENTIAL = Credential("t", "api_token", UUID(int=1), UUID(int=2), frozenset({READ}), client="x")
CALLER = Caller(CREDENTIAL, "a@b.test", "user", Policy((ROLE,), frozenset({"desk"})))


@dataclass
class SlowStore:
    """Subscriptions as they are when loading begins, which waits while `may_go_on` is not set."""

    uris: frozenset[str] = frozenset()
    loads: int = 0
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def load(self, _caller: Caller) -> frozenset[str]:
        self.loads += 1
        found = self.uris
        await self.may_go_on.wait()
        return found


@dataclass
class Rig:
    """A stream of a client whose subscriptions are stored."""

    store: SlowStore
    watch: ResourceWatch
    updates: ResourceUpdates

    def subscribe(self, *numbers: int) -> None:
        """Have the client subscribed to these notes, and announce it."""
        self.store.uris = frozenset(map(NOTE.format, numbers))
        self.watch.hear_subscription(msgspec.json.encode(SubscribedClient.of_caller(CALLER)).decode())

    def change(self, *numbers: int) -> None:
        change = ResourceChange(CALLER.tenant_id, None, tuple(map(NOTE.format, numbers)))
        self.watch.hear_change(msgspec.json.encode(change).decode())

    async def take(self) -> set[str]:
        await self.updates.look_up(CALLER)
        return {one.params["uri"] for one in self.updates.take_news(CALLER)}


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    hub = create_hub()
    watch, store = ResourceWatch(hub), SlowStore()
    updates = ResourceUpdates(Sieve(build_desk_catalogue()), CALLER, load=store.load)
    with watch.watch(updates, open_stream(Connection(), updates)):
        yield Rig(store, watch, updates)


def create_hub() -> StreamHub:
    return StreamHub(lambda _caller: True, max_streams=9, max_per_credential=9)


@dataclass
class Connection:
    """A client that reads all; `takes_at_once`: without a wait."""

    written: list[bytes] = field(default_factory=list[bytes])
    takes_at_once: bool = True
    authorization: str = "Bearer x"

    async def authenticate(self) -> Caller:
        if self.authorization == "Bearer gone":
            raise Unauthenticated("Bearer")
        return CALLER

    def get_authorization(self) -> str:
        return self.authorization

    async def write(self, data: bytes) -> None:
        self.written.append(data)

    def write_at_once(self, data: bytes) -> bool:
        if self.takes_at_once:
            self.written.append(data)
        return self.takes_at_once


def open_stream(connection: Connection, *sources: NewsSource) -> OpenStream:
    return OpenStream(CALLER, connection, sources, asyncio.get_running_loop().time() + 60)


async def test_what_changes_while_subscriptions_are_loaded_is_told(rig: Rig) -> None:
    rig.subscribe()
    taking = asyncio.ensure_future(rig.take())
    await until(lambda: rig.store.loads == 1)
    rig.subscribe(1)
    rig.change(1, 2)
    rig.store.may_go_on.set()
    told = await taking | await rig.take()
    assert told == {NOTE.format(1)}
    assert rig.store.loads == 2
    assert await rig.take() == set()


async def test_what_changes_before_subscriptions_were_ever_loaded_is_told(rig: Rig) -> None:
    rig.store.uris = frozenset({NOTE.format(1)})
    rig.store.may_go_on.set()
    rig.change(1, 2)
    assert await rig.take() == {NOTE.format(1)}


async def test_the_index_of_resources_follows_subscriptions_and_streams(rig: Rig) -> None:
    rig.store.may_go_on.set()
    for subscribed, changed, told in (((1, 2), (2, 3), 2), ((1,), (1, 2), 1)):
        rig.subscribe(*subscribed)
        assert await rig.take() == set()
        rig.change(*changed)
        assert await rig.take() == {NOTE.format(told)}
    ended = ResourceUpdates(Sieve(build_desk_catalogue()), CALLER, load=rig.store.load)
    with rig.watch.watch(ended, open_stream(Connection(), ended)):
        await ended.look_up(CALLER)
    rig.change(1)
    assert await rig.take() == {NOTE.format(1)}


async def test_nothing_is_left_out_of_more_changes_than_are_kept(rig: Rig) -> None:
    rig.store.may_go_on.set()
    rig.subscribe(7_000)
    rig.change(*range(1_000, 1_000 + MAX_CHANGED))
    rig.change(7_000)
    assert await rig.take() == {NOTE.format(7_000)}
    rig.subscribe(7_000, 7_001)
    rig.watch.hear_again()
    assert await rig.take() == {NOTE.format(7_000), NOTE.format(7_001)}
    assert await rig.take() == set()


class OneNews:
    """A source that has one thing to tell, after it has failed so many times."""

    is_over = False

    def __init__(self, name: str, failures: int = 0) -> None:
        self._left = [ClientNotification(name, {})]
        self._failures = failures

    def is_ready(self, caller: Caller) -> bool:
        return not self._failures

    async def look_up(self, caller: Caller) -> None:
        self._failures -= 1
        raise Unavailable

    def take_news(self, caller: Caller) -> Sequence[ClientNotification]:
        taken, self._left = self._left, []
        return taken


@pytest.mark.parametrize("takes_at_once", [True, False])
async def test_a_source_that_fails_loses_no_news_of_others(
    monkeypatch: pytest.MonkeyPatch, takes_at_once: bool
) -> None:
    monkeypatch.setattr("gateway.streams.stream_hub.RETRY_SECONDS", 0)
    monkeypatch.setattr("gateway.streams.stream_hub.PAUSE_SECONDS", 0)
    hub, connection = create_hub(), Connection(takes_at_once=takes_at_once)
    stream = open_stream(connection, OneNews("first"), OneNews("second", failures=1), OneNews("third"))

    told: Callable[[str], int] = lambda name: b"".join(connection.written).count(f'"{name}"'.encode())  # noqa: E731
    with hub.register(stream):
        holding = asyncio.ensure_future(hub.hold(stream, wait_for_ever))
        with contextlib.suppress(TimeoutError):
            await until(lambda: told("second"), 5)
        await until(lambda: stream.teller is None)
        stream.finish()
        await holding
    hub.close()
    assert [told(name) for name in ("first", "second", "third")] == [1, 1, 1]


async def test_a_tenants_callers_are_verified_together_and_a_refused_one_alone() -> None:
    """One answer for each: whom the broker leaves out is verified alone, and ended if their credential is refused."""
    current, asked = CALLER, list[Sequence[str]]()
    renewed = replace(CALLER, email="new@b.test")

    async def verify_again(tenant_id: UUID, authorizations: Sequence[str]) -> Sequence[Caller | None]:
        assert tenant_id == CALLER.tenant_id
        asked.append(list(authorizations))
        return [None if one == "Bearer gone" else renewed for one in authorizations]

    hub = StreamHub(
        lambda caller: caller is current, verify_again=verify_again, max_streams=999, max_per_credential=999
    )
    connections = [Connection(authorization=f"Bearer {name}") for name in ("gone", *"abc")]
    streams = [open_stream(connection, OneNews("news")) for connection in connections]
    with contextlib.ExitStack() as stack:
        for stream in streams:
            stack.enter_context(hub.register(stream))
        holding = [asyncio.ensure_future(hub.hold(stream, wait_for_ever)) for stream in streams]
        await until(lambda: all(b"news" in b"".join(one.written) for one in connections), 5)
        current = renewed
        hub.wake_tenant(CALLER.tenant_id)
        await until(lambda: streams[0].is_over, 5)
        await until(lambda: all(stream.caller is renewed for stream in streams[1:]), 5)
        assert asked == [["Bearer gone", "Bearer a", "Bearer b", "Bearer c"]]
        hub.close()
        await asyncio.gather(*holding)


async def wait_for_ever() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError
