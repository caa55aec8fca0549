"""The question to a vendor whether it takes a credential that it has refused before."""

from collections.abc import Iterable, Mapping
from typing import Any

from broker.connections.credential_origins import get_service_url
from broker.oauth_client.module_account import ModuleAccountClient
from broker.oauth_client.types import ErrorClass, VendorFailure
from broker.rejections.rejected_credentials import RejectedCredential
from broker.rejections.verdicts import CredentialVerdict, ProbeResult
from core.module_manifest import ModuleManifest

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
        found = await self._accounts.fetch_account(
            manifest, url, suspect.scheme, suspect.secret, suspect.origins, suspect.attributes
        )
        if not isinstance(found, VendorFailure):
            return ProbeResult(CredentialVerdict.ACCEPTED)
        return ProbeResult(_get_verdict(found), found.retry_after or 0.0)


def _get_verdict(failure: VendorFailure) -> CredentialVerdict:
    if failure.error_class is ErrorClass.THROTTLED:
        return CredentialVerdict.BUSY
    if failure.status == 401:
        return CredentialVerdict.REJECTED
    known = failure.status is not None and 400 <= failure.status < 500 and failure.status not in TIMEOUT_STATUSES
    return CredentialVerdict.ACCEPTED if known else CredentialVerdict.UNKNOWN
