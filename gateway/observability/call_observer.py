"""Observer of requests and tool runs: metrics, one log line a run, and spans where tracing is configured."""

from core.audit.event import CallOutcome
from core.observability.metrics import Metrics
from gateway.mcp.interfaces import Observation
from gateway.observability.call_log import CallLog
from gateway.tool_run import ToolRun

_OK = CallOutcome.OK
_UNKNOWN_TOOL = "unknown_tool"
_STATUSES = (200, 202, 400, 401, 403, 404, 405, 429, 500, 503)
"""What an endpoint answers with, however seldom."""


class CallObserver:
    """Implements :class:`gateway.tool_run.ToolRunObserver`, and observes requests for the transport."""

    def __init__(self, metrics: Metrics, call_log: CallLog) -> None:
        self._metrics = metrics
        self._call_log = call_log
        metrics.begin_at_zero("denied", (_UNKNOWN_TOOL,))
        metrics.begin_at_zero("responses", _STATUSES)

    def on_run_start(self) -> None:
        self._metrics.running_calls += 1

    def on_run_end(self, run: ToolRun) -> None:
        metrics = self._metrics
        metrics.running_calls -= 1
        metrics.count_call(run.module, run.tool, run.outcome, run.seconds)
        error = None if run.outcome is _OK else run.outcome.value
        self._call_log.add_run(run.request_id, f"{run.module}.{run.tool}", run.digest[:8].hex(), run.seconds, error)

    def on_run_refused(self, run: ToolRun) -> None:
        self._metrics.count_call(run.module, run.tool, run.outcome, run.seconds)
        self._log(run, f"{run.module}.{run.tool}")

    def on_names_denied(self, run: ToolRun, names: int) -> None:
        self._metrics.count_denied(_UNKNOWN_TOOL, names)
        # Whoever asked chose the name: it stands in the audit log, and not in a log that others read.
        self._log(run, "-")

    def on_http_answer(self, observation: Observation) -> None:
        """Record an HTTP request that was answered."""
        self._metrics.count_response(observation.status)

    def _log(self, run: ToolRun, name: str) -> None:
        error = None if run.outcome is _OK else run.outcome.value
        self._call_log.add_run(run.request_id, name, run.digest[:8].hex(), run.seconds, error)
