"""Event streams of the console: their number is bounded, and each ends with what its reader may do (decision 64)."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

import msgspec

from core.api.principal import AuthenticationRequired, CrossOriginRequest, Principal
from core.audit.change_feed import ChangeFeed, Watch
from core.audit.change_hints import (
    MAX_HINTS_READ,
    ChangeHint,
    HintReader,
    load_chain_range,
    load_hint_events,
)
from core.audit.event import DEPLOYMENT_CHAIN
from core.db import Database
from core.errors import Forbidden, LimitReached, Unavailable
from core.scopes import ADMIN_READ
from jobs.events import JobEvents

MAX_STREAMS_PER_PERSON, MAX_STREAMS = 8, 2_000
PING_SECONDS = 15.0
MIN_LIFETIME_SECONDS, MAX_LIFETIME_SECONDS = 240.0, 480.0
"""A stream ends after a while, not all at the same time: a load balancer shall be able to move them."""
LISTEN_SECONDS = 2.0
"""Longest wait of a new stream for announcements of jobs; it begins without them where the database does not answer."""
MAX_REPLAYED_EVENTS = 2 * MAX_HINTS_READ
"""Whoever is further behind is told to read everything again."""
MAX_REPLAYED_DEPLOYMENT_EVENTS = 20
"""An operator's stream that goes on begins with these: its id tells the place in the chain of the tenant alone, and a
hint too many costs one request."""
PING = b": ping\n\n"

LoadPrincipal = Callable[[], Awaitable[Principal]]
"""Authenticates the stream's request anew."""


@dataclass(frozen=True, slots=True)
class StreamTiming:
    """Seconds between signs of life of a stream, and of its life."""

    ping: float = PING_SECONDS
    min_lifetime: float = MIN_LIFETIME_SECONDS
    max_lifetime: float = MAX_LIFETIME_SECONDS


@dataclass(slots=True)
class EventStreams:
    """All streams of this process. `close` ends them, before the process stops."""

    console: Database
    feed: ChangeFeed
    timing: StreamTiming = StreamTiming()
    jobs: JobEvents | None = None
    _streams: Counter[UUID] = field(default_factory=Counter[UUID])
    _running: "set[HintStream]" = field(default_factory=lambda: set[HintStream]())
    _closing: bool = False

    def admit(self, principal: Principal) -> None:
        """Check that one more stream may begin.

        Raises:
            LimitReached: this person, or this process, has too many.
        """
        if self._closing:
            raise Unavailable("this MCPist is stopping; try again", retry_after=2)
        if self._streams[principal.user_id] >= MAX_STREAMS_PER_PERSON or self._streams.total() >= MAX_STREAMS:
            raise LimitReached("too many event streams are open; close some pages", retry_after=30)

    def open(self, principal: Principal, last_id: int | None, reload: LoadPrincipal) -> "HintStream":
        """Open the stream of a person from event `last_id` on, or from now on; it counts once it runs."""
        return HintStream(self, principal, last_id, reload)

    @contextlib.asynccontextmanager
    async def count(self, stream: "HintStream", user_id: UUID) -> AsyncGenerator[None]:
        """Count a stream for as long as the block runs."""
        self._streams[user_id] += 1
        self._running.add(stream)
        try:
            yield
        finally:
            self._running.discard(stream)
            self._streams[user_id] -= 1
            if not self._streams[user_id]:
                del self._streams[user_id]

    def close(self) -> None:
        """End all streams, and admit no more."""
        self._closing = True
        if self.jobs is not None:
            self.jobs.close()
        for stream in tuple(self._running):
            stream.stop("stopping")


class HintStream:
    """One stream. `stop` ends it at its next step: nothing of it is cancelled, which would cost its database
    connection."""

    def __init__(self, streams: EventStreams, principal: Principal, last_id: int | None, reload: LoadPrincipal) -> None:
        self._streams = streams
        self._principal = principal
        self._last_id = last_id
        self._reload = reload
        self._watch: Watch | None = None
        self._stop_reason = ""
        self._reader = HintReader(principal.user_id, principal.email, principal.is_administrator_with(ADMIN_READ))
        self._position = 0
        self._is_operator = principal.operator and principal.is_administrator_with(ADMIN_READ)
        self._deployment_position = 0
        self._jobs: dict[UUID, str] = {}
        """Jobs that have changed and are not told yet, with their states."""
        self._may_have_missed_jobs = False

    def stop(self, reason: str = "gone") -> None:
        """End the stream for a reason, which it tells."""
        self._stop_reason = reason
        if self._watch is not None:
            self._watch.tell()

    async def run(self) -> AsyncIterator[bytes]:
        """Yield the stream until it ends."""
        principal = self._principal
        async with (
            self._streams.count(self, principal.user_id),
            self._streams.feed.watch(
                principal.tenant_id, *([DEPLOYMENT_CHAIN] if self._is_operator else [])
            ) as self._watch,
            self._listen_for_jobs(),
        ):
            yield await self._begin(self._last_id)
            async for chunk in self._follow(self._watch):
                yield chunk

    async def _follow(self, watch: Watch) -> AsyncIterator[bytes]:
        loop, timing = asyncio.get_running_loop(), self._streams.timing
        ends_at = loop.time() + random.uniform(timing.min_lifetime, timing.max_lifetime)  # noqa: S311 spread, no secret
        while not self._stop_reason and loop.time() < ends_at:
            hints, check_rights = await self._read()
            deployment_hints = await self._read_deployment()
            job_hints = self._take_job_hints()
            if hints or deployment_hints or job_hints:
                yield b"".join(
                    [*map(_encode_hint, hints), *map(_encode_hint_without_id, [*deployment_hints, *job_hints])]
                )
            if not (hints or deployment_hints or job_hints or check_rights):
                check_rights = await watch.wait(max(0.0, min(timing.ping, ends_at - loop.time())))
                yield PING
            if check_rights and not await self._may_go_on():
                self._stop_reason = "rights"
        yield self._encode("end", {"reason": self._stop_reason or "time"})

    async def _begin(self, last_id: int | None) -> bytes:
        """The first event: from where the stream goes on, or that everything is to be read again."""
        if self._is_operator:
            gone, newest = await load_chain_range(self._streams.console, DEPLOYMENT_CHAIN)
            replayed = 0 if last_id is None else MAX_REPLAYED_DEPLOYMENT_EVENTS
            self._deployment_position = max(gone, newest - replayed)
        gone, newest = await load_chain_range(self._streams.console, self._principal.tenant_id)
        if last_id is None:
            self._position = newest
            return self._encode("ready", {})
        if not max(gone, newest - MAX_REPLAYED_EVENTS) <= last_id <= newest:
            self._position = newest
            return self._encode("reset", {})
        self._position = last_id
        return self._encode("ready", {})

    async def _read(self) -> tuple[list[ChangeHint], bool]:
        """Read the next hints, and whether something but calls has happened."""
        events = await load_hint_events(self._streams.console, self._principal.tenant_id, self._position)
        if not events:
            return [], False
        self._position = events[-1].seq
        hints = [hint for event in events if (hint := self._reader.build_hint(event)) is not None]
        return hints, any(not event.kind.startswith("call.") for event in events)

    async def _read_deployment(self) -> list[ChangeHint]:
        """Read the next hints of what belongs to no tenant, for an operator."""
        if not self._is_operator:
            return []
        events = await load_hint_events(self._streams.console, DEPLOYMENT_CHAIN, self._deployment_position)
        if events:
            self._deployment_position = events[-1].seq
        return [self._reader.build_deployment_hint(event) for event in events]

    @contextlib.asynccontextmanager
    async def _listen_for_jobs(self) -> AsyncGenerator[None]:
        """Hear of changes of jobs, as long as the block runs: administrators of their tenant's, others of their own."""
        if self._streams.jobs is None:
            yield
            return
        principal = self._principal
        sees_all = principal.is_administrator_with(ADMIN_READ)

        def note(tenant_id: UUID, user_id: UUID, job_id: UUID, state: str) -> None:
            is_theirs = tenant_id == principal.tenant_id and (sees_all or user_id == principal.user_id)
            if is_theirs and len(self._jobs) < MAX_HINTS_READ and self._watch is not None:
                self._jobs[job_id] = state
                self._watch.tell()

        def wake() -> None:
            self._may_have_missed_jobs = True
            if self._watch is not None:
                self._watch.tell()

        with self._streams.jobs.listen(note, wake):
            await self._streams.jobs.wait_until_listening(LISTEN_SECONDS)
            self._may_have_missed_jobs = False  # whoever hears that the stream is ready reads everything
            yield

    def _take_job_hints(self) -> list[ChangeHint]:
        """Take what has changed: each job, or all of them where some changes may have been missed."""
        changed, self._jobs = self._jobs, {}
        if self._may_have_missed_jobs:
            self._may_have_missed_jobs = False
            return [ChangeHint(0, "jobs", "", "")]
        return [ChangeHint(0, "jobs", f"job.{state}", str(job_id)) for job_id, state in changed.items()]

    async def _may_go_on(self) -> bool:
        """Check that the credential still counts, and says the same of its person."""
        try:
            now = await self._reload()
        except (AuthenticationRequired, Forbidden, CrossOriginRequest):
            return False
        was = self._principal
        return (now.user_id, now.system_role, now.scopes, now.operator) == (
            was.user_id,
            was.system_role,
            was.scopes,
            was.operator,
        )

    def _encode(self, event: str, data: dict[str, str]) -> bytes:
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self._position, event.encode(), msgspec.json.encode(data))


def _encode_hint(hint: ChangeHint) -> bytes:
    return b"id: %d\n%s" % (hint.seq, _encode_hint_without_id(hint))


def _encode_hint_without_id(hint: ChangeHint) -> bytes:
    """Encode a hint of the deployment's chain, or of a job: the stream goes on by the numbers of the tenant's chain."""
    data = {"resource": hint.resource, "kind": hint.kind, "object_id": hint.object_id, "request_id": hint.request_id}
    return b"event: change\ndata: %s\n\n" % msgspec.json.encode(data)
