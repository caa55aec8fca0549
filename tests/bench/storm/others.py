"""How others keep two processes from refreshing one connection at once, each as small as it can be: tokens lie in a
plain table, and only what is measured differs.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol
from uuid import UUID, uuid4

import asyncpg

from broker.oauth_client.types import OAuthClientConfig, TokenEndpointClient, TokenResponse
from broker.providers.schema import Provider
from core.secret import Secret

LOCK_SECONDS = 0.5
"""Of the lock with a time to live: shorter than the vendor takes, as it happens."""

TABLE = """
CREATE SCHEMA storm;
CREATE TABLE storm.connections (
    id uuid PRIMARY KEY,
    refresh text NOT NULL,
    ends float8 NOT NULL,
    locked_by uuid,
    locked_until float8 NOT NULL DEFAULT 0
);
GRANT USAGE ON SCHEMA storm TO mcpist_broker;
GRANT SELECT, UPDATE ON storm.connections TO mcpist_broker;
"""


class Refreshing(Protocol):
    """One way to keep a connection fresh."""

    async def fresh(self, connection: UUID) -> None:
        """See to it that the connection has a token that lives."""
        ...


class Plain:
    """No serialisation at all."""

    def __init__(self, pool: Any, provider: Provider, client: OAuthClientConfig, endpoint: TokenEndpointClient) -> None:
        self.pool = pool
        self._provider = provider
        self._client = client
        self._endpoint = endpoint

    async def fresh(self, connection: UUID) -> None:
        row = await self.pool.fetchrow(_READ, connection)
        if row["ends"] < time.time():
            await self.renew(self.pool, connection, row["refresh"])

    async def renew(self, database: Any, connection: UUID, refresh: str) -> None:
        """Ask the vendor, and write down what it gives."""
        answer = await self._endpoint.refresh(self._provider, self._client, Secret(refresh))
        if isinstance(answer, TokenResponse):
            tokens = answer.tokens
            new = tokens.refresh_token.reveal() if tokens.refresh_token else refresh
            await database.execute(_WRITE, connection, new, time.time() + (tokens.expires_in or 0))


class RowLock(Plain):
    """``SELECT … FOR UPDATE``, held open while the vendor is asked."""

    async def fresh(self, connection: UUID) -> None:
        async with self.pool.acquire() as database, database.transaction():
            row = await database.fetchrow(_READ + " FOR UPDATE", connection)
            if row["ends"] < time.time():
                await self.renew(database, connection, row["refresh"])


class TtlLock(Plain):
    """A lock that runs out by itself, as ``SET NX PX`` in Redis does; released by its owner only."""

    async def fresh(self, connection: UUID) -> None:
        row = await self.pool.fetchrow(_READ, connection)
        if row["ends"] >= time.time():
            return
        owner = uuid4()
        if await self.pool.execute(_LOCK, connection, owner, time.time(), time.time() + LOCK_SECONDS) != "UPDATE 1":
            await asyncio.sleep(0.05)
            return
        row = await self.pool.fetchrow(_READ, connection)  # another may have refreshed before we had the lock
        if row["ends"] < time.time():
            await self.renew(self.pool, connection, row["refresh"])
        await self.pool.execute(_UNLOCK, connection, owner)


OTHERS: dict[str, Callable[..., Plain]] = {"none": Plain, "row_lock": RowLock, "ttl_lock": TtlLock}

TROUBLE = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)

_READ = "SELECT refresh, ends FROM storm.connections WHERE id = $1"
_WRITE = "UPDATE storm.connections SET refresh = $2, ends = $3 WHERE id = $1"
_LOCK = "UPDATE storm.connections SET locked_by = $2, locked_until = $4 WHERE id = $1 AND locked_until < $3"
_UNLOCK = "UPDATE storm.connections SET locked_by = NULL, locked_until = 0 WHERE id = $1 AND locked_by = $2"
