"""How a server's keys stand, and what its doctor says."""

from pathlib import Path

import msgspec

from cli.client.admin_api import AdminApiClient
from server.diagnostics.finding import Finding
from server.diagnostics.vault_key_report import KeyReport, VaultKeys


class _KeysView(msgspec.Struct, frozen=True):
    file: str
    key_providers: tuple[str, ...]
    keys: tuple[KeyReport, ...]
    error: str
    to_rewrap: int
    to_reencrypt: int


class _DoctorView(msgspec.Struct, frozen=True):
    checks: list[Finding]


def fetch_keys(api: AdminApiClient) -> VaultKeys:
    """Return the vault's keys, for the operator."""
    view = api.get("/keys", _KeysView)
    return VaultKeys(Path(view.file), view.key_providers, view.keys, view.error, view.to_rewrap, view.to_reencrypt)


def fetch_findings(api: AdminApiClient) -> list[Finding]:
    """Fetch the findings that the person may read."""
    return api.get("/doctor", _DoctorView).checks
