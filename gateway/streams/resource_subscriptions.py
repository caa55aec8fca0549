"""Subscriptions of handshake clients to resources ([2025-11-25] Resources, Subscriptions), in the database: without
sessions they belong to a credential and its client, have an end, and hold on any stream of theirs at any gateway."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from core.caller import Caller
from core.db import Database, UnitOfWork

SUBSCRIPTION_CHANNEL = "mcpist_subscription"
LIFETIME = timedelta(days=1)
"""From the last time on that the client has subscribed or opened a stream."""
MAX_SUBSCRIPTIONS = 100
"""Of one client. For a newer one the oldest goes."""
MAX_CLIENT_LENGTH = 200


class SubscribedClient(msgspec.Struct, frozen=True, array_like=True):
    """Whose a subscription is."""

    tenant_id: UUID
    credential_id: str
    client: str

    @classmethod
    def of_caller(cls, caller: Caller) -> "SubscribedClient":
        """Return the client that speaks for a caller."""
        credential = caller.credential
        return cls(caller.tenant_id, credential.id, credential.client[:MAX_CLIENT_LENGTH])


def parse_client(text: str) -> SubscribedClient | None:
    """Parse an announcement; None where it is none of ours."""
    try:
        return msgspec.json.decode(text, type=SubscribedClient)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


class ResourceSubscriptionStore:
    """The subscriptions of all clients. `clock` gives the time, and `get_name` one name for all URIs of a resource:
    another spelling takes the place of the one before."""

    def __init__(self, database: Database, clock: Callable[[], datetime], get_name: Callable[[str], str] = str) -> None:
        self._database = database
        self._clock = clock
        self._get_name = get_name

    async def add(self, caller: Caller, uri: str) -> None:
        """Add a subscription, or have it end later, and announce it.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        client, now = SubscribedClient.of_caller(caller), self._clock()
        async with self._database.personal(caller.tenant_id, caller.user_id) as work:
            spellings = await self._find_spellings(work, client, uri, now)
            if spellings := [one for one in spellings if one != uri]:
                await work.execute(_DELETE, client.credential_id, client.client, spellings)
            await work.execute(_INSERT, client.credential_id, client.client, uri, now, now + LIFETIME)
            await work.execute(_MAKE_ROOM, client.credential_id, client.client, MAX_SUBSCRIPTIONS)
            await work.execute(_ANNOUNCE, msgspec.json.encode(client).decode())

    async def remove(self, caller: Caller, uri: str) -> None:
        """Remove a subscription, if there is one, and announce it.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        client = SubscribedClient.of_caller(caller)
        async with self._database.personal(caller.tenant_id, caller.user_id) as work:
            spellings = await self._find_spellings(work, client, uri, self._clock())
            if await work.execute(_DELETE, client.credential_id, client.client, spellings):
                await work.execute(_ANNOUNCE, msgspec.json.encode(client).decode())

    async def load(self, caller: Caller) -> frozenset[str]:
        """Load what the caller's client has subscribed to, and have it end later.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        client, now = SubscribedClient.of_caller(caller), self._clock()
        async with self._database.personal(caller.tenant_id, caller.user_id) as work:
            rows = await work.fetch(_LOAD, client.credential_id, client.client, now)
            if any(row["expires_at"] < now + LIFETIME / 2 for row in rows):
                await work.execute(_RENEW, client.credential_id, client.client, now, now + LIFETIME)
        return frozenset(row["uri"] for row in rows)

    async def _find_spellings(
        self, work: UnitOfWork, client: SubscribedClient, uri: str, now: datetime
    ) -> Sequence[str]:
        """Find what the client has subscribed to that is the same resource."""
        rows = await work.fetch(_LOAD, client.credential_id, client.client, now)
        name = self._get_name(uri)
        return [row["uri"] for row in rows if row["uri"] == uri or self._get_name(row["uri"]) == name]

    async def sweep(self) -> int:
        """Delete what has ended, of all clients; return how many."""
        return await self._database.call("SELECT core.sweep_resource_subscriptions($1)", self._clock())


_INSERT = """INSERT INTO core.resource_subscriptions
        (tenant_id, user_id, credential_id, client, uri, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (tenant_id, user_id, credential_id, client, md5(uri))
    DO UPDATE SET created_at = excluded.created_at, expires_at = excluded.expires_at"""
_MAKE_ROOM = """DELETE FROM core.resource_subscriptions WHERE tenant_id = $1 AND user_id = $2 AND credential_id = $3
    AND client = $4 AND uri IN (
        SELECT s.uri FROM core.resource_subscriptions s WHERE s.tenant_id = $1 AND s.user_id = $2
            AND s.credential_id = $3 AND s.client = $4 ORDER BY s.created_at DESC, s.uri OFFSET $5)"""
_DELETE = """DELETE FROM core.resource_subscriptions WHERE tenant_id = $1 AND user_id = $2 AND credential_id = $3
    AND client = $4 AND uri = ANY($5::text[])"""
_LOAD = """SELECT uri, expires_at FROM core.resource_subscriptions WHERE tenant_id = $1 AND user_id = $2
    AND credential_id = $3 AND client = $4 AND expires_at > $5"""
_RENEW = """UPDATE core.resource_subscriptions SET expires_at = $6 WHERE tenant_id = $1 AND user_id = $2
    AND credential_id = $3 AND client = $4 AND expires_at > $5"""
_ANNOUNCE = "SELECT $1::uuid, $2::uuid, pg_notify('mcpist_subscription', $3)"
