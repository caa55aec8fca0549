"""Asks vendors again about credentials that they have refused, for all tenants: what they take goes on, and what they
refuse for long becomes broken; also then it comes back by itself if the vendor takes it after all.

Every broker process may run one: who asks is decided by the row, so each question is asked once.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from broker.connections.credential_origins import get_service_url
from broker.oauth_client.module_account import ModuleAccountClient
from broker.oauth_client.types import ErrorClass, VendorFailure
from broker.rejections.rejected_credentials import RejectedCredential, claim_recheck
from broker.rejections.report import RejectionTiming
from broker.rejections.verdicts import CredentialVerdict, ProbeResult, RecheckOutcome, apply_verdict
from broker.vault.vault import Vault
from core.concurrency.fair_semaphore import FairSemaphore
from core.concurrency.periodic import PeriodicTask
from core.db import Database
from core.log_events import describe_error
from core.module_manifest import ModuleManifest

RECHECK_INTERVAL = 15.0
MAX_PER_ENDPOINT = 50
"""Of one vendor, in one look."""
MAX_PER_SWEEP = 500
PARALLEL_PER_ENDPOINT = 4
PARALLEL_PER_TENANT = 8
PARALLEL_TOTAL = 32

log = logging.getLogger(__name__)


class CredentialProbe(Protocol):
    """Asks a module's vendor, by the harmless request of the module's manifest, whether it takes a credential."""

    async def __call__(self, suspect: RejectedCredential, settings: Mapping[str, Any]) -> ProbeResult:
        """The vendor's verdict; `settings` are the tenant's of the service. It raises nothing, and takes less than
        `RejectionTiming.claim`."""
        ...


@dataclass(frozen=True, slots=True)
class RecheckDependencies:
    """Dependencies of a recheck.

    `database` is in the broker's role; `base_urls` are those that the modules' code names.
    """

    database: Database
    vault: Vault
    probe: CredentialProbe
    base_urls: Mapping[str, str]
    timing: RejectionTiming


class Rechecker:
    """Looks for what is due every :data:`EVERY` seconds, each time a little earlier or later than the others."""

    def __init__(self, parts: RecheckDependencies, *, chance: Callable[[], float] = random.random) -> None:
        self._parts = parts
        self._chance = chance
        self._refusing: set[str] = set()
        self._turns = FairSemaphore(per_key=PARALLEL_PER_ENDPOINT, tenant=PARALLEL_PER_TENANT, all=PARALLEL_TOTAL)

    async def run(self) -> None:
        """Run until cancelled."""
        await PeriodicTask("rechecking rejected credentials", self.sweep, RECHECK_INTERVAL, chance=self._chance).run()

    async def sweep(self) -> int:
        """Ask about all that is due; how many questions were answered. In a copy of another's database that nobody has
        adopted, none.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        if not self._parts.vault.outbound_allowed:
            return 0
        due = await self._parts.database.fetch(_DUE, MAX_PER_ENDPOINT, MAX_PER_SWEEP)
        rechecks = (self._recheck_in_turn(row["tenant_id"], row["credential_id"], row["endpoint"]) for row in due)
        settled = await asyncio.gather(*rechecks)
        self._log_mass_rejections([(row["endpoint"], outcome) for row, outcome in zip(due, settled, strict=True)])
        return sum(outcome is not None for outcome in settled)

    def _log_mass_rejections(self, settled: list[tuple[str, RecheckOutcome | None]]) -> None:
        """Log each vendor that refuses many once, until it takes one again."""
        for endpoint in {
            endpoint for endpoint, outcome in settled if outcome is RecheckOutcome.HELD_BACK
        } - self._refusing:
            self._refusing.add(endpoint)
            log.error(
                "vendor rejects many credentials at once; treated as a vendor outage, no user is asked for a new one",
                extra={"event": "vendor_mass_rejection", "endpoint": endpoint},
            )
        self._refusing -= {endpoint for endpoint, outcome in settled if outcome is RecheckOutcome.ACCEPTED}

    async def _recheck_in_turn(self, tenant_id: UUID, credential_id: UUID, endpoint: str) -> RecheckOutcome | None:
        async with self._turns.slot(tenant_id, endpoint):
            try:
                return await self._recheck(tenant_id, credential_id)
            except Exception as error:  # noqa: BLE001 what is wrong with one credential ends no other's turn
                log.warning(
                    "recheck of a rejected credential failed",
                    extra={
                        "event": "credential_recheck_failed",
                        "credential": str(credential_id),
                        **describe_error(error),
                    },
                )
                return None

    async def _recheck(self, tenant_id: UUID, credential_id: UUID) -> RecheckOutcome | None:
        parts = self._parts
        async with parts.database.tenant(tenant_id) as work:
            claimed = await claim_recheck(work, parts.vault, credential_id, parts.base_urls, parts.timing)
        if claimed is None:
            return None
        suspect, settings = claimed
        answer = await parts.probe(suspect, settings)
        async with parts.database.tenant(tenant_id) as work:
            return await apply_verdict(work, suspect, answer, parts.timing, self._chance)


_DUE = "SELECT tenant_id, credential_id, endpoint FROM vault.due_rechecks($1, $2)"


TIMEOUT_STATUSES = frozenset({408, 425})


class VendorCredentialProbe:
    """Implements :class:`broker.rejections.recheck.CredentialProbe` by the request that the module's manifest names."""

    def __init__(self, manifests: Iterable[ModuleManifest], accounts: ModuleAccountClient) -> None:
        self._manifests = {manifest.name: manifest for manifest in manifests}
        self._accounts = accounts

    async def __call__(self, suspect: RejectedCredential, settings: Mapping[str, Any]) -> ProbeResult:
        manifest = self._manifests.get(suspect.module)
        if manifest is None or not manifest.has_vendor:
            return ProbeResult(CredentialVerdict.UNKNOWN)
        url = get_service_url(manifest, {manifest.name: settings})
        identity = await self._accounts.fetch_account(
            manifest, url, suspect.scheme, suspect.secret, suspect.origins, suspect.attributes
        )
        if not isinstance(identity, VendorFailure):
            return ProbeResult(CredentialVerdict.ACCEPTED)
        return ProbeResult(_get_verdict(manifest, identity), identity.retry_after or 0.0)


def _get_verdict(manifest: ModuleManifest, failure: VendorFailure) -> CredentialVerdict:
    if failure.error_class is ErrorClass.THROTTLED:
        return CredentialVerdict.BUSY
    if manifest.is_rejection(failure.status):
        return CredentialVerdict.REJECTED
    is_rejection = failure.status is not None and 400 <= failure.status < 500 and failure.status not in TIMEOUT_STATUSES
    return CredentialVerdict.ACCEPTED if is_rejection else CredentialVerdict.UNKNOWN
