"""Who is asking, as the server sees them."""

from datetime import datetime
from uuid import UUID

import msgspec

from core.errors import Invalid
from gateway.cli.remote.api import Api


class MyTenant(msgspec.Struct, frozen=True):
    """The tenant of whoever asks."""

    id: UUID
    slug: str
    name: str


class Me(msgspec.Struct, frozen=True):
    """Whoever asks. `operator` may administer the whole deployment."""

    id: UUID
    email: str
    name: str
    system_role: str
    roles: tuple[str, ...]
    tenant: MyTenant
    scopes: tuple[str, ...]
    by: str
    authenticated_at: datetime | None
    operator: bool


def me(api: Api) -> Me:
    """Who is asking."""
    return api.get("/me", Me)


def check_tenant(api: Api, slug: str | None) -> None:
    """At a server the tenant is that of the person, and cannot be chosen.

    Raises:
        Invalid: another one is named.
    """
    if slug is None:
        return
    mine = me(api).tenant.slug
    if slug != mine:
        raise Invalid(
            f"at {api.server} you act for the tenant {mine}, and not for {slug[:100]}: sign in there as one of it"
        )
