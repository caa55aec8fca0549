"""Context of a request as handlers see it: independent of HTTP and of protocol revisions."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from broker.interface import MandateReference
from core.caller import Caller
from core.concurrency.fair_queue import FREE_TURN, AnyTurn
from core.secret import Secret
from gateway.change_tracker import ChangeTracker
from gateway.mcp.authority import Authority
from gateway.mcp.exposure import META_VIEW, ToolExposure
from jobs.job import Job
from modules.kit import ConfirmationOutcome

ReportProgress = Callable[[float, float | None, str], Awaitable[None]]
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
class ConfirmationQuestion:
    """A question of a tool to the person behind the client, and the text beside the box that they tick. `instead` is
    what a caller can do who cannot have it asked."""

    message: str
    label: str
    instead: str = ""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What the person behind the client has said to the question with this digest."""

    digest: bytes
    outcome: ConfirmationOutcome


class Confirmations(Protocol):
    """Way to have the person behind one call confirm something."""

    def find_answer(self, question: ConfirmationQuestion) -> ConfirmationOutcome | None:
        """Find what the person said; None where they have to be asked.

        Raises:
            modules.kit.ToolError: nobody can be asked within this call.
        """
        ...

    def get_given_answer(self) -> GivenAnswer | None:
        """Return what the person said, to whatever question it was, for the job that this call becomes."""
        ...

    def build_request(self, question: ConfirmationQuestion) -> Result:
        """Build the call's result that has the person asked."""
        ...


class Channel(Protocol):
    """Open answer of a request that waits: a way for notifications before its response. `request_id` is that of the
    JSON-RPC request, as JSON."""

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
    `page_accepted`: this call was answered so before, and the person may be on that page now. `confirmations` is there
    where the client can show them a form. `message_size` is that of the message in bytes: what the work on all of it
    costs.

    `short_text`: the client shows its model the structured part of a result, so the text need not say it again.

    `find_subject` gives the caller's own credential, for the broker alone: a lease is asked for in the caller's name,
    never in the gateway's.

    `changes` counts what the request may have changed. `turn` is released while the request waits for others than this
    process. `deferral` is there where asynchronous tools become jobs; within a job they are run. `meta` is the `_meta`
    of the request, unchecked. `max_tokens` is what the call says of the size of its result; 0 where it says nothing.
    What is kept of a larger one is kept until `keep_until` at least. `channel` is there for requests that wait for
    something, from clients that read a stream. `exposure` is how tools are shown to the client.
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
    confirmations: Confirmations | None = None
    short_text: bool = False
    changes: ChangeTracker = msgspec.field(default_factory=ChangeTracker)
    message_size: int = 0
    turn: AnyTurn = FREE_TURN
    deferral: Deferral | None = None
    meta: Mapping[str, Any] = NO_META
    max_tokens: int = 0
    keep_until: datetime | None = None
    channel: Channel | None = None
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
