"""The connections of people and roles at a server: how they stand, and why."""

from datetime import datetime
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.users import resolve_owner_query


class ConnectionEntry(msgspec.Struct, frozen=True):
    """How a stored credential stands, or a module that has none yet."""

    credential_id: UUID | None
    module: str
    provider: str
    kind: str
    owner: str
    account: str
    state: str
    cause: str
    message: str
    responsible: str
    action_url: str
    next_retry_at: datetime | None


class ConnectionCountEntry(msgspec.Struct, frozen=True):
    """How many connections of a module have the state."""

    module: str
    state: str
    count: int


class _ConnectionCounts(msgspec.Struct, frozen=True):
    counts: list[ConnectionCountEntry]


def fetch_connections(api: AdminApiClient, user: str | None, *, all_owners: bool) -> list[ConnectionEntry]:
    """Fetch connections by module: one's own with those of one's roles, those of a user, or all of the tenant."""
    query = resolve_owner_query(api, user, all_owners=all_owners)
    return list(api.iterate("/connections", ConnectionEntry, **query))


def fetch_connection_counts(api: AdminApiClient) -> list[ConnectionCountEntry]:
    """Fetch the numbers of the tenant's connections by module and state."""
    return api.get("/connections/counts", _ConnectionCounts).counts
