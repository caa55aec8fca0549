"""Context of a request as handlers see it: independent of HTTP and of protocol revisions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.caller import Caller
from core.secret import Secret
from gateway.change_tracker import ChangeTracker

ReportProgress = Callable[[float, float | None, str], Awaitable[None]]
Params = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class UrlElicitation:
    """Something that the person behind the client has to do at `url`; `key` names it among others of the same call."""

    key: str
    url: str
    message: str


ElicitUrl = Callable[[UrlElicitation], Result]


async def _do_nothing() -> None:
    """Do nothing, where the caller cannot be verified anew."""


class ToolExecution(Protocol):
    """A tool that runs for a caller."""

    def check(self, caller: Caller) -> None:
        """Stop it if `caller` may not use it any more."""
        ...

    def stop(self, reason: str) -> None: ...


class Authority:
    """Authority that a request runs under: the caller in their current state, and once it ends, `ended` with the
    reason."""

    __slots__ = ("_executions", "caller", "ended", "refresh")

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.ended = ""
        self.refresh: Callable[[], Awaitable[None]] = _do_nothing
        """Verifies the caller anew if the last time is long ago; for work that begins long after its request came."""
        self._executions: set[ToolExecution] = set()

    def enter(self, execution: ToolExecution) -> None:
        """Add a tool that begins to run under this authority."""
        self._executions.add(execution)

    def leave(self, execution: ToolExecution) -> None:
        """Remove a tool that has ended."""
        self._executions.discard(execution)

    def renew(self, caller: Caller) -> None:
        """Check the authority anew after the caller's permissions may have changed; uses that are no longer allowed
        stop."""
        self.caller = caller
        for execution in tuple(self._executions):
            execution.check(caller)

    def end(self, reason: str) -> None:
        """End the authority, whose credential is no longer valid: running tools stop, and none begins."""
        self.ended = reason
        for execution in tuple(self._executions):
            execution.stop(reason)


@dataclass(slots=True)
class RequestContext:
    """One request of one caller. `deadline` is in the event loop's time; `trace` is a W3C traceparent or empty.

    `elicit_url` is there where the client can have the person open a page: what it returns is the call's result.
    `agreed`: this call was answered so before, and the person may be on that page now. `size` is that of the message in
    bytes: what the work on all of it costs.

    `short_text`: the client shows its model the structured part of a result, so the text need not say it again.

    `subject` is the caller's own credential, for the broker alone: a lease is asked for in the caller's name, never in
    the gateway's. None where an operator calls locally.

    `changes` counts what the request may have changed.
    """

    authority: Authority
    request_id: str
    deadline: float
    report_progress: ReportProgress | None = None
    trace: str = ""
    client_name: str = ""
    subject: Secret | None = None
    elicit_url: ElicitUrl | None = None
    elicitation_accepted: bool = False
    short_text: bool = False
    changes: ChangeTracker = field(default_factory=ChangeTracker)
    message_size: int = 0

    @property
    def caller(self) -> Caller:
        """The caller in their current state."""
        return self.authority.caller


Handler = Callable[[RequestContext, Params], Awaitable[Result]]


class ProtocolError(Exception):
    """Becomes a JSON-RPC error; `message` and `data` go to the client as they are, so they hold nothing secret."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
