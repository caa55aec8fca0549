"""The addresses of vendors' hosts, each asked for once for all who wait, and known for a little while."""

import asyncio

from core.http.outbound_addresses import CheckedAddress, GuardedResolver
from gateway.vendor_session.vendor_connection import ConnectionRoute

CACHE_SECONDS = 10.0
MAX_NAMES = 1024


class DnsCache:
    """Asks a resolver that checks what it finds."""

    def __init__(self, resolver: GuardedResolver) -> None:
        self._resolver = resolver
        self._cached_lookups: dict[tuple[str, int], tuple[float, asyncio.Task[list[CheckedAddress]]]] = {}

    async def resolve(self, route: ConnectionRoute) -> list[CheckedAddress]:
        """Return the checked addresses to connect to.

        Raises:
            core.http.outbound_addresses.AddressNotAllowed, socket.gaierror: see :class:`GuardedResolver`.
        """
        key, now = (route.host, route.port), asyncio.get_running_loop().time()
        expires_at, task = self._cached_lookups.get(key, (0.0, None))
        if task is None or expires_at <= now or (task.done() and task.exception() is not None):
            if len(self._cached_lookups) >= MAX_NAMES:
                self._cached_lookups.clear()
            task = asyncio.create_task(self._resolver.resolve(*key))
            task.add_done_callback(
                lambda lookup: lookup.cancelled() or lookup.exception()
            )  # every waiter may have been cancelled
            self._cached_lookups[key] = (now + CACHE_SECONDS, task)
        return await asyncio.shield(task)

    def close(self) -> None:
        """Cancel pending look-ups."""
        for _, task in self._cached_lookups.values():
            task.cancel()
