"""Wiring of the recheck of refused credentials."""

from collections.abc import Sequence

from broker.oauth_client.module_account import ModuleAccountClient
from broker.rejections.recheck import RecheckDependencies, Rechecker, VendorCredentialProbe
from broker.rejections.report import RejectionTiming
from broker.vault.vault import Vault
from core.db import Database
from core.module_manifest import ModuleManifest
from server.wiring.broker import list_vendor_urls


def build_rechecker(
    database: Database, vault: Vault, manifests: Sequence[ModuleManifest], accounts: ModuleAccountClient
) -> Rechecker:
    """Asks about the credentials of all tenants; `database` is in the broker's role."""
    probe = VendorCredentialProbe(manifests, accounts)
    return Rechecker(RecheckDependencies(database, vault, probe, list_vendor_urls(manifests), RejectionTiming()))
