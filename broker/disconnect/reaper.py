"""Background task that revokes and deletes abandoned accounts: unanswered confirmations and interrupted disconnects."""

import random
from collections.abc import Callable

from broker.disconnect.account_deletion import UNCONFIRMED, AbandonedAccount, list_abandoned_accounts
from broker.disconnect.disconnect_service import DisconnectService
from broker.vault.credential_store import BROKER_ACTOR
from core.concurrency.periodic import PeriodicTask
from core.db import Database

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
            [await self._end_abandoned(one) for one in await list_abandoned_accounts(self._database, MAX_PER_SWEEP)]
        )

    async def _end_abandoned(self, one: AbandonedAccount) -> bool:
        cause = "unanswered" if one.reason == UNCONFIRMED else "interrupted"
        end = self._disconnecting.end_account(BROKER_ACTOR, one.tenant_id, one.account_id, cause, only=one.reason)
        return await end is not None
