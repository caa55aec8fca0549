"""Metrics as plain numbers on the path of a call; core/observability/exposition.py turns them into text.

Labels come from the catalogue and from fixed words, never from what a client sent, and never name a tenant or person.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

CounterName = Literal[
    "denied", "auth_refused", "jobs", "limited", "mandates", "mandates_refused", "responses", "refreshes"
]

# Seconds. Our own work is some 20 µs a call, a vendor takes 50 ms to 30 s.
DURATION_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
LOOK_SECONDS = 0.7
"""Longest time that a scrape waits for what it looks at."""
MAX_SERIES = 2000
MAX_LABELS = 64
OTHER = "other"


@dataclass(frozen=True, slots=True)
class ObservableMetric:
    """A number that is read when metrics are scraped, so it costs nothing before."""

    name: str
    description: str
    kind: Literal["gauge", "counter"] = "gauge"
    label: str = ""


OBSERVABLE_METRICS = (
    ObservableMetric("mcpist_accounts", "Connected accounts.", label="status"),
    ObservableMetric("mcpist_accounts_overdue", "Accounts in use that should have been refreshed 10 minutes ago."),
    ObservableMetric("mcpist_streams", "Open streams on which clients are told of changes."),
    ObservableMetric("mcpist_audit_queue_records", "Audit records that wait to be written."),
    ObservableMetric("mcpist_audit_records", "Audit records written.", "counter"),
    ObservableMetric("mcpist_audit_flush_seconds", "Duration of the newest write of audit records."),
    ObservableMetric(
        "mcpist_audit_seal_lag_seconds", "Seconds since this process last found all audit records sealed."
    ),
    ObservableMetric(
        "mcpist_audit_streams_late", "Audit streams whose oldest record should have been delivered 10 minutes ago."
    ),
    ObservableMetric("mcpist_backup_age_seconds", "Seconds since `mcpist backup` wrote its newest backup."),
    ObservableMetric("mcpist_background_tasks_failing", "Background tasks that died or keep failing."),
    ObservableMetric("mcpist_broker_up", "1 while the broker of this process answers it."),
    ObservableMetric("mcpist_credentials_cached", "Verified credentials in the cache."),
    ObservableMetric("mcpist_database_connections", "Connections of the pools to the database.", label="state"),
    ObservableMetric("mcpist_database_up", "1 while the database answers."),
    ObservableMetric("mcpist_deployment_is_copy", "1 while this is a copy that was not adopted and asks no vendor."),
    ObservableMetric(
        "mcpist_generation_listener_up", "1 while changes of permissions arrive at once, 0 while they are polled."
    ),
    ObservableMetric("mcpist_calls_waiting", "Calls that wait for their turn while several tenants call."),
    ObservableMetric("mcpist_tenants_active", "Tenants that called in the last 10 to 20 seconds."),
    ObservableMetric("mcpist_job_oldest_seconds", "Age of the oldest job that waits and may begin."),
    ObservableMetric("mcpist_jobs", "Jobs of the deployment; of those that wait at most 100,000 count.", label="state"),
    ObservableMetric("mcpist_jobs_here", "Jobs that run in this process."),
    ObservableMetric("mcpist_limited_callers", "Users that the caller limits remember."),
    ObservableMetric(
        "mcpist_limits_shared", "1 while all processes share limits, 0 while the server of MCPIST_REDIS_URL is away."
    ),
    ObservableMetric(
        "mcpist_log_lines_dropped", "Lines of the call log dropped because the reader was too slow.", "counter"
    ),
    ObservableMetric(
        "mcpist_mandates", "Live mandates of the deployment; at most 100,000 of a purpose count.", label="purpose"
    ),
    ObservableMetric("mcpist_notices_waiting", "Notifications that should have been sent 10 minutes ago."),
    ObservableMetric("mcpist_oauth_clients_rejected", "OAuth clients that their vendor refuses."),
    ObservableMetric(
        "mcpist_refresh_answers_spooled", "Refreshed tokens on the local disk that the database has not stored."
    ),
)
_OBSERVABLE_NAMES = {one.name: one.label for one in OBSERVABLE_METRICS}

COUNTERS: dict[CounterName, tuple[str, str, str]] = {
    "denied": ("mcpist_denied", "reason", "Attempts to use a tool that does not exist for the caller."),
    "auth_refused": ("mcpist_auth_refused", "reason", "Credentials that were refused, by reason."),
    "jobs": ("mcpist_jobs_ended", "state", "Runs of jobs in this process, by the state after it."),
    "limited": ("mcpist_limited", "limit", "Requests refused by a limit."),
    "mandates": ("mcpist_mandates_made", "purpose", "Mandates that people have given, by what they are for."),
    "mandates_refused": (
        "mcpist_mandates_refused",
        "reason",
        "Mandates that were not made, and uses of one that counts no more.",
    ),
    "refreshes": ("mcpist_refreshes", "outcome", "Refreshes of vendors' tokens, by the vendor's answer."),
    "responses": ("mcpist_http_responses", "status", "HTTP answers by status."),
}


class CallSeries:
    """Calls of one tool with one outcome: how many took up to each bound, and their seconds in all."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(DURATION_BUCKETS) + 1)
        self.seconds = 0.0


class Metrics:
    """The numbers of one process. Used from the event loop's thread only; reading elsewhere sees whole numbers."""

    def __init__(self) -> None:
        self.running_calls = 0
        self.malformed_credentials = 0
        self.calls: dict[tuple[str, str, str], CallSeries] = {}
        self.counters: dict[CounterName, dict[str, int]] = {name: {} for name in COUNTERS}
        self.observables: dict[str, Callable[[], float]] = {}
        self.labelled: dict[str, list[Callable[[], Mapping[str, float]]]] = {}
        self._looks: list[Callable[[], Awaitable[object]]] = []

    def begin_at_zero(self, counter: CounterName, labels: Iterable[object]) -> None:
        """Show these values of a counter's label from the start: the rate of a series that begins with its first event
        leaves that event out."""
        for label in labels:
            self.counters[counter].setdefault(str(label), 0)

    def count_call(self, module: str, tool: str, outcome: str, seconds: float) -> None:
        """Count one finished run of a tool of the catalogue; `outcome` is one of few fixed words."""
        series = self.calls.get((module, tool, outcome)) or self._find_series(module, tool, outcome)
        series.counts[bisect_left(DURATION_BUCKETS, seconds)] += 1
        series.seconds += seconds

    def count_denied(self, reason: str, names: int = 1) -> None:
        """Count attempts at what does not exist for the caller; like every label here, one of few fixed words."""
        _count(self.counters["denied"], reason, names)

    def count_refused(self, reason: str) -> None:
        """Count a credential that was refused after it was looked up."""
        _count(self.counters["auth_refused"], reason)

    def count_malformed(self) -> None:
        """Count a credential that is none by its form."""
        self.malformed_credentials += 1

    def count_limited(self, limit: str) -> None:
        """Count a request that a limit turned away: ``caller`` or ``address``."""
        _count(self.counters["limited"], limit)

    def count_job(self, state: str) -> None:
        """Count a run of a job that has ended; ``queued`` is one that will be tried again."""
        _count(self.counters["jobs"], state)

    def count_mandate(self, purpose: str) -> None:
        """Count a mandate that was made."""
        _count(self.counters["mandates"], purpose)

    def count_mandate_refusal(self, reason: str) -> None:
        """Count a mandate that was not made, or that was used and does not count."""
        _count(self.counters["mandates_refused"], reason)

    def count_response(self, status: int) -> None:
        """Count an HTTP answer."""
        _count(self.counters["responses"], str(status))

    def count_refresh(self, outcome: str) -> None:
        """Count a vendor's answer to a refresh: ``granted``, or the class of the error."""
        _count(self.counters["refreshes"], outcome)

    def register_observable(self, name: str, read: Callable[[], float]) -> None:
        """Have `read` asked for the number `name`, one of ``OBSERVABLE_METRICS`` without a label, at every scrape. It
        must not raise or wait."""
        if _OBSERVABLE_NAMES.get(name) != "":
            raise ValueError(f"{name} is not declared in OBSERVABLE_METRICS without a label")
        self.observables[name] = read

    def register_labelled(self, name: str, read: Callable[[], Mapping[str, float]]) -> None:
        """Register numbers by the value of the metric's label, as :meth:`register_observable` does one. What several
        have registered is added."""
        if not _OBSERVABLE_NAMES.get(name):
            raise ValueError(f"{name} is not declared in OBSERVABLE_METRICS with a label")
        self.labelled.setdefault(name, []).append(read)

    def register_look(self, look: Callable[[], Awaitable[object]]) -> None:
        """Have `look` awaited before the numbers are read; it must not raise."""
        self._looks.append(look)

    async def look(self) -> None:
        """Await what was registered, for at most :data:`LOOK_SECONDS`: what takes longer goes on, and its numbers are
        those of the look before."""
        if self._looks:
            await asyncio.wait([asyncio.ensure_future(look()) for look in self._looks], timeout=LOOK_SECONDS)

    def _find_series(self, module: str, tool: str, outcome: str) -> CallSeries:
        key = (module, tool, outcome) if len(self.calls) < MAX_SERIES else (OTHER, OTHER, outcome)
        return self.calls.setdefault(key, CallSeries())


def _count(values: dict[str, int], label: str, number: int = 1) -> None:
    if label not in values and len(values) >= MAX_LABELS:
        label = OTHER
    values[label] = values.get(label, 0) + number
