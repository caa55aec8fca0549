"""One open stream of a client, and where its news come from."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from core.caller import Caller

KEEP_ALIVE = b": keep-alive\n\n"


class ClientNotification(NamedTuple):
    """A notification to a client."""

    method: str
    params: Mapping[str, Any]


class NewsSource(Protocol):
    """Where news of one kind come from. What is new is kept there until it is taken, within a bound: a client that
    reads slowly is told less, not later."""

    @property
    def is_over(self) -> bool:
        """Check whether there will be no news any more."""
        ...

    def is_ready(self, caller: Caller) -> bool:
        """Check whether what is new for `caller` is known without :meth:`look_up`."""
        ...

    async def look_up(self, caller: Caller) -> None:
        """Look up what is new for `caller`.

        Raises:
            core.errors.Unavailable: it cannot be looked up now; nothing is lost.
        """
        ...

    def take_news(self, caller: Caller) -> Sequence[ClientNotification]:
        """Take what is new, and may be told to `caller` as they are now."""
        ...


class StreamConnection(Protocol):
    """The open answer on which a stream's client is told."""

    def authenticate(self) -> Awaitable[Caller]:
        """Verify the caller anew; raises as :data:`gateway.mcp.interfaces.Authenticate` does."""
        ...

    def get_authorization(self) -> str | None:
        """Return the value of the Authorization header, by which the caller was verified."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes, and return when the client may be sent more."""
        ...

    def write_at_once(self, data: bytes) -> bool:
        """Send bytes, if that takes no wait; return whether they were sent."""
        ...


class OpenStream(msgspec.Struct, eq=False):
    """A stream whose client is told of news from `sources`.

    `mark` is what every notification says of its stream. `end` is when it ends at the latest (the event loop's time).
    """

    caller: Caller
    connection: StreamConnection
    sources: tuple[NewsSource, ...]
    end: float
    mark: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    last_sent: float = 0.0
    is_due: bool = False
    """Something may be new, or a sign of life is due."""
    is_over: bool = False
    is_stalled: bool = False
    """It has ended because its client does not read."""
    holder: "asyncio.Task[Any] | None" = None
    """The request that holds it open, while it waits for the client to leave."""
    teller: "asyncio.Task[None] | None" = None
    """What tells its client of something that has to be waited for."""
    is_busy: bool = False
    """It has a teller, or its caller is verified anew."""
    rests_until: float = 0.0
    """It is not looked for news on it before (the event loop's time)."""

    @property
    def has_no_more_news(self) -> bool:
        """Check whether nothing will ever be told on it."""
        return bool(self.sources) and all(source.is_over for source in self.sources)

    def finish(self) -> None:
        """End it: what was sent stays, and its request goes on to its end."""
        if self.is_over:
            return
        self.is_over = True
        if self.holder is not None:
            self.holder.cancel()
