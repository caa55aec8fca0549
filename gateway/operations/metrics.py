"""What is counted, as plain numbers on the path of a call; gateway/operations/exposition.py turns them into text.

Labels come from the catalogue and from fixed words, never from what a client sent, and never name a tenant or person.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Counted = Literal["denied", "auth_refused", "limited", "responses"]

# Seconds. Our own work is some 20 µs a call, a vendor takes 50 ms to 30 s.
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MOST_SERIES = 2000
MOST_LABELS = 64
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Watched:
    """A number that is read when somebody looks, so it costs nothing before."""

    name: str
    about: str
    kind: Literal["gauge", "counter"] = "gauge"


WATCHED = (
    Watched("mcpist_audit_queue_records", "Audit records that wait to be written."),
    Watched("mcpist_audit_records", "Audit records written.", "counter"),
    Watched("mcpist_credentials_cached", "Verified credentials in the cache."),
    Watched("mcpist_database_up", "1 while the database answers."),
    Watched("mcpist_generation_listener_up", "1 while changes of permissions arrive at once, 0 while they are polled."),
    Watched("mcpist_limited_callers", "Credentials that the caller limits remember."),
    Watched("mcpist_log_lines_dropped", "Lines of the call log lost because nobody took them.", "counter"),
)
_WATCHED_NAMES = frozenset(one.name for one in WATCHED)

COUNTERS: dict[Counted, tuple[str, str, str]] = {
    "denied": ("mcpist_denied", "reason", "Attempts to use a tool that does not exist for the caller."),
    "auth_refused": ("mcpist_auth_refused", "reason", "Credentials that were refused, by reason."),
    "limited": ("mcpist_limited", "limit", "Requests that a limit turned away."),
    "responses": ("mcpist_http_responses", "status", "HTTP answers by status."),
}


class Series:
    """Calls of one tool with one outcome: how many took up to each bound, and their seconds in all."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0


class Metrics:
    """The numbers of one process. Used from the event loop's thread only; reading elsewhere sees whole numbers."""

    def __init__(self) -> None:
        self.running_calls = 0
        self.malformed_credentials = 0
        self.calls: dict[tuple[str, str, str], Series] = {}
        self.counters: dict[Counted, dict[str, int]] = {name: {} for name in COUNTERS}
        self.watched: dict[str, Callable[[], float]] = {}

    def call(self, module: str, tool: str, outcome: str, seconds: float) -> None:
        """Count one finished run of a tool of the catalogue; `outcome` is one of few fixed words."""
        series = self.calls.get((module, tool, outcome)) or self._series(module, tool, outcome)
        series.counts[bisect_left(BOUNDS, seconds)] += 1
        series.seconds += seconds

    def denied(self, reason: str, names: int = 1) -> None:
        """Count attempts at what does not exist for the caller; like every label here, one of few fixed words."""
        _count(self.counters["denied"], reason, names)

    def refused(self, reason: str) -> None:
        """Count a credential that was refused after it was looked up."""
        _count(self.counters["auth_refused"], reason)

    def malformed(self) -> None:
        """Count a credential that is none by its form."""
        self.malformed_credentials += 1

    def limited(self, limit: str) -> None:
        """Count a request that a limit turned away: ``caller`` or ``address``."""
        _count(self.counters["limited"], limit)

    def response(self, status: int) -> None:
        """Count an HTTP answer."""
        _count(self.counters["responses"], str(status))

    def watch(self, name: str, read: Callable[[], float]) -> None:
        """Have `read` asked for the number `name` (one of ``WATCHED``) at every look. It must not raise or wait."""
        if name not in _WATCHED_NAMES:
            raise ValueError(f"{name} is not declared in WATCHED")
        self.watched[name] = read

    def _series(self, module: str, tool: str, outcome: str) -> Series:
        key = (module, tool, outcome) if len(self.calls) < MOST_SERIES else (OTHER, OTHER, outcome)
        return self.calls.setdefault(key, Series())


def _count(values: dict[str, int], label: str, number: int = 1) -> None:
    if label not in values and len(values) >= MOST_LABELS:
        label = OTHER
    values[label] = values.get(label, 0) + number
