"""One open stream of a client, and where its news come from."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from core.caller import Caller

KEEP_ALIVE = b": keep-alive\n\n"


class Notification(NamedTuple):
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

    async def take_news(self, caller: Caller) -> Sequence[Notification]:
        """Take what is new, and may be told to `caller` as they are now.

        Raises:
            core.errors.Unavailable: it cannot be looked up now, and is not taken.
        """
        ...


class OpenStream(msgspec.Struct, eq=False):
    """A stream whose client is told of news from `sources`.

    `authenticate` verifies the caller anew; `write` sends bytes, and returns when the client may be sent more. `mark`
    is what every notification says of its stream. `end` is when it ends at the latest (the event loop's time).
    """

    caller: Caller
    authenticate: Callable[[], Awaitable[Caller]]
    write: Callable[[bytes], Awaitable[None]]
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
