"""The authenticated user, as the server sees them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from core.errors import Invalid


class ProfileTenant(msgspec.Struct, frozen=True):
    """Tenant of the caller."""

    id: UUID
    slug: str
    name: str


class UserProfile(msgspec.Struct, frozen=True):
    """Whoever asks. `operator` may administer the whole deployment."""

    id: UUID
    email: str
    name: str
    system_role: str
    roles: tuple[str, ...]
    tenant: ProfileTenant
    scopes: tuple[str, ...]
    authentication_method: str
    authenticated_at: datetime | None
    operator: bool
    language: str | None = None
    time_zone: str | None = None
    single_key_shortcuts: bool = True
    guided_start: bool = False


def fetch_profile(api: AdminApiClient) -> UserProfile:
    """Fetch the authenticated user."""
    return api.get("/me", UserProfile)


def change_profile(api: AdminApiClient, changes: Mapping[str, Any]) -> UserProfile:
    """Change fields of the authenticated user's profile; the profile as it is now."""
    api.change("PATCH", "/me", changes)
    return fetch_profile(api)


def check_tenant(api: AdminApiClient, slug: str | None) -> None:
    """Check the tenant of a command: at a server it is the person's own.

    Raises:
        Invalid: another one is named.
    """
    if slug is None:
        return
    own_slug = fetch_profile(api).tenant.slug
    if slug != own_slug:
        raise Invalid(
            f"at {api.server} you act for the tenant {own_slug}, and not for {slug[:100]}: sign in there as one of it"
        )
