"""Accounts that a client was asked to have connected, and that are connected now ([2025-11-25] Elicitation, Completion
Notifications for URL Mode).

Nothing has to be remembered for it, and any gateway serves any client: what an elicitation is called follows from user
and module, and what is connected now is compared with what was before.
"""

from collections.abc import Awaitable, Callable, Sequence

from core.caller import Caller
from core.secret import Secret
from gateway.mcp.elicitation import Elicitor
from gateway.streams.open_stream import ClientNotification

LoadConnectedModules = Callable[[Caller, Secret], Awaitable[frozenset[str]]]
"""The modules whose account works for a caller now; their own credential comes along for the broker."""


class ConnectionNews:
    """News of connected accounts: implements :class:`gateway.streams.open_stream.NewsSource`."""

    is_over = False

    def __init__(self, elicitor: Elicitor, load: LoadConnectedModules, subject: Secret) -> None:
        self._elicitor = elicitor
        self._load = load
        self._subject = subject
        self._seen: Caller | None = None
        self._connected: frozenset[str] = frozenset()
        self._added: frozenset[str] = frozenset()

    def is_ready(self, caller: Caller) -> bool:
        """See :class:`gateway.streams.open_stream.NewsSource`."""
        return caller is self._seen

    async def look_up(self, caller: Caller) -> None:
        """Look up the accounts that are connected now; the first time none of them is news."""
        connected = await self._load(caller, self._subject)
        if self._seen is not None:
            self._added |= connected - self._connected
        self._seen, self._connected = caller, connected

    def take_news(self, caller: Caller) -> Sequence[ClientNotification]:
        """Take the accounts that were connected since this was asked last."""
        if not self._added:
            return ()
        added, self._added = self._added, frozenset()
        return [self._build(caller, module) for module in sorted(added)]

    def _build(self, caller: Caller, module: str) -> ClientNotification:
        elicitation_id = self._elicitor.compute_elicitation_id(caller, module)
        return ClientNotification("notifications/elicitation/complete", {"elicitationId": elicitation_id})
