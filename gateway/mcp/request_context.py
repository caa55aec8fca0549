"""Context of a request as handlers see it: independent of HTTP and of protocol revisions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from broker.interface import MandateReference
from core.caller import Caller
from core.concurrency.fair_queue import FREE_TURN, AnyTurn
from core.secret import Secret
from core.tool_exposure import META_VIEW, ToolExposure
from gateway.change_tracker import ChangeTracker
from gateway.mcp.authority import Authority
from jobs.job import Job
from modules.kit import LogLevel

ReportProgress = Callable[[float, float | None, str], Awaitable[None]]
SendLog = Callable[[LogLevel, str, str], Awaitable[None]]
"""(level, the name of the logger, text)"""
Params = dict[str, Any]
Result = dict[str, Any]
NO_META: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class UrlElicitation:
    """Something that the person behind the client has to do at `url`; `key` names it among others of the same call."""

    key: str
    url: str
    message: str


ElicitUrl = Callable[[UrlElicitation], Result]


Subject = Secret | MandateReference
"""What a lease is asked for with: the caller's own credential, or the mandate of their job."""


def find_no_subject() -> Subject | None:
    """Find no credential: nothing can be leased in this caller's name."""
    return None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of a tool to the client behind a call, as it is sent: `key` names it among others of the same call.
    `instead` is what a caller can do who cannot have it asked. `is_bound`: an answer counts only where it is certain
    that this very question was asked before."""

    key: str
    method: str
    params: dict[str, Any]
    instead: str = ""
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class GivenResponse:
    """What the client behind a call has answered to the question with this digest."""

    digest: str
    response: Any


class ClientQuestions(Protocol):
    """Way to ask the client behind one call. `capabilities` are those that it has declared."""

    @property
    def capabilities(self) -> Mapping[str, Any]: ...

    def find_response(self, question: AskedQuestion) -> Any | None:
        """Find what the client has answered; None where it has to be asked.

        Raises:
            modules.kit.ToolError: nobody can be asked within this call.
        """
        ...

    def get_responses(self) -> Mapping[str, GivenResponse]:
        """Return all answers by the key of their question, for the job that this call becomes."""
        ...

    def build_request(self, questions: Sequence[AskedQuestion]) -> Result:
        """Build the call's result that has the client asked."""
        ...


class Channel(Protocol):
    """Open answer of a request that waits: a way for notifications before its response. `request_id` is that of the
    JSON-RPC request, as JSON."""

    def authenticate(self) -> Awaitable[Caller]:
        """Verify the caller anew; raises as :data:`gateway.mcp.interfaces.Authenticate` does."""
        ...

    def get_authorization(self) -> str | None:
        """Return the value of the Authorization header, by which the caller was verified."""
        ...

    def write_at_once(self, data: bytes) -> bool:
        """Send events or a comment, if that takes no wait; return whether they were sent."""
        ...

    async def write(self, data: bytes) -> None:
        """Send events, or a comment; whoever writes for long watches whether the client reads."""
        ...

    async def receive(self) -> Any:
        """Wait for what the client does next (ASGI)."""
        ...

    def leave_place(self) -> None:
        """Count no longer among what its caller has running: it waits, and others may work."""
        ...

    def choose_exposure(self, caller: Caller) -> ToolExposure:
        """Choose how tools are shown to the caller, who may be in another state than when they asked."""
        ...

    @property
    def request_id(self) -> bytes: ...

    async def send(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification.

        Raises:
            gateway.mcp.errors.ClientDisconnected: the client does not read.
        """
        ...


@dataclass(frozen=True, slots=True)
class Deferral:
    """How work that outlives its request is answered: it becomes a job. Without `describe_job` the request waits for
    its end for a while, else the job is described at once. `always`: not only asynchronous tools become jobs.
    `lifetime` is how long the client wants the result to be kept. `can_answer`: the client can answer questions of the
    job while it is described as a task. `batches`: a batch becomes a job whatever its steps are."""

    describe_job: Callable[[Job], Result] | None = None
    always: bool = False
    lifetime: timedelta | None = None
    can_answer: bool = False
    batches: bool = False


WAIT_FOR_JOB = Deferral()


class RequestContext(msgspec.Struct, eq=False):
    """One request of one caller. `deadline` is in the event loop's time; `trace` is a W3C traceparent or empty.

    `elicit_url` is there where the client can have the person open a page: what it returns is the call's result.
    `page_accepted`: this call was answered so before, and the person may be on that page now. `questions` is there
    where the revision has a way to ask the client. `message_size` is that of the message in bytes: what the work on all
    of it costs.

    `short_text`: the client shows its model the structured part of a result, so the text need not say it again.

    `find_subject` gives the caller's own credential, for the broker alone: a lease is asked for in the caller's name,
    never in the gateway's.

    `changes` counts what the request may have changed. `turn` is released while the request waits for others than this
    process. `deferral` is there where asynchronous tools become jobs; within a job they are run. `meta` is the `_meta`
    of the request, unchecked. `max_tokens` is what the call says of the size of its result; 0 where it says nothing.
    What is kept of a larger one is kept until `keep_until` at least. `channel` is there for requests that wait for
    something, from clients that read a stream. `send_log` is there for clients that want to be told what tools do.
    `exposure` is how tools are shown to the client.
    """

    authority: Authority
    request_id: str
    deadline: float
    report_progress: ReportProgress | None = None
    trace: str = ""
    client_name: str = ""
    find_subject: Callable[[], Subject | None] = find_no_subject
    elicit_url: ElicitUrl | None = None
    page_accepted: bool = False
    questions: ClientQuestions | None = None
    short_text: bool = False
    changes: ChangeTracker = msgspec.field(default_factory=ChangeTracker)
    message_size: int = 0
    turn: AnyTurn = FREE_TURN
    deferral: Deferral | None = None
    meta: Mapping[str, Any] = NO_META
    max_tokens: int = 0
    keep_until: datetime | None = None
    channel: Channel | None = None
    send_log: SendLog | None = None
    exposure: ToolExposure = META_VIEW

    @property
    def caller(self) -> Caller:
        """The caller in their current state."""
        return self.authority.caller

    @property
    def subject(self) -> Subject | None:
        """The caller's own credential, or their job's mandate; None where there is none."""
        return self.find_subject()


Handler = Callable[[RequestContext, Params], Awaitable[Result]]


class ProtocolError(Exception):
    """Becomes a JSON-RPC error; `message` and `data` go to the client as they are, so they hold nothing secret."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
