"""Refresh loop of one account: load, decide, claim, present, settle, until the requirement is met or cannot be."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from broker.connections.account_snapshot import (
    ACCESS_FIELD,
    AccessToken,
    AccountRef,
    AccountSnapshot,
    TokenUnavailable,
    UnavailableReason,
    build_account_context,
    load_snapshot,
)
from broker.oauth_client.types import (
    ErrorClass,
    RedactedExchange,
    TokenEndpointClient,
    TokenResponse,
    TokenResult,
    VendorFailure,
)
from broker.providers.schema import Provider
from broker.refresh import reauth
from broker.refresh.claim import ProviderLookup, claim, claim_probe, find_provider, prepare_refresh
from broker.refresh.decision import (
    ReauthRequired,
    RefreshAction,
    RefreshStep,
    RefreshTiming,
    TokenRequirement,
    choose_next_step,
)
from broker.refresh.outcome import Attempt, Boottime, PreparedRefresh, StoreResult, boottime
from broker.refresh.outcome_writer import OutcomeWriter, revoke_orphaned_grant
from broker.vault.envelope import DecryptionError
from broker.vault.vault import Vault
from core.concurrency.fair_semaphore import FairSemaphore
from core.db import Database, UnitOfWork
from core.failpoints import failpoint
from core.log_events import describe_error
from core.secret import Secret

log = logging.getLogger(__name__)

INTERRUPTED = "cut_off"


async def present(
    endpoint: TokenEndpointClient, attempt: Attempt, timing: RefreshTiming, boottime: Boottime
) -> TokenResult:
    """Send the request and return the vendor's response.

    A failure in our own code counts as uncertain: the token may have been sent.
    """
    prepared = attempt.prepared
    await failpoint("before_send")

    def may_send() -> bool:
        """Return False if the process was suspended so long that another may take the lease before the call ends."""
        return boottime() + timing.call_timeout < attempt.claim_boottime + timing.lease

    if not may_send():
        return _build_failure(attempt, ErrorClass.NOT_SENT, "withdrawn")
    try:
        answer = await endpoint.refresh(prepared.provider, prepared.client, prepared.refresh_token, may_send=may_send)
    except Exception as error:  # noqa: BLE001 whatever it is, the intent must get its outcome
        log.error(
            "refresh request failed unexpectedly",
            extra={"event": "refresh_request_failed", "account": str(attempt.ref.id), **describe_error(error)},
        )
        return _build_failure(attempt, ErrorClass.UNCERTAIN, INTERRUPTED)
    await failpoint("answered")
    return answer


def _build_failure(attempt: Attempt, cls: ErrorClass, reason: str) -> VendorFailure:
    exchange = RedactedExchange("", "", "refresh_token", 0.0, error_class=cls, reason=reason)
    return VendorFailure(cls, reason, exchange)


UNREADABLE = "unreadable"
STOPPING = "stopping"
SHORT_LIVED = "short_lived"
GRANTED = "granted"
REFRESH_OUTCOMES = (GRANTED, *ErrorClass)
"""What a refresh is counted as."""
MAX_PER_ENDPOINT = 16
"""Calls from this process to one token endpoint, for one tenant."""
MAX_PER_TENANT = 32
MAX_TOTAL = 192


def ignore_outcome(_outcome: str) -> None:
    """Count no refresh."""


@dataclass(frozen=True, slots=True)
class RefreshDependencies:
    """Dependencies of a refresh. `count_refresh` is told one of ``REFRESH_OUTCOMES`` for each."""

    database: Database
    vault: Vault
    providers: ProviderLookup
    endpoint: TokenEndpointClient
    outcome_writer: OutcomeWriter
    timing: RefreshTiming
    boottime: Boottime = boottime
    count_refresh: Callable[[str], None] = ignore_outcome


class Refresher:
    """Runner of refreshes. `stopping` prevents new claims; claimed refreshes are completed."""

    def __init__(self, tools: RefreshDependencies) -> None:
        self._tools = tools
        self._turns = FairSemaphore(per_key=MAX_PER_ENDPOINT, tenant=MAX_PER_TENANT, all=MAX_TOTAL)
        self.stopping = False

    async def find_valid_token(
        self, ref: AccountRef, requirement: TokenRequirement
    ) -> AccessToken | TokenUnavailable | None:
        """Return the result that needs no refresh; None if a refresh is necessary."""
        async with self._tools.database.tenant(ref.tenant_id) as work:
            snapshot = await load_snapshot(work, ref.id)
            if snapshot is None:
                return TokenUnavailable(UnavailableReason.MISSING)
            if snapshot.status == "active" and requirement.is_met_by(snapshot):
                with contextlib.suppress(DecryptionError):  # the refresh finds it too, and marks the account
                    return await self._hand_out(work, snapshot, requirement)
        return None

    async def run(self, ref: AccountRef, requirement: TokenRequirement) -> AccessToken | TokenUnavailable:
        """Refresh as far as necessary and possible.

        Raises:
            core.errors.Unavailable: the database or the keys' keeper is away, before anything was claimed.
        """
        until = self._tools.boottime() + self._tools.timing.longest_wait
        granted = False
        while True:
            step = await self._decide(ref, requirement)
            if isinstance(step, AccessToken | TokenUnavailable):
                return step
            if self.stopping:
                return TokenUnavailable(UnavailableReason.REFRESHING, STOPPING, self._tools.timing.min_backoff)
            if self._tools.boottime() > until:
                return TokenUnavailable(UnavailableReason.REFRESHING, "", self._tools.timing.poll_interval)
            if granted and step is not None:  # what has just come is dead: another would be so, too
                return TokenUnavailable(UnavailableReason.REFUSED, SHORT_LIVED, self._tools.timing.rejection_cooldown)
            answer = None if step is None else await self._attempt(step)
            if answer is None:
                await asyncio.sleep(self._tools.timing.poll_interval)
            elif isinstance(answer, TokenResponse):
                granted, requirement = True, replace(requirement, min_ttl=0.0)

    async def refresh_ahead(self, ref: AccountRef, listed: float | None = None) -> AccessToken | TokenUnavailable:
        """Refresh an account whose token is good, ahead of its end; unless it was refreshed since `listed`, which is a
        moment of `boottime`."""
        async with self._tools.database.tenant(ref.tenant_id) as work:
            snapshot = await load_snapshot(work, ref.id)
        if snapshot is None:
            return TokenUnavailable(UnavailableReason.MISSING)
        age = 0.0 if listed is None else self._tools.boottime() - listed
        if snapshot.refreshed_ago is not None and snapshot.refreshed_ago < age:
            return await self.run(ref, TokenRequirement(0.0, outdated_version=snapshot.version - 1))
        return await self.run(ref, TokenRequirement(0.0, outdated_version=snapshot.version))

    async def get_unexpired_token(
        self, ref: AccountRef, requirement: TokenRequirement
    ) -> AccessToken | TokenUnavailable:
        """Return the present token, if it is still valid, to a caller that cannot wait for the running refresh."""
        async with self._tools.database.tenant(ref.tenant_id) as work:
            snapshot = await load_snapshot(work, ref.id)
            if (
                snapshot is not None
                and snapshot.status == "active"
                and snapshot.is_access_valid(requirement.rejected_version)
            ):
                return await self._hand_out(work, snapshot, requirement)
        return TokenUnavailable(
            UnavailableReason.REFRESHING,
            "",
            1.0 if snapshot is None or snapshot.lease_left is None else snapshot.lease_left,
        )

    async def _decide(
        self, ref: AccountRef, requirement: TokenRequirement
    ) -> AccessToken | TokenUnavailable | PreparedRefresh | None:
        """Load the account and decide; a PreparedRefresh is to be claimed, None means to look again later."""
        async with self._tools.database.tenant(ref.tenant_id) as work:
            snapshot = await load_snapshot(work, ref.id)
            if snapshot is None:
                return TokenUnavailable(UnavailableReason.MISSING)
            provider = await find_provider(self._tools.providers, work, snapshot)
            assert provider.oauth is not None
            step = choose_next_step(snapshot, requirement, provider.oauth.refresh, self._tools.timing)
            if step is not RefreshAction.PROBE:
                return await self._take_step(work, ref, snapshot, provider, step, requirement)
        if not await claim_probe(self._tools.database, ref.tenant_id, snapshot, self._tools.timing):
            return None
        async with self._tools.database.tenant(ref.tenant_id) as work:
            return await self._take_step(work, ref, snapshot, provider, RefreshAction.CLAIM, requirement)

    async def _take_step(
        self,
        work: UnitOfWork,
        ref: AccountRef,
        snapshot: AccountSnapshot,
        provider: Provider,
        step: RefreshStep,
        requirement: TokenRequirement,
    ) -> AccessToken | TokenUnavailable | PreparedRefresh | None:
        if isinstance(step, TokenUnavailable):
            return step
        self._tools.vault.require_adopted()  # a copy notes nothing, either
        try:
            if isinstance(step, ReauthRequired):
                await reauth.mark_needs_reauth(work, snapshot.id, snapshot.version, step.reason)
                return None
            if step is RefreshAction.USE_OLD_TOKEN:
                await work.execute(_POSTPONE_REFRESH, snapshot.id, snapshot.version)
            if step is RefreshAction.TAKE_OVER_LEASE:
                await work.execute(
                    _TAKE_OVER_LEASE, snapshot.id, snapshot.version, self._tools.timing.late_answer_grace
                )
            if step in (RefreshAction.HAND_OUT, RefreshAction.USE_OLD_TOKEN):
                return await self._hand_out(work, snapshot, requirement)
            return (
                None
                if step in (RefreshAction.WAIT, RefreshAction.TAKE_OVER_LEASE)
                else await prepare_refresh(work, self._tools.vault, provider, ref, snapshot)
            )
        except DecryptionError:
            await reauth.mark_needs_reauth(work, snapshot.id, snapshot.version, UNREADABLE)
            return None

    async def _attempt(self, prepared: PreparedRefresh) -> TokenResult | None:
        """Claim, present and settle; return the vendor's response, or None if another process was first."""
        tools = self._tools
        async with self._turns.slot(prepared.ref.tenant_id, prepared.endpoint):
            if self.stopping:
                return None
            attempt = await claim(tools.database, prepared, tools.timing, tools.boottime)
            if attempt is None:
                return None
            answer = await present(tools.endpoint, attempt, tools.timing, tools.boottime)
        tools.count_refresh(GRANTED if isinstance(answer, TokenResponse) else answer.error_class.value)
        stored = await tools.outcome_writer.settle(attempt, answer)
        if stored is StoreResult.GONE and isinstance(answer, TokenResponse):
            await revoke_orphaned_grant(tools.database, tools.endpoint, attempt, answer.tokens)
        return answer

    async def _hand_out(
        self, work: UnitOfWork, snapshot: AccountSnapshot, requirement: TokenRequirement
    ) -> AccessToken:
        if (
            snapshot.stale_use and requirement.outdated_version is None
        ):  # a refresh ahead of time is no use of the account
            await work.execute(_RECORD_USE, snapshot.id)
        assert snapshot.access is not None
        plain = await self._tools.vault.open(
            work, build_account_context(snapshot.id, ACCESS_FIELD, snapshot.version), snapshot.access
        )
        return AccessToken(Secret(plain.decode()), snapshot.version, snapshot.expires_in, snapshot.refresh is not None)


# Who comes late finds the row without an owner, and nobody's attempt after its own.
_TAKE_OVER_LEASE = """UPDATE vault.accounts a SET lease_owner = NULL, lease_until = NULL, uncertain = true,
    next_try_at = c.now + make_interval(secs => $4) FROM (SELECT vault.clock() AS now) c
    WHERE a.tenant_id = $1 AND a.id = $2 AND a.version = $3 AND a.lease_until <= c.now"""
_RECORD_USE = "UPDATE vault.accounts SET last_used_at = vault.clock() WHERE tenant_id = $1 AND id = $2"
# Until the old access token has ended there is nothing to do for the sweeper.
_POSTPONE_REFRESH = """UPDATE vault.accounts SET refresh_at = expires_at
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND refresh_at < expires_at"""
