"""Accounts at identity providers that people sign in with, at a server."""

from datetime import datetime
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.users import resolve_owner_query


class IdentityEntry(msgspec.Struct, frozen=True):
    """An account at an identity provider with which a user signs in."""

    id: UUID
    issuer: str
    subject: str
    email: str
    created_at: datetime
    last_sign_in_at: datetime


def fetch_identities(api: AdminApiClient, user: str | None) -> list[IdentityEntry]:
    """Fetch one's own, or for administrators those of a user, newest first."""
    query = {} if api.is_operator and user is None else resolve_owner_query(api, user, all_owners=False)
    return list(api.iterate("/identities", IdentityEntry, **query))


def unlink_identity(api: AdminApiClient, identity_id: UUID) -> None:
    """Unlink one: nobody signs in with it any more."""
    missing = "there is no such identity; `mcpist identity list` shows them"
    api.delete("/identities/{}", str(identity_id), missing=missing)
