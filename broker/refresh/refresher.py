"""One account until it has what was wished for, or until it is clear why not: look, decide, claim, present, settle."""

import asyncio
import contextlib
from dataclasses import dataclass, replace

from broker.accounts.rows import ACCESS, Seen, account_place, look
from broker.accounts.values import Fresh, Ref, Stuck, StuckState
from broker.providers.model import Provider
from broker.refresh import marks
from broker.refresh.attempt import Boottime, Prepared, boottime
from broker.refresh.claim import Providers, claim, may_probe, prepare, provider_of
from broker.refresh.give_back import give_back
from broker.refresh.present import present
from broker.refresh.recovery import Do, Mark, Step, Wish, next_step
from broker.refresh.settle import Settler
from broker.refresh.store import Stored
from broker.refresh.timing import Timing
from broker.refresh.turns import Turns
from broker.vault.envelope import Unreadable
from broker.vault.vault import Vault
from broker.vendor_oauth.exchange import Answer, Granted, TokenEndpoint
from core.db import Database, UnitOfWork
from core.secret import Secret

UNREADABLE = "unreadable"
STOPPING = "stopping"
SHORT_LIVED = "short_lived"
MOST_AT_ONCE = 16
"""Calls from this process to one token endpoint, for one tenant."""
MOST_OF_A_TENANT = 32
MOST_IN_ALL = 192


@dataclass(frozen=True, slots=True)
class Tools:
    """What a refresh works with."""

    database: Database
    vault: Vault
    providers: Providers
    endpoint: TokenEndpoint
    settler: Settler
    timing: Timing
    boottime: Boottime = boottime


class Refresher:
    """Runs refreshes. `stopping` keeps it from claiming any more; what it has claimed, it ends."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._turns = Turns(each=MOST_AT_ONCE, tenant=MOST_OF_A_TENANT, all=MOST_IN_ALL)
        self.stopping = False

    async def look(self, ref: Ref, wish: Wish) -> Fresh | Stuck | None:
        """The answer that needs no refresh; None if one is to be made."""
        async with self._tools.database.tenant(ref.tenant_id) as work:
            seen = await look(work, ref.id)
            if seen is None:
                return Stuck(StuckState.MISSING)
            if seen.status == "active" and wish.granted_by(seen):
                with contextlib.suppress(Unreadable):  # the refresh finds it too, and marks the account
                    return await self._handed_out(work, seen, wish)
        return None

    async def run(self, ref: Ref, wish: Wish) -> Fresh | Stuck:
        """Refresh as far as that is needed and possible.

        Raises:
            core.errors.Unavailable: the database or the keys' keeper is away, before anything was claimed.
        """
        until = self._tools.boottime() + self._tools.timing.longest_wait
        granted = False
        while True:
            step = await self._next(ref, wish)
            if isinstance(step, Fresh | Stuck):
                return step
            if self.stopping:
                return Stuck(StuckState.REFRESHING, STOPPING, self._tools.timing.least_backoff)
            if self._tools.boottime() > until:
                return Stuck(StuckState.REFRESHING, "", self._tools.timing.poll)
            if granted and step is not None:  # what has just come is dead: another would be so, too
                return Stuck(StuckState.REFUSED, SHORT_LIVED, self._tools.timing.calm)
            answer = None if step is None else await self._attempt(step)
            if answer is None:
                await asyncio.sleep(self._tools.timing.poll)
            elif isinstance(answer, Granted):
                granted, wish = True, replace(wish, need=0.0)

    async def due(self, ref: Ref, listed: float | None = None) -> Fresh | Stuck:
        """Refresh an account whose token is good, ahead of its end; unless it was refreshed since `listed`, which is a
        moment of `boottime`."""
        async with self._tools.database.tenant(ref.tenant_id) as work:
            seen = await look(work, ref.id)
        if seen is None:
            return Stuck(StuckState.MISSING)
        age = 0.0 if listed is None else self._tools.boottime() - listed
        if seen.refreshed_ago is not None and seen.refreshed_ago < age:
            return await self.run(ref, Wish(0.0, beyond=seen.version - 1))
        return await self.run(ref, Wish(0.0, beyond=seen.version))

    async def last_resort(self, ref: Ref, wish: Wish) -> Fresh | Stuck:
        """For a caller who cannot wait for the refresh under way: what the account has, if it still lives."""
        async with self._tools.database.tenant(ref.tenant_id) as work:
            seen = await look(work, ref.id)
            if seen is not None and seen.status == "active" and seen.alive(wish.rejected):
                return await self._handed_out(work, seen, wish)
        return Stuck(StuckState.REFRESHING, "", 1.0 if seen is None or seen.lease_left is None else seen.lease_left)

    async def _next(self, ref: Ref, wish: Wish) -> Fresh | Stuck | Prepared | None:
        """Look and decide; a Prepared is to be claimed, None means to look again later."""
        async with self._tools.database.tenant(ref.tenant_id) as work:
            seen = await look(work, ref.id)
            if seen is None:
                return Stuck(StuckState.MISSING)
            provider = await provider_of(self._tools.providers, work, seen)
            assert provider.oauth is not None
            step = next_step(seen, wish, provider.oauth.refresh, self._tools.timing)
            if step is not Do.PROBE:
                return await self._taken(work, ref, seen, provider, step, wish)
        if not await may_probe(self._tools.database, ref.tenant_id, seen, self._tools.timing):
            return None
        async with self._tools.database.tenant(ref.tenant_id) as work:
            return await self._taken(work, ref, seen, provider, Do.CLAIM, wish)

    async def _taken(
        self, work: UnitOfWork, ref: Ref, seen: Seen, provider: Provider, step: Step, wish: Wish
    ) -> Fresh | Stuck | Prepared | None:
        if isinstance(step, Stuck):
            return step
        try:
            if isinstance(step, Mark):
                await marks.mark(work, seen.id, seen.version, step.reason)
                return None
            if step is Do.PATIENCE:
                await work.execute(_PATIENCE, seen.id, seen.version)
            if step is Do.LAPSE:
                await work.execute(_LAPSE, seen.id, seen.version, self._tools.timing.late)
            if step in (Do.HAND_OUT, Do.PATIENCE):
                return await self._handed_out(work, seen, wish)
            return None if step in (Do.WAIT, Do.LAPSE) else await prepare(work, self._tools.vault, provider, ref, seen)
        except Unreadable:
            await marks.mark(work, seen.id, seen.version, UNREADABLE)
            return None

    async def _attempt(self, prepared: Prepared) -> Answer | None:
        """Claim, present and settle: the vendor's answer; None if another process was first."""
        tools = self._tools
        async with self._turns.turn(prepared.ref.tenant_id, prepared.endpoint):
            if self.stopping:
                return None
            attempt = await claim(tools.database, prepared, tools.timing, tools.boottime)
            if attempt is None:
                return None
            answer = await present(tools.endpoint, attempt, tools.timing, tools.boottime)
        stored = await tools.settler.settle(attempt, answer)
        if stored is Stored.GONE and isinstance(answer, Granted):
            await give_back(tools.database, tools.endpoint, attempt, answer.tokens)
        return answer

    async def _handed_out(self, work: UnitOfWork, seen: Seen, wish: Wish) -> Fresh:
        if seen.stale_use and wish.beyond is None:  # a refresh ahead of time is no use of the account
            await work.execute(_USED, seen.id)
        assert seen.access is not None
        plain = await self._tools.vault.open(work, account_place(seen.id, ACCESS, seen.version), seen.access)
        return Fresh(Secret(plain.decode()), seen.version, seen.expires_in, seen.refresh is not None)


# Who comes late finds the row without an owner, and nobody's attempt after its own.
_LAPSE = """UPDATE vault.accounts a SET lease_owner = NULL, lease_until = NULL, uncertain = true,
    next_try_at = c.now + make_interval(secs => $4) FROM (SELECT vault.clock() AS now) c
    WHERE a.tenant_id = $1 AND a.id = $2 AND a.version = $3 AND a.lease_until <= c.now"""
_USED = "UPDATE vault.accounts SET last_used_at = vault.clock() WHERE tenant_id = $1 AND id = $2"
# Until the old access token has ended there is nothing to do for the sweeper.
_PATIENCE = """UPDATE vault.accounts SET refresh_at = expires_at
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND refresh_at < expires_at"""
