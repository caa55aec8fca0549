"""How a server's keys stand, and what its doctor says."""

from pathlib import Path

import msgspec

from gateway.cli.remote.api import Api
from gateway.single.finding import Finding
from gateway.single.vault_keys import KeyReport, VaultKeys


class _Keys(msgspec.Struct, frozen=True):
    file: str
    keepers: tuple[str, ...]
    keys: tuple[KeyReport, ...]
    trouble: str
    to_rewrap: int
    to_reencrypt: int


class _Doctor(msgspec.Struct, frozen=True):
    checks: list[Finding]


def keys(api: Api) -> VaultKeys:
    """The keys, for whoever operates the server."""
    found = api.get("/keys", _Keys)
    return VaultKeys(Path(found.file), found.keepers, found.keys, found.trouble, found.to_rewrap, found.to_reencrypt)


def findings(api: Api) -> list[Finding]:
    """What the person may know of what is wrong."""
    return api.get("/doctor", _Doctor).checks
