"""``/oauth-clients``: the tenant's own clients at the vendors' OAuth servers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path
from pydantic import Field, SecretStr, StringConstraints

from broker.api.connect_dependencies import ConnectDeps
from broker.api.providers import ProviderId
from broker.connect.redirect_uris import build_redirect_uri
from broker.connections.oauth_client_store import (
    MAX_CLIENT_ID_LENGTH,
    MAX_SECRET_LENGTH,
    OAuthClient,
    OAuthClientRegistration,
)
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RemovalView, RequestModel, ResponseModel, build_removal_view
from core.secret import Secret

routes = create_router("oauth clients")

OAuthClientRowId = Annotated[UUID, Path()]
SettingText = Annotated[str, StringConstraints(max_length=500, pattern=NO_CONTROL_CHARACTERS)]


class OAuthClientView(ResponseModel):
    """A client, never its secret. `role_id` is whose members it is for, null for all; `accounts` were connected by
    it."""

    id: UUID
    provider: str
    role_id: UUID | None
    role: str
    client_id: str
    has_secret: bool
    auth_method: str
    settings: Mapping[str, str]
    redirect_uri: str
    state: Literal["ok", "misconfigured"]
    cause: str
    accounts: int
    created_at: datetime
    updated_at: datetime


class OAuthClientUpsert(RequestModel):
    """The one client of the tenant, or of a role, at a provider. Without `client_secret` the stored one stays, as long
    as `client_id` does; without `settings` those stay."""

    provider: ProviderId
    role_id: UUID | None = None
    client_id: Annotated[
        str, StringConstraints(min_length=1, max_length=MAX_CLIENT_ID_LENGTH, pattern=NO_CONTROL_CHARACTERS)
    ]
    client_secret: Annotated[SecretStr, Field(min_length=1, max_length=MAX_SECRET_LENGTH)] | None = None
    auth_method: Literal["", "basic", "basic_raw", "post", "none"] = ""
    settings: Annotated[dict[SettingText, SettingText], Field(max_length=10)] | None = None


class SavedOAuthClientView(ResponseModel):
    """Its id here; `redirect_uri` has to be registered at the provider."""

    id: UUID
    redirect_uri: str


@routes.get("/oauth-clients")
async def list_oauth_clients(
    caller: AdminRead, connect: ConnectDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[OAuthClientView]:
    """The tenant's clients at vendors, by provider; its own before those of roles."""
    found = await connect.oauth_clients.list(caller.tenant_id)
    if cursor is not None:
        after = decode_cursor(cursor, tuple[TextKey, bool, TextKey])
        found = [one for one in found if get_sort_key(one) > after]
    shown, following = split_page(found[: limit + 1], limit, get_sort_key)
    return PageOf(items=[build_client_view(one, connect.public_url) for one in shown], next_cursor=following)


@routes.put("/oauth-clients")
async def set_oauth_client(asked: OAuthClientUpsert, caller: AdminWrite, connect: ConnectDeps) -> SavedOAuthClientView:
    """Register a client, in the place of the one that the tenant or role has at the provider."""
    secret = asked.client_secret
    registration = OAuthClientRegistration(
        provider=asked.provider,
        client_id=asked.client_id,
        secret=None if secret is None else Secret(secret.get_secret_value()),
        role_id=asked.role_id,
        auth_method=asked.auth_method,
        settings=asked.settings,
    )
    made = await connect.oauth_clients.register(caller.actor, caller.tenant_id, registration)
    return SavedOAuthClientView(id=made, redirect_uri=build_redirect_uri(connect.public_url, asked.provider))


@routes.delete("/oauth-clients/{oauth_client_id}")
async def remove_oauth_client(
    oauth_client_id: OAuthClientRowId, caller: AdminWrite, connect: ConnectDeps
) -> RemovalView:
    """Forget a client, and every account that was connected by it, whose vendor is told: those have to be connected
    again by another."""
    return build_removal_view(
        await connect.account_revoker.remove_client(caller.actor, caller.tenant_id, oauth_client_id)
    )


def get_sort_key(one: OAuthClient) -> tuple[str, bool, str]:
    """The order of the list."""
    return one.provider, one.role_id is not None, one.role


def build_client_view(one: OAuthClient, public_url: str) -> OAuthClientView:
    """A client as it is told."""
    return OAuthClientView.model_validate(
        {
            **{name: getattr(one, name) for name in OAuthClientView.model_fields if name != "redirect_uri"},
            "redirect_uri": build_redirect_uri(public_url, one.provider),
        }
    )
