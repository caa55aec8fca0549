"""Disconnection of many accounts at once when their owner or client is deleted, within a time limit."""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from uuid import UUID

from broker.connections.oauth_client_store import OAuthClientStore
from broker.disconnect.account_deletion import UNCONFIRMED, AbandonedAccount, list_abandoned_accounts, list_account_ids
from broker.disconnect.disconnect_service import DisconnectCause, DisconnectResult, DisconnectService
from broker.vault.credential_store import BROKER_ACTOR, CredentialOwner
from core.concurrency.periodic import PeriodicTask
from core.db import Database
from core.directory.account_revocation import RevocationResult
from core.directory.audit_trail import Actor
from core.errors import MCPistError, NotFound

MAX_ACCOUNTS = 1_000
MAX_PARALLEL = 8
TIMEOUT_SECONDS = 20.0

log = logging.getLogger(__name__)


class BulkAccountRevoker:
    """Implements :class:`core.directory.account_revocation.AccountRevoker`.

    It also deletes OAuth clients with what they have connected."""

    def __init__(
        self,
        database: Database,
        disconnecting: DisconnectService,
        clients: OAuthClientStore,
        *,
        within: float = TIMEOUT_SECONDS,
    ) -> None:
        self._database = database
        self._disconnecting = disconnecting
        self._clients = clients
        self._within = within

    async def __call__(
        self, actor: Actor, tenant_id: UUID, *, user_id: UUID | None = None, role_id: UUID | None = None
    ) -> Sequence[RevocationResult]:
        owner = (
            CredentialOwner("personal", user_id) if user_id else CredentialOwner("shared", role_id) if role_id else None
        )
        async with self._database.tenant(tenant_id) as work:
            account_ids = await list_account_ids(work, owner=owner, most=MAX_ACCOUNTS)
        return await self._end_all(actor, tenant_id, account_ids, "owner_removed")

    async def remove_client(self, actor: Actor, tenant_id: UUID, client_id: UUID) -> Sequence[RevocationResult]:
        """Forget an OAuth client, after every account that was connected by it: nobody could refresh those.

        Raises:
            NotFound: the tenant has no such client.
        """
        async with self._database.tenant(tenant_id) as work:
            if await self._clients.find(work, client_id) is None:
                raise NotFound("there is no such OAuth client; `mcpist oauth-client list` shows them")
            account_ids = await list_account_ids(work, client_id=client_id, most=MAX_ACCOUNTS)
        results = await self._end_all(actor, tenant_id, account_ids, "client_removed")
        await self._clients.remove(actor, tenant_id, client_id)
        return results

    async def _end_all(
        self, actor: Actor, tenant_id: UUID, account_ids: Sequence[UUID], cause: DisconnectCause
    ) -> Sequence[RevocationResult]:
        ended: dict[UUID, DisconnectResult | None] = {}
        turn = asyncio.Semaphore(MAX_PARALLEL)

        async def end_one(account_id: UUID) -> None:
            async with turn:
                try:
                    ending = self._disconnecting.end_account(
                        actor, tenant_id, account_id, cause, with_others=account_ids
                    )
                    ended[account_id] = await ending
                except MCPistError as error:
                    log.warning(
                        "account was not disconnected",
                        extra={
                            "event": "account_disconnect_failed",
                            "account": str(account_id),
                            "error": type(error).__name__,
                        },
                    )

        try:
            async with asyncio.timeout(self._within):
                await asyncio.gather(*(end_one(account_id) for account_id in account_ids))
        except TimeoutError:
            log.warning(
                "accounts were deleted without revoking their grants: time limit reached",
                extra={"event": "bulk_revocation_timeout", "accounts": len(account_ids) - len(ended)},
            )
        for account_id in account_ids:
            if account_id not in ended:
                ended[account_id] = await self._disconnecting.delete_without_revoking(
                    actor, tenant_id, account_id, cause
                )
        return [_build_revocation_result(outcome) for outcome in ended.values() if outcome is not None]


def _build_revocation_result(ended: DisconnectResult) -> RevocationResult:
    return RevocationResult(ended.provider, ended.account, ended.still_active, ended.manage_url)


REAP_INTERVAL = 60.0
MAX_PER_SWEEP = 50


class GrantReaper:
    """Looks for them about once a minute, in every broker process: whoever marks one first ends it."""

    def __init__(
        self, database: Database, disconnecting: DisconnectService, *, chance: Callable[[], float] = random.random
    ) -> None:
        self._database = database
        self._disconnecting = disconnecting
        self._chance = chance

    async def run(self) -> None:
        """Run until cancelled."""
        await PeriodicTask("ending abandoned accounts", self.sweep, REAP_INTERVAL, chance=self._chance).run()

    async def sweep(self) -> int:
        """Disconnect abandoned accounts now, at most :data:`MOST_AT_ONCE`; return their number.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        return sum(
            [
                await self._end_abandoned(account)
                for account in await list_abandoned_accounts(self._database, MAX_PER_SWEEP)
            ]
        )

    async def _end_abandoned(self, account: AbandonedAccount) -> bool:
        cause = "unanswered" if account.reason == UNCONFIRMED else "interrupted"
        end = self._disconnecting.end_account(
            BROKER_ACTOR, account.tenant_id, account.account_id, cause, only=account.reason
        )
        return await end is not None
