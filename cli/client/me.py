"""The authenticated user, as the server sees them."""

from datetime import datetime
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


def fetch_profile(api: AdminApiClient) -> UserProfile:
    """Fetch the authenticated user."""
    return api.get("/me", UserProfile)


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
