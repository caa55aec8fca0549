"""`/healthz`: does the process serve at all? `/readyz`: do its parts work? Neither tells more than names of parts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from core.audit.writer import AuditWriter
from core.concurrency.background import list_failing_tasks
from core.concurrency.single_flight import SingleFlight
from core.db import Database
from core.disk_errors import MIN_FREE_BYTES, DiskFull, get_free_bytes
from core.errors import Unavailable
from core.observability.metrics import Metrics

Check = Callable[[], Awaitable[bool | str]]
Clock = Callable[[], float]

ALIVE_BODY = b'{"alive":true}'
CACHE_SECONDS = 1.0
CHECK_TIMEOUT = 2.0
DEGRADED = "degraded"
_LACKS_WORKER = "SELECT jobs.lacks_worker()"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """One part of the product at one look; `state` is ``up``, ``down``, ``slow``, or what its check says instead.

    A state that begins with ``degraded`` leaves the process ready: requests are served, something beside them is not
    done.
    """

    name: str
    state: str

    @property
    def serves(self) -> bool:
        """Check whether requests may be sent here."""
        return self.state == "up" or self.state.startswith(DEGRADED)


class HealthMonitor:
    """Looks at every part at most once a second, however often and by however many it is asked."""

    def __init__(
        self,
        checks: Mapping[str, Check],
        *,
        clock: Clock,
        timeout: float = CHECK_TIMEOUT,
        cache_seconds: float = CACHE_SECONDS,
    ) -> None:
        """`checks` maps names to functions that give False, or raise, when the part is down, or the state as a text.

        Times are in seconds: a check has `timeout`, its result counts for `cache_seconds` by `clock`.
        """
        self._checks = checks
        self._clock = clock
        self._timeout = timeout
        self._cache_seconds = cache_seconds
        self._checked_at = float("-inf")
        self._parts: tuple[ComponentHealth, ...] = ()
        self._checking = SingleFlight[None, tuple[ComponentHealth, ...]]()
        self._is_draining = False

    def drain(self) -> None:
        """Report unready from now on, so that load balancers send no new requests while running ones finish."""
        self._is_draining = True

    def has_component(self, name: str) -> bool:
        """Return whether the component `name` is looked at."""
        return name in self._checks

    def is_up(self, name: str) -> bool:
        """Return whether the component `name` was up at the last look; True before the first."""
        return all(part.state == "up" for part in self._parts if part.name == name)

    async def check_components(self) -> tuple[ComponentHealth, ...]:
        """Check every component; a draining process is reported first."""
        if self._is_draining:
            return (ComponentHealth("process", "draining"),)
        if self._clock() - self._checked_at < self._cache_seconds:
            return self._parts
        return await self._checking.join(None, self._check_all)

    async def _check_all(self) -> tuple[ComponentHealth, ...]:
        checks = (asyncio.wait_for(check(), self._timeout) for check in self._checks.values())
        states = await asyncio.gather(*checks, return_exceptions=True)
        before = {part.name: part.state for part in self._parts}
        self._parts = tuple(
            ComponentHealth(name, _classify_result(result)) for name, result in zip(self._checks, states, strict=True)
        )
        _log_changes(before, self._parts)
        self._checked_at = self._clock()
        return self._parts


def create_disk_check(home: Path, *, has_database: bool) -> Callable[[], Coroutine[Any, Any, bool | str]]:
    """``full`` where the embedded database has no room for the next segment of its log. Without a database in the
    folder it is `DEGRADED`: only new tokens that the database cannot take for now need the room."""
    full = "full" if has_database else f"{DEGRADED}: full"

    async def has_room() -> bool | str:
        return True if await asyncio.to_thread(get_free_bytes, home) >= MIN_FREE_BYTES else full

    return has_room


def create_audit_check(audit: AuditWriter, *, serves_without: bool = False) -> Check:
    """``disk full`` while the database's disk has no room for audit records, ``down`` while none can be written. With
    `serves_without` both are `DEGRADED`: the process has more to do than what has to be recorded."""

    async def is_writing() -> bool | str:
        if not audit.meets_full_disk and not audit.stalled:
            return True
        state = DiskFull.component_state if audit.meets_full_disk else "down"
        return f"{DEGRADED}: {state}" if serves_without else state

    return is_writing


def create_jobs_check(database: Database) -> Check:
    """``degraded`` while jobs wait and no worker runs: calls are served, and long work is not done."""

    async def are_jobs_run() -> bool | str:
        return f"{DEGRADED}: no worker" if await database.call(_LACKS_WORKER) else True

    return are_jobs_run


def register_health_metrics(
    metrics: Metrics, health: HealthMonitor, *, can_write: Callable[[], bool] = lambda: True
) -> None:
    """Show how the parts of this process are. They are looked at with each scrape: a process that nobody calls would
    else not notice that its database or broker is away. `can_write` is False while records cannot be written."""
    metrics.register_look(health.check_components)
    metrics.register_observable("mcpist_background_tasks_failing", lambda: len(list_failing_tasks()))
    metrics.register_observable("mcpist_database_up", lambda: health.is_up("database") and can_write())
    if health.has_component("broker"):
        metrics.register_observable("mcpist_broker_up", lambda: health.is_up("broker"))


def register_audit_metrics(metrics: Metrics, audit: AuditWriter) -> None:
    """Show what waits to be written to the audit log, and how long a write takes."""
    metrics.register_observable("mcpist_audit_queue_records", lambda: audit.waiting)
    metrics.register_observable("mcpist_audit_records", lambda: audit.written)
    metrics.register_observable("mcpist_audit_flush_seconds", lambda: audit.flush_seconds)


async def check_background_tasks() -> bool | str:
    """``degraded``, and which background tasks of this process died or keep failing."""
    failing = list_failing_tasks()
    return f"{DEGRADED}: {', '.join(failing)}" if failing else True


def build_search_health_route(health: HealthMonitor, describe_search: Callable[[], Mapping[str, Any]]) -> ASGIApp:
    """Build the ASGI application of ``/healthcheck``: what ``/readyz`` says, and what the search engine runs on, for
    programs that know a memo service by it."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        components = await health.check_components()
        is_ready = all(part.serves for part in components)
        body = {"status": "ok" if is_ready else "unavailable", **describe_search()}
        await _send_answer(scope, send, 200 if is_ready else 503, orjson.dumps(body))

    return check


def build_health_routes(health: HealthMonitor) -> dict[str, ASGIApp]:
    """Build the ASGI application of each path."""

    async def alive(scope: Scope, receive: Receive, send: Send) -> None:
        await _send_answer(scope, send, 200, ALIVE_BODY)

    async def ready(scope: Scope, receive: Receive, send: Send) -> None:
        components = await health.check_components()
        is_ready = all(part.serves for part in components)
        body: dict[str, Any] = {"ready": is_ready, "components": components}
        await _send_answer(scope, send, 200 if is_ready else 503, orjson.dumps(body))

    return {"/healthz": alive, "/readyz": ready}


def _classify_result(result: bool | str | BaseException) -> str:
    if isinstance(result, TimeoutError):
        return "slow"
    if isinstance(result, str):
        return result
    if isinstance(result, Unavailable):
        return result.component_state
    return "up" if result is True else "down"


def _log_changes(before: Mapping[str, str], components: tuple[ComponentHealth, ...]) -> None:
    for component in components:
        if component.state != before.get(component.name, "up"):
            level = logging.INFO if component.state == "up" else logging.WARNING
            fields = {"component": component.name, "state": component.state}
            log.log(
                level, "%s is %s", component.name, component.state, extra={"event": "component_state_changed", **fields}
            )


async def _send_answer(scope: Scope, send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
