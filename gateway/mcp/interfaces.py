"""Interfaces between the transport and the rest of the gateway."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from core.caller import Caller
from gateway.mcp.request_context import Handler
from gateway.mcp.transport_context import TransportContext

# (value of the Authorization header or None, client address) -> caller. Raises gateway.mcp.errors.Unauthenticated or
# InsufficientScope, core.errors.LimitReached or Unavailable.
Authenticate = Callable[[str | None, str], Awaitable[Caller]]


class CallerCache(Protocol):
    """Callers that were verified lately and still count, without a wait and without their credential."""

    def compute_key(self, authorization: str) -> bytes:
        """Compute the key of an Authorization header, from which it cannot be guessed."""
        ...

    def find(self, key: bytes) -> Caller | None:
        """Find the caller of the header with that key."""
        ...


TaskHandlers = Mapping[str, Mapping[str, Handler]]
"""Handlers of a revision's own, by its version: those of its tasks, and its way to call tools as tasks."""


class ClientStreamServer(Protocol):
    """Streams on which handshake clients are told of changes."""

    def __len__(self) -> int: ...

    def close(self) -> None:
        """End every stream: the process stops."""
        ...

    async def serve(self, request: TransportContext) -> None:
        """Serve the stream that a request opens, until it ends. Raises as :data:`Authenticate` does, before anything
        was answered."""
        ...


# (caller) -> whether what is known of the caller still counts. Asked now and then while a call runs.
IsCurrent = Callable[[Caller], bool]

Release = Callable[[], None]
# Asked once for every JSON-RPC request, before it is read; the release is called once, when it is answered.
# Raises core.errors.LimitReached. It does not await: it is on the path of every call.
Admit = Callable[[Caller], Release]


class Observation(Protocol):
    """One HTTP request as it ended: for metrics, log and traces. Holds no argument and no result.

    `method` is empty where no message was read and ``batch`` for an array; `code` is the JSON-RPC error or 0;
    `status` is 0 if the client left before its answer.
    """

    @property
    def request_id(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def code(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def caller(self) -> Caller | None: ...
    @property
    def client_name(self) -> str: ...


Observe = Callable[[Observation], None]
