"""A finished run of a tool, and who is told of it."""

from typing import Protocol

import msgspec

from core.audit.event import CallOutcome


class ToolRun(msgspec.Struct, frozen=True, eq=False):
    """One finished run, for metrics and the log line. Holds no argument and no result."""

    request_id: str
    module: str
    tool: str
    outcome: CallOutcome
    seconds: float
    digest: bytes


class ToolRunObserver(Protocol):
    """Observer of tool runs for metrics, log and traces; it changes nothing."""

    def on_run_start(self) -> None:
        """Record the start of a tool run."""
        ...

    def on_run_end(self, run: ToolRun) -> None:
        """Record the end of a tool run."""
        ...

    def on_run_refused(self, run: ToolRun) -> None:
        """Record a tool that was not run: wrong arguments, or a missing scope."""
        ...

    def on_names_denied(self, run: ToolRun, names: int) -> None:
        """Record a request for `names` tools that do not exist for the caller; `run` has the first of them."""
        ...
