"""Append audit events without loss: one writer per process writes all waiting records in one synchronous INSERT.

What waits longer than its wait timeout is refused with ``Unavailable`` and, unless it was on its way already,
withdrawn: the caller knows. Queued outcomes are kept and tried again for as long as the process lives. They have
room of their own: at ``max_waiting_bytes`` new intents are refused, and only calls with an intent have an outcome.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from uuid import UUID

import asyncpg

from core.audit.append_channel import AppendChannel, open_append_channel
from core.audit.event import DEPLOYMENT_CHAIN, AuditEvent, AuditEventKind
from core.audit.queue import RecordQueue, reject_waiter
from core.audit.truncation import pack
from core.concurrency.restartable_timer import RestartableTimer
from core.db import CONNECTION_ERRORS, Database
from core.disk_errors import DiskFull, is_disk_full
from core.errors import Unavailable

APPEND_QUERY = "SELECT audit.append($1::uuid[], $2::bytea[])"
APPEND_SIGNED_QUERY = "SELECT audit.append_signed($1::uuid[], $2::text[], $3::bytea[])"
# A flush that is not on disk is none; a stronger setting of the operator's (remote_apply) stays.
SYNCHRONOUS_COMMIT_QUERY = """SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')"""
MAX_WAITING_BYTES = 32 * 1024 * 1024
MAX_BACKOFF_SECONDS = 1.0
DISK_FULL_SECONDS = 30.0
"""So long a full disk is reported after the last record that it refused: whether there is room again shows only when
somebody writes, and a process that is not ready is sent nothing to write."""
HOLD_SECONDS = 0.005
GATHER_SECONDS = 0.001
REST_SECONDS = 60.0
"""Seconds for which the duration of a flush counts."""

log = logging.getLogger(__name__)


async def append_events(database: Database, events: Sequence[AuditEvent]) -> None:
    """Append without a writer, for a process that has a few events in its whole life; durable on return.

    Raises:
        core.errors.Unavailable: the database is away; the events may be there or not.
    """
    tenants = [event.tenant_id or DEPLOYMENT_CHAIN for event in events]
    async with database.connection() as connection:
        try:
            await connection.execute(SYNCHRONOUS_COMMIT_QUERY)
            await connection.fetchval(APPEND_QUERY, tenants, [pack(event) for event in events])
        except (*CONNECTION_ERRORS, asyncpg.InternalClientError) as error:
            raise Unavailable() from error


class AuditWriter:
    """Queue and writer of all audit records of a process; `run` must be awaited for as long as it is used.

    `clock` gives nanoseconds since 1970; `wait_timeout` is in seconds; `on_flush` is called after each flush; `pass_of`
    gives the pass for a tenant's log, for a gateway's login, which may not append without one.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], int] = time.time_ns,
        wait_timeout: float = 2.0,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        on_flush: Callable[[], None] | None = None,
        pass_of: Callable[[UUID], str] | None = None,
    ) -> None:
        self._pass_of = pass_of
        self._database = database
        self._clock = clock
        self._wait_timeout = wait_timeout
        self._max_waiting_bytes = max_waiting_bytes
        self._on_flush = on_flush
        self._waiting = RecordQueue()
        self._channel: AppendChannel | None = None
        self._is_flushing = False
        self._gathers = False
        self._expected = 0
        """Number of callers at which gathering ends: those of the last flush, and those who waited when it ended."""
        self._expiry: asyncio.TimerHandle | None = None
        self._away_since: float | None = None
        self._disk_full_until = 0.0
        self._failures = 0
        self._connection_end: asyncio.Future[None] | None = None
        self._is_closing = False
        self._is_running = False
        self._has_stopped = False
        self._stopped = asyncio.Event()
        self._unreported_losses = 0
        self._flush_started_at = self._flush_ended_at = float("-inf")
        self._flush_seconds = 0.0
        self.flushes = 0
        self.written = 0
        self.lost = 0

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the process, asked for once: until Python 3.12 each question is a system call (getpid)."""
        return asyncio.get_running_loop()

    @cached_property
    def _flush_timer(self) -> RestartableTimer:
        """Gathers records or holds outcomes: the next flush begins when it ends."""
        return RestartableTimer(self._loop, self._flush_gathered)

    @cached_property
    def _hang_timer(self) -> RestartableTimer:
        """Ends a flush that hangs."""
        return RestartableTimer(self._loop, self._handle_hang)

    @property
    def waiting(self) -> int:
        """Number of records that are not durable yet."""
        return len(self._waiting)

    @property
    def flush_seconds(self) -> float:
        """Seconds that the newest flush took, or that the one under way takes where that is more; 0 where none ended
        within a minute."""
        now = time.monotonic()
        newest = self._flush_seconds if now - self._flush_ended_at < REST_SECONDS else 0.0
        return max(newest, now - self._flush_started_at) if self._is_flushing else newest

    @property
    def stalled(self) -> bool:
        """The database has been away for longer than its wait timeout: what is written now is refused."""
        return self._away_since is not None and time.monotonic() - self._away_since > self._wait_timeout

    @property
    def meets_full_disk(self) -> bool:
        """The database's disk had no room for the last records."""
        return time.monotonic() < self._disk_full_until

    async def write(self, event: AuditEvent) -> None:
        """Return when `event` is durable.

        Raises:
            core.errors.Unavailable: it could not be written in time, or too much waits already.
        """
        await self.submit(event)

    def submit(self, event: AuditEvent) -> "asyncio.Future[None]":
        """Like :meth:`write`, to be awaited later (or never): the flush starts at once."""
        loop, waiting = self._loop, self._waiting
        waiter = loop.create_future()
        is_away = self._away_since is not None and self.stalled
        if is_away or self._is_closing or waiting.size >= self._max_waiting_bytes:
            reject_waiter(waiter, waiting.reason)
            return waiter
        waiting.add(event.tenant_id or DEPLOYMENT_CHAIN, pack(event), waiter, loop.time() + self._wait_timeout)
        if self._expiry is None:
            self._expiry = loop.call_later(self._wait_timeout, self._expire_waiters)
        if self._is_flushing:
            return waiter
        if not self._gathers or waiting.awaited == self._expected:
            # In this turn of the loop others may submit, and the tool sends its request to the vendor first.
            self._gathers = True
            self._flush_timer.stop()
            loop.call_soon(self._flush_gathered)
        return waiter

    def enqueue(self, event: AuditEvent) -> None:
        """Have `event` written within milliseconds, or when the database is back. For outcomes, which no caller waits
        for.

        An event is lost only if the database is away until twice ``max_waiting_bytes`` have piled up: that is
        logged, counted in `lost` and, when the database is back, recorded as an event of its own.
        """
        if self._has_stopped or self._waiting.size >= 2 * self._max_waiting_bytes:
            self._record_loss(1)
            return
        self._waiting.add(event.tenant_id or DEPLOYMENT_CHAIN, pack(event), None, 0.0)
        if not self._is_flushing and self._channel is not None and not self._flush_timer.is_running:
            self._flush_timer.start(HOLD_SECONDS)

    async def run(self) -> None:
        """Flush what is appended, until :meth:`close` or cancelled."""
        self._is_running = True
        try:
            while not self._is_drained():
                try:
                    await self._keep_channel()
                except Exception as error:  # noqa: BLE001 nothing may end the flusher: asyncpg has many errors of its own
                    self._handle_failure(error)
                    await asyncio.sleep(_compute_backoff(self._failures))
        finally:
            self._stop()

    async def close(self, timeout: float = 5.0) -> None:
        """Refuse new intents, write what waits, and end `run`; `timeout` is in seconds."""
        self._is_closing = True
        self._gathers = False
        if not self._is_flushing:
            self._flush()
        if self._is_running or self._waiting:  # where records wait, `run` may be about to begin
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), timeout)
        if unwritten := len(self._waiting):
            log.error(
                "stopped with audit records unwritten", extra={"event": "audit_records_unwritten", "records": unwritten}
            )

    async def _keep_channel(self) -> None:
        """Open the channel, through which records leave from now on, until it fails or all is written at the end."""
        query = APPEND_QUERY if self._pass_of is None else APPEND_SIGNED_QUERY
        async with self._database.connection() as connection:
            try:
                await connection.execute(SYNCHRONOUS_COMMIT_QUERY)
                async with asyncio.timeout(self._wait_timeout):
                    self._channel = await open_append_channel(
                        connection, query, self._handle_loss, signed=self._pass_of is not None
                    )
                self._connection_end = self._loop.create_future()
                self._flush()
                if not self._is_flushing:  # nothing has to be written: what was refused meanwhile is out of the queue
                    self._handle_recovery()
                await self._connection_end
            finally:
                self._channel = self._connection_end = None
                self._is_flushing = False
                self._stop_timers()
                self._waiting.requeue_batch()
                connection.terminate()  # it is the channel's; releasing one whose server hangs would hang too

    def _flush(self) -> None:
        """Write what waits, unless a flush is under way or nothing can be written."""
        if self._channel is None or self._is_flushing:
            return
        self._flush_timer.stop()
        batch = self._waiting.take_batch()
        if not batch:
            self._end_if_drained()
            return
        tenants, records, _, _ = zip(*batch, strict=True)
        passes = () if self._pass_of is None else tuple(map(self._pass_of, tenants))
        self._is_flushing = True
        self._flush_started_at = time.monotonic()
        self._hang_timer.start(self._wait_timeout)
        self._channel.append(tenants, passes, records, self._settle)

    def _settle(self, refused: Sequence[int]) -> None:
        """Tell the callers of a flush, and begin the next one: at once where an intent waits, else in a moment, in
        which the next call's may come."""
        self._hang_timer.stop()
        self._is_flushing = False
        self._flush_ended_at = time.monotonic()
        self._flush_seconds = self._flush_ended_at - self._flush_started_at
        waiting = self._waiting
        self.written += waiting.in_flight - len(refused)
        self.flushes += 1
        self._disk_full_until = 0.0
        settled = waiting.settle_batch(refused)
        if self._failures or self._unreported_losses:
            self._handle_recovery()
        if refused:
            self._record_loss(len(refused), "the broker has issued no pass for their tenant")
        if self._on_flush is not None:
            self._on_flush()
        if self._is_closing:
            self._flush()
        elif settled > 1:  # calls run in parallel: the next flush is worth more with the records of more of them
            self._gathers = True
            self._expected = settled + waiting.awaited
            self._flush_timer.start(GATHER_SECONDS)
        elif waiting.awaited:
            self._flush()
        elif waiting:
            self._flush_timer.start(HOLD_SECONDS)

    def _handle_loss(self, error: Exception) -> None:
        """Handle a failed flush or a lost connection; :meth:`run` connects again."""
        if self._connection_end is not None and not self._connection_end.done():
            self._connection_end.set_exception(error)

    def _handle_hang(self) -> None:
        self._handle_loss(TimeoutError())

    def _flush_gathered(self) -> None:
        self._gathers = False
        self._flush()

    def _stop_timers(self) -> None:
        self._flush_timer.close()
        self._hang_timer.close()

    def _end_if_drained(self) -> None:
        if self._is_closing and self._connection_end is not None and not self._connection_end.done():
            self._connection_end.set_result(None)

    def _is_drained(self) -> bool:
        return self._is_closing and not self._waiting

    def _expire_waiters(self) -> None:
        loop = self._loop
        earliest = self._waiting.expire(loop.time())
        self._expiry = None if earliest is None else loop.call_at(earliest, self._expire_waiters)

    def _handle_failure(self, error: Exception) -> None:
        """Handle a failed flush. The first failure may be an old connection, so the next attempt follows at once."""
        self._failures += 1
        is_full = is_disk_full(error)
        if is_full:
            self._disk_full_until = time.monotonic() + DISK_FULL_SECONDS
        self._waiting.reason = DiskFull if is_full else Unavailable
        if self._failures == 2:
            reason = "the database's disk is full" if is_full else "the database is unavailable"
            log.error(
                "audit records wait in memory: %s",
                reason,
                extra={"event": "audit_writing_suspended", "error": type(error).__name__},
            )
        if self._away_since is None:
            self._away_since = time.monotonic()

    def _handle_recovery(self) -> None:
        """Record that the database answers."""
        self._failures = 0
        self._away_since = None
        self._waiting.reason = Unavailable
        if self._unreported_losses:
            count, self._unreported_losses = self._unreported_losses, 0
            self.enqueue(AuditEvent(at=self._clock(), kind=AuditEventKind.AUDIT_LOST, detail={"count": count}))

    def _record_loss(self, count: int, reason: str = "the database was unavailable for too long") -> None:
        if not self._unreported_losses:
            log.error("audit records are lost: %s", reason, extra={"event": "audit_records_lost"})
        self.lost += count
        self._unreported_losses += count

    def _stop(self) -> None:
        self._is_closing = True
        self._stop_timers()
        self._waiting.reject_all()
        if self._expiry is not None:
            self._expiry.cancel()
        self._has_stopped = True
        self._stopped.set()


def _compute_backoff(failures: int) -> float:
    return min(0.05 * 2 ** (failures - 2), MAX_BACKOFF_SECONDS) if failures > 1 else 0.0
