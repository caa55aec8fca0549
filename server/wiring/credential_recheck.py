"""Wiring of the recheck of refused credentials: the only place that knows both them and the modules' vendors."""

from collections.abc import Mapping
from typing import Any

from broker.rejections.recheck import RecheckDependencies, Rechecker
from broker.rejections.rejected_credentials import RejectedCredential
from broker.rejections.rejection_timing import RejectionTiming
from broker.rejections.verdicts import CredentialVerdict, ProbeResult
from broker.vault.vault import Vault
from core.db import Database
from core.errors import MCPistError
from gateway.catalogue import Catalogue
from gateway.service_settings import parse_settings
from gateway.vendor_session.client_factory import VendorClientFactory
from modules.kit import ToolError, VendorProblem
from modules.kit.vendor import VendorProblemKind
from server.vendor_account_lookup import UnleasedCredential, fetch_vendor_account
from server.wiring.broker import list_vendor_urls

MAX_RECHECK_SECONDS = 20.0
VERDICT_BY_PROBLEM: Mapping[VendorProblemKind, CredentialVerdict] = {
    "unauthorized": CredentialVerdict.REJECTED,
    "rate_limited": CredentialVerdict.BUSY,
    "unavailable": CredentialVerdict.UNKNOWN,
    "too_large": CredentialVerdict.UNKNOWN,
    "refused": CredentialVerdict.UNKNOWN,
}
"""What a problem says of the credential; any other is told to somebody who is known."""


def build_rechecker(
    database: Database,
    vault: Vault,
    catalogue: Catalogue,
    sessions: VendorClientFactory,
    timing: RejectionTiming | None = None,
) -> Rechecker:
    """Asks about the credentials of all tenants; `database` is in the broker's role."""
    ask = VendorCredentialProbe(catalogue, sessions)
    return Rechecker(
        RecheckDependencies(database, vault, ask, list_vendor_urls(catalogue), timing or RejectionTiming())
    )


class VendorCredentialProbe:
    """Implements :class:`broker.rejections.recheck.CredentialProbe` by the request that the module names."""

    def __init__(self, catalogue: Catalogue, sessions: VendorClientFactory) -> None:
        self._modules = {module.name: module for module in catalogue.modules}
        self._sessions = sessions

    async def __call__(self, suspect: RejectedCredential, settings: Mapping[str, Any]) -> ProbeResult:
        module = self._modules.get(suspect.module)
        api = module.vendor if module else None
        if api is None:
            return ProbeResult(CredentialVerdict.UNKNOWN)
        credential = UnleasedCredential(suspect.secret, suspect.scheme, suspect.origins)
        key = f"{suspect.id}/{suspect.version}"
        try:
            known = parse_settings(api.settings, settings)
            known = known.model_copy(update={"timeout": min(known.timeout, MAX_RECHECK_SECONDS)})
            await fetch_vendor_account(self._sessions, api, known, credential, key, suspect.attributes)
        except VendorProblem as problem:
            return ProbeResult(
                VERDICT_BY_PROBLEM.get(problem.kind, CredentialVerdict.ACCEPTED), problem.retry_after or 0.0
            )
        except (ToolError, MCPistError):
            return ProbeResult(CredentialVerdict.UNKNOWN)
        return ProbeResult(CredentialVerdict.ACCEPTED)
