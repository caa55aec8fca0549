"""The end of many accounts at once, because whom they belong to goes: as many vendors are told as time allows."""

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from broker.connect.disconnecting import Disconnecting
from broker.connect.ended import Cause, Ended
from broker.connect.ending import accounts_of
from broker.connect.oauth_clients import OAuthClients
from broker.vault.owners import Owner
from core.db import Database
from core.directory.actor import Actor
from core.directory.farewell import Goodbye
from core.errors import MCPistError, NotFound

MOST = 1_000
PARALLEL = 8
WITHIN = 20.0

log = logging.getLogger(__name__)


class VendorFarewell:
    """Implements :class:`core.directory.farewell.Farewell`, and removes OAuth clients with what they have connected."""

    def __init__(
        self, database: Database, disconnecting: Disconnecting, clients: OAuthClients, *, within: float = WITHIN
    ) -> None:
        self._database = database
        self._disconnecting = disconnecting
        self._clients = clients
        self._within = within

    async def __call__(
        self, actor: Actor, tenant_id: UUID, *, user_id: UUID | None = None, role_id: UUID | None = None
    ) -> Sequence[Goodbye]:
        owner = Owner("personal", user_id) if user_id else Owner("shared", role_id) if role_id else None
        async with self._database.tenant(tenant_id) as work:
            found = await accounts_of(work, owner=owner, most=MOST)
        return await self._end(actor, tenant_id, found, "owner_removed")

    async def remove_client(self, actor: Actor, tenant_id: UUID, client_id: UUID) -> Sequence[Goodbye]:
        """Forget an OAuth client, after every account that was connected by it: nobody could refresh those.

        Raises:
            NotFound: the tenant has no such client.
        """
        async with self._database.tenant(tenant_id) as work:
            if await self._clients.find(work, client_id) is None:
                raise NotFound("there is no such OAuth client; `mcpist oauth-client list` shows them")
            found = await accounts_of(work, client_id=client_id, most=MOST)
        said = await self._end(actor, tenant_id, found, "client_removed")
        await self._clients.remove(actor, tenant_id, client_id)
        return said

    async def _end(self, actor: Actor, tenant_id: UUID, found: Sequence[UUID], cause: Cause) -> Sequence[Goodbye]:
        ended: dict[UUID, Ended | None] = {}
        turn = asyncio.Semaphore(PARALLEL)

        async def one(account_id: UUID) -> None:
            async with turn:
                try:
                    ending = self._disconnecting.end(actor, tenant_id, account_id, cause, with_others=found)
                    ended[account_id] = await ending
                except MCPistError as error:
                    log.warning("an account was not ended", extra={"error": type(error).__name__})

        try:
            async with asyncio.timeout(self._within):
                await asyncio.gather(*(one(account_id) for account_id in found))
        except TimeoutError:
            log.warning("not every vendor was told in time", extra={"accounts": len(found) - len(ended)})
        for account_id in found:
            if account_id not in ended:
                ended[account_id] = await self._disconnecting.shred(actor, tenant_id, account_id, cause)
        return [_goodbye(one) for one in ended.values() if one is not None]


def _goodbye(ended: Ended) -> Goodbye:
    return Goodbye(ended.provider, ended.account, ended.lives_on, ended.manage_url)
