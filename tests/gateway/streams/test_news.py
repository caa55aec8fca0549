"""No news are lost: neither what is heard while subscriptions are loaded, nor what was taken before a source failed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
import pytest

from core.caller import Caller, Credential
from core.errors import Unavailable
from core.permissions import Policy, Role
from core.scopes import READ
from gateway.sieve.sieve import Sieve
from gateway.streams.open_stream import NewsSource, Notification, OpenStream
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
        return {one.params["uri"] for one in await self.updates.take_news(CALLER)}


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    hub = create_hub()
    watch, store = ResourceWatch(hub), SlowStore()
    updates = ResourceUpdates(Sieve(build_desk_catalogue()), CALLER, load=store.load)
    with watch.watch(updates, open_stream([], updates)):
        yield Rig(store, watch, updates)


def create_hub() -> StreamHub:
    return StreamHub(lambda _caller: True, max_streams=9, max_per_credential=9)


def open_stream(written: list[bytes], *sources: NewsSource) -> OpenStream:
    async def authenticate() -> Caller:
        return CALLER

    async def write(data: bytes) -> None:
        written.append(data)

    return OpenStream(CALLER, authenticate, write, sources, asyncio.get_running_loop().time() + 60)


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
        self._left = [Notification(name, {})]
        self._failures = failures

    async def take_news(self, caller: Caller) -> Sequence[Notification]:
        if self._failures:
            self._failures -= 1
            raise Unavailable
        taken, self._left = self._left, []
        return taken


async def test_a_source_that_fails_loses_no_news_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.streams.stream_hub.RETRY_SECONDS", 0)
    monkeypatch.setattr("gateway.streams.stream_hub.PAUSE_SECONDS", 0)
    hub, written = create_hub(), list[bytes]()
    stream = open_stream(written, OneNews("first"), OneNews("second", failures=1), OneNews("third"))

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    told: Callable[[str], int] = lambda name: b"".join(written).count(f'"{name}"'.encode())  # noqa: E731
    with hub.register(stream):
        holding = asyncio.ensure_future(hub.hold(stream, receive))
        with contextlib.suppress(TimeoutError):
            await until(lambda: told("second"), 5)
        await until(lambda: stream.teller is None)
        stream.finish()
        await holding
    hub.close()
    assert [told(name) for name in ("first", "second", "third")] == [1, 1, 1]
