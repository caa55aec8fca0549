"""Keys of vendors that belong to the tenant, at a server."""

from datetime import datetime

import msgspec

from cli.client.admin_api import AdminApiClient
from core.secret import Secret


class TenantKeyEntry(msgspec.Struct, frozen=True):
    """A kind of key, and the tenant's key of it without the key itself."""

    kind: str
    title: str
    hosts: list[str]
    manage_url: str
    stored: bool
    created_at: datetime | None
    updated_at: datetime | None
    last_used_at: datetime | None


class TenantKeyTrialEntry(msgspec.Struct, frozen=True):
    """What the vendor said of a key."""

    outcome: str
    message: str


class SavedTenantKey(msgspec.Struct, frozen=True):
    """A stored key, and the trial before."""

    key: TenantKeyEntry
    trial: TenantKeyTrialEntry


class _TenantKeys(msgspec.Struct):
    keys: list[TenantKeyEntry]


def fetch_tenant_keys(api: AdminApiClient) -> list[TenantKeyEntry]:
    """Fetch every kind, by name."""
    return api.get("/tenant-keys", _TenantKeys).keys


def put_tenant_key(api: AdminApiClient, kind: str, secret: Secret, *, despite_failures: bool) -> SavedTenantKey:
    """Try a key at its vendor, and store it."""
    body = {"secret": secret.reveal(), "despite_failures": despite_failures}
    return msgspec.convert(api.change("PUT", "/tenant-keys/{}", body, kind).json(), SavedTenantKey)


def remove_tenant_key(api: AdminApiClient, kind: str) -> None:
    """Remove a key."""
    api.delete("/tenant-keys/{}", kind)
