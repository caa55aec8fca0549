"""The one way to a vendor's access token: good for as long as it is needed, refreshed where it is not."""

import asyncio
import logging
from uuid import UUID

from broker.connections.token_result import AccessToken, AccountRef, TokenUnavailable
from broker.providers.schema import Provider
from broker.refresh.decision import TokenRequirement
from broker.refresh.refresher import RefreshDependencies, Refresher
from core.concurrency.single_flight import SingleFlight
from core.db import UnitOfWork

log = logging.getLogger(__name__)

DEFAULT_MIN_TTL = 60.0
DEFAULT_TIMEOUT = 10.0


class AccountTokenService:
    """The accounts of all tenants. Many callers who ask for one account at once cost one look or one refresh."""

    def __init__(self, tools: RefreshDependencies) -> None:
        self._tools = tools
        self._refresher = Refresher(tools)
        self._looks = SingleFlight[tuple[AccountRef, TokenRequirement], AccessToken | TokenUnavailable | None]()
        self._flights = SingleFlight[AccountRef, AccessToken | TokenUnavailable]()

    @property
    def outbound_allowed(self) -> bool:
        """Whether this is the original of the deployment; in a copy that nobody has adopted, every way here is shut."""
        return self._tools.vault.outbound_allowed

    async def replay_spool(self) -> None:
        """Store what processes before this one had been granted and could not store.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        if count := await self._tools.outcome_writer.replay():
            log.warning("answers of vendors were waiting in the spool", extra={"answers": count})

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
        ref, wish = AccountRef(tenant_id, account_id), TokenRequirement(need_seconds, rejected_version)
        answer = await self._looks.join((ref, wish), lambda: self._refresher.find_valid_token(ref, wish))
        if answer is not None:
            return answer
        try:
            async with asyncio.timeout(within):
                return await self._join_refresh(ref, wish)
        except TimeoutError:
            return await self._refresher.get_unexpired_token(ref, wish)

    async def find_provider(self, work: UnitOfWork, provider: str) -> Provider | None:
        """The provider of that id; None where the tenant has none."""
        return await self._tools.providers.find(work, provider)

    def read_boottime(self) -> float:
        """The moment, in seconds, that :meth:`refresh` compares with; it goes on while the machine sleeps."""
        return self._tools.boottime()

    async def refresh(
        self, tenant_id: UUID, account_id: UUID, *, listed: float | None = None
    ) -> AccessToken | TokenUnavailable:
        """Refresh an account though its token is good: ahead of its end, or because somebody wants to see it work.

        `listed` is when it was found to be due (by :meth:`now`): one that was refreshed since then is left as it is.

        Raises:
            core.errors.Unavailable: as :meth:`fresh`.
        """
        ref = AccountRef(tenant_id, account_id)
        return await self._flights.join(ref, lambda: self._refresher.refresh_ahead(ref, listed))

    async def drain(self) -> bool:
        """Begin no refresh any more, and end those under way; False if one takes longer than it may.

        Its answer, if it comes, is in the spool.
        """
        self._refresher.stopping = True
        return await self._flights.finish(self._tools.timing.drain_timeout)

    async def _join_refresh(self, ref: AccountRef, wish: TokenRequirement) -> AccessToken | TokenUnavailable:
        """What the refresh under way brings, unless that is just what this caller's vendor has rejected."""
        answer = await self._flights.join(ref, lambda: self._refresher.run(ref, wish))
        if isinstance(answer, AccessToken) and answer.version == wish.rejected_version:
            answer = await self._flights.join(ref, lambda: self._refresher.run(ref, wish))
        return answer
