"""What a handler is given: nothing of HTTP, nothing of protocol revisions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from core.caller import Caller
from core.secret import Secret

ReportProgress = Callable[[float, float | None, str], Awaitable[None]]
Params = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class UrlAsk:
    """Something that the person behind the client has to do at `url`; `key` names it among others of the same call."""

    key: str
    url: str
    message: str


AskByUrl = Callable[[UrlAsk], Result]


@dataclass(slots=True)
class RequestContext:
    """One request of one caller. `deadline` is in the event loop's time; `trace` is a W3C traceparent or empty.

    `ask_by_url` is there where the client can have the person open a page: what it returns is the call's result.
    `agreed`: this call was answered so before, and the person may be on that page now. `size` is that of the message in
    bytes: what the work on all of it costs.

    `subject` is the caller's own credential, for the broker alone: a lease is asked for in the caller's name, never in
    the gateway's. None where an operator calls locally.
    """

    caller: Caller
    request_id: str
    deadline: float
    report_progress: ReportProgress | None = None
    trace: str = ""
    client_name: str = ""
    subject: Secret | None = None
    ask_by_url: AskByUrl | None = None
    agreed: bool = False
    size: int = 0


Handler = Callable[[RequestContext, Params], Awaitable[Result]]


class ProtocolError(Exception):
    """Becomes a JSON-RPC error; `message` and `data` go to the client as they are, so they hold nothing secret."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
