"""Access tokens of connected accounts: valid for as long as the caller needs, refreshed where they are not."""

import asyncio
import logging
from uuid import UUID

from broker.connections.account_snapshot import AccessToken, AccountRef, TokenUnavailable
from broker.providers.schema import Provider
from broker.refresh.decision import TokenRequirement
from broker.refresh.refresher import RefreshDependencies, Refresher
from core.concurrency.single_flight import SingleFlight
from core.db import UnitOfWork

log = logging.getLogger(__name__)

DEFAULT_MIN_TTL = 60.0
DEFAULT_TIMEOUT = 10.0


class AccountTokenService:
    """Token service for the accounts of all tenants. Concurrent requests for one account share one refresh."""

    def __init__(self, tools: RefreshDependencies) -> None:
        self._tools = tools
        self._refresher = Refresher(tools)
        self._looks = SingleFlight[tuple[AccountRef, TokenRequirement], AccessToken | TokenUnavailable | None]()
        self._flights = SingleFlight[AccountRef, AccessToken | TokenUnavailable]()

    @property
    def outbound_allowed(self) -> bool:
        """Check whether this is the original deployment; a copy that was not adopted gets no token."""
        return self._tools.vault.outbound_allowed

    async def replay_spool(self) -> None:
        """Store the outcomes that earlier processes were granted and could not store.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        if count := await self._tools.outcome_writer.replay():
            log.warning(
                "stored refresh outcomes that an earlier process had left in the spool",
                extra={"event": "spool_replayed", "outcomes": count},
            )

    async def get_access_token(
        self,
        tenant_id: UUID,
        account_id: UUID,
        *,
        need_seconds: float = DEFAULT_MIN_TTL,
        rejected_version: int | None = None,
        within: float = DEFAULT_TIMEOUT,
    ) -> AccessToken | TokenUnavailable:
        """An access token for `need_seconds` more, other than the one of `rejected_version`, after at most about
        `within` seconds. Where such a one cannot be had, what still lives, for however long.

        Raises:
            core.errors.Unavailable: the database or the keys' keeper is away.
        """
        ref, requirement = AccountRef(tenant_id, account_id), TokenRequirement(need_seconds, rejected_version)
        answer = await self._looks.join((ref, requirement), lambda: self._refresher.find_valid_token(ref, requirement))
        if answer is not None:
            return answer
        try:
            async with asyncio.timeout(within):
                return await self._join_refresh(ref, requirement)
        except TimeoutError:
            return await self._refresher.get_unexpired_token(ref, requirement)

    async def find_provider(self, work: UnitOfWork, provider: str) -> Provider | None:
        """Return the provider of that id; None where the tenant has none."""
        return await self._tools.providers.find(work, provider)

    def read_boottime(self) -> float:
        """Return the clock that :meth:`refresh` compares with, in seconds; it advances while the machine sleeps."""
        return self._tools.boottime()

    async def refresh(
        self, tenant_id: UUID, account_id: UUID, *, listed: float | None = None
    ) -> AccessToken | TokenUnavailable:
        """Refresh an account whose token is valid: ahead of its expiry, or to check that it works.

        `listed` is when it was found to be due (by :meth:`now`): one that was refreshed since then is left as it is.

        Raises:
            core.errors.Unavailable: as :meth:`fresh`.
        """
        ref = AccountRef(tenant_id, account_id)
        return await self._flights.join(ref, lambda: self._refresher.refresh_ahead(ref, listed))

    async def drain(self) -> bool:
        """Start no refresh any longer and wait for running ones; False if one exceeds its time.

        Its answer, if it comes, is in the spool.
        """
        self._refresher.stopping = True
        return await self._flights.finish(self._tools.timing.drain_timeout)

    async def _join_refresh(self, ref: AccountRef, requirement: TokenRequirement) -> AccessToken | TokenUnavailable:
        """Wait for the refresh in progress; refresh again if it yields the version that this caller's vendor has
        rejected.
        """
        answer = await self._flights.join(ref, lambda: self._refresher.run(ref, requirement))
        if isinstance(answer, AccessToken) and answer.version == requirement.rejected_version:
            answer = await self._flights.join(ref, lambda: self._refresher.run(ref, requirement))
        return answer
