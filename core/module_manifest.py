"""A module as data: all that the parts which run none of its code know of it.

``python -m tools.module_manifests`` writes one file beside each module, from what its code declares.
"""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from core.errors import Invalid

MANIFEST_FILE = "manifest.json"


class CapabilityKind(StrEnum):
    """Kind of what a module offers to clients; names are unique in a module, across the kinds."""

    TOOL = "tool"
    RESOURCE = "resource"
    PROMPT = "prompt"


class ToolManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tool, or a resource or prompt, which only read: whether it only reads, and the scopes that it needs."""

    title: str
    read_only: bool
    scopes: tuple[str, ...]
    kind: CapabilityKind = CapabilityKind.TOOL


class AccountManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A harmless GET request below the service's base URL that tells whose a credential is. `name` is the JSON pointer
    of the account's name in its answer; with one of `rejection_statuses` the vendor does not take the credential."""

    path: str
    name: str
    headers: dict[str, str] = {}
    rejection_statuses: tuple[int, ...] = (401,)


class ModuleManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A module, with the JSON Schema of its service's `settings`; `tools` are its resources and prompts, too. With a
    vendor it has a `base_url`, which may have placeholders behind its host, and an `account` request. `hosts` are
    further base URLs by name."""

    name: str
    title: str
    description: str
    scopes: tuple[str, ...]
    tools: dict[str, ToolManifest]
    base_url: str = ""
    account: AccountManifest | None = None
    settings: dict[str, Any] = {}
    hosts: dict[str, str] = {}

    @property
    def has_vendor(self) -> bool:
        """Check whether the module's tools use an account at a vendor."""
        return bool(self.base_url)

    def is_rejection(self, status: int | None) -> bool:
        """Check whether the vendor says by this status of the account request that it does not take the credential."""
        return self.account is not None and status in self.account.rejection_statuses


def load_module_manifests(folder: Path) -> tuple[ModuleManifest, ...]:
    """Load the manifests of the modules in a folder, in name order.

    Raises:
        core.errors.Invalid: a file is damaged; the text names it.
    """
    return tuple(_read(path) for path in sorted(folder.glob(f"*/{MANIFEST_FILE}")))


def decode_module_manifest(content: bytes) -> ModuleManifest:
    """Decode the text of a manifest's file.

    Raises:
        ValueError: it is not one.
    """
    return msgspec.json.decode(content, type=ModuleManifest)


def encode_module_manifest(manifest: ModuleManifest) -> bytes:
    """Encode a manifest as the text of its file."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def list_vendor_manifests(manifests: Iterable[ModuleManifest]) -> tuple[ModuleManifest, ...]:
    """List the modules that have a vendor."""
    return tuple(manifest for manifest in manifests if manifest.has_vendor)


def accepts_keys(url: str) -> bool:
    """Check whether keys can be used at a base URL; not where a site is part of it, since a key names no site."""
    return "{" not in url


def _read(path: Path) -> ModuleManifest:
    try:
        manifest = decode_module_manifest(path.read_bytes())
    except msgspec.DecodeError as error:
        raise Invalid(f"{path} is not a module manifest ({error}): install MCPist again") from None
    if manifest.name != path.parent.name:
        raise Invalid(f"{path} is the manifest of {manifest.name}: install MCPist again")
    return manifest
