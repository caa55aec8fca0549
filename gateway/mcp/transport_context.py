"""One HTTP request to /mcp while it is served: what came, who calls, and what becomes of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from core.caller import Caller
from core.concurrency.fair_queue import FREE_TURN, AnyTurn
from core.secret import Secret
from core.tool_exposure import ToolExposure
from gateway.change_tracker import ChangeTracker
from gateway.mcp.call_supervisor import Receive
from gateway.mcp.http_validation import ANYTHING, AcceptedTypes
from gateway.mcp.request_headers import RequestHeaders, decode_value
from gateway.mcp.responses import ResponseWriter
from gateway.mcp.revisions import JsonRpcAnswer, Revision

NO_HEADERS = RequestHeaders(())


def _do_nothing() -> None:
    pass


class TransportContext(ResponseWriter, eq=False, kw_only=True):
    """Transport side of a message, and its answer. It implements :class:`gateway.mcp.interfaces.Observation`.

    `verify` authenticates its caller. `receive` is None for a member of an array, whose client is waited for with the
    array; `batched` forces its revision. `turn` is its turn to be worked on.

    `url_exposure` is how the URL says that tools are shown; None where it does not.

    `changes` counts what the message's handler may have changed. `release` gives back the caller's place among what
    runs at once.
    """

    scope: dict[str, Any]
    receive: Receive | None
    verify: "Callable[[TransportContext], Awaitable[Caller]]"
    caller: Caller | None = None
    headers: RequestHeaders = NO_HEADERS
    accepts: AcceptedTypes = ANYTHING
    batched: Revision | None = None
    trace: str = ""
    client_name: str = ""
    changes: ChangeTracker = msgspec.field(default_factory=ChangeTracker)
    method: str = ""
    seconds: float = 0.0
    rpc_answer: JsonRpcAnswer | None = None
    turn: AnyTurn = FREE_TURN
    url_exposure: ToolExposure | None = None
    release: Callable[[], None] = _do_nothing

    def get_authorization(self) -> str | None:
        """Return the value of the Authorization header. Where the head was known, its headers are without it."""
        if self.direct is not None and (value := self.direct.get_secret(b"authorization")) is not None:
            return decode_value(value)
        return self.headers.get_text(b"authorization")

    def leave_place(self) -> None:
        """Count no longer among what the caller has running."""
        release, self.release = self.release, _do_nothing
        release()
        self.turn.release()

    def find_subject(self) -> Secret:
        """Return the credential behind the scheme of the Authorization header, which authentication has found to be
        right."""
        return Secret((self.get_authorization() or "").partition(" ")[2].strip())

    def authenticate(self) -> Awaitable[Caller]:
        """Verify the caller, or verify them anew."""
        return self.verify(self)

    def fork(self, revision: Revision, turn: AnyTurn) -> "TransportContext":
        """Return the context of a member of an array in `revision`."""
        return TransportContext(
            self.request_id, self.send, self.direct, scope=self.scope, receive=None, verify=self.verify,
            caller=self.caller, headers=self.headers, batched=revision, turn=turn,
            url_exposure=self.url_exposure,
        )  # fmt: skip

    def choose_exposure(self, caller: Caller) -> ToolExposure:
        """Choose how tools are shown: the URL decides, else the caller's credential and roles."""
        return self.url_exposure or caller.tool_exposure

    @property
    def revision(self) -> str:
        return self.rpc_answer.revision.version if self.rpc_answer is not None else ""

    @property
    def code(self) -> int:
        return self.rpc_answer.code if self.rpc_answer is not None else 0
