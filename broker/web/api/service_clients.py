"""``/services/{module}/oauth-clients``: our OAuth clients at the vendors of one service."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field, SecretStr, StringConstraints

from broker.connect.addresses import redirect_uri
from broker.connect.oauth_clients import MOST_CLIENT_ID, MOST_SECRET, Registration
from broker.connect.parts import ConnectParts
from broker.web.api.connect_parts import Connect
from broker.web.api.oauth_clients import OAuthClientMade, OAuthClientView, ProviderId, Word, client_key, client_view
from core.api.app import router
from core.api.callers import ChangingAdmin, ReadingAdmin
from core.api.paging import Cursor, Most, TextKey, key_of, paged
from core.api.shapes import PLAIN, Asked, PageOf
from core.errors import Invalid, NotFound
from core.secret import Secret

routes = router("services")

Module = Annotated[str, Path(pattern="^[a-z][a-z0-9_]{0,62}$")]


class ServiceClientAsked(Asked):
    """The client of the tenant, or of a role, at the service's vendor. `provider` is needed where there are several.
    Without `client_secret` the stored one stays, as long as `client_id` does; without `settings` those stay."""

    provider: ProviderId | None = None
    role_id: UUID | None = None
    client_id: Annotated[str, StringConstraints(min_length=1, max_length=MOST_CLIENT_ID, pattern=PLAIN)]
    client_secret: Annotated[SecretStr, Field(min_length=1, max_length=MOST_SECRET)] | None = None
    auth_method: Annotated[str, StringConstraints(pattern="^(?:|basic|basic_raw|post|none)$")] = ""
    settings: Annotated[dict[Word, Word], Field(max_length=10)] | None = None


@routes.get("/services/{module}/oauth-clients")
async def list_clients_of_service(
    module: Module, caller: ReadingAdmin, connect: Connect, limit: Most = 50, cursor: Cursor = None
) -> PageOf[OAuthClientView]:
    """The clients at the service's providers, by provider; the tenant's own before those of roles."""
    providers = await _providers(connect, caller.tenant_id, module)
    found = [one for one in await connect.clients.list(caller.tenant_id) if one.provider in providers]
    if cursor is not None:
        after = key_of(cursor, tuple[TextKey, bool, TextKey])
        found = [one for one in found if client_key(one) > after]
    shown, following = paged(found[: limit + 1], limit, client_key)
    return PageOf(items=[client_view(one, connect.public_url) for one in shown], next_cursor=following)


@routes.put("/services/{module}/oauth-client")
async def set_client_of_service(
    module: Module, asked: ServiceClientAsked, caller: ChangingAdmin, connect: Connect
) -> OAuthClientMade:
    """Register the client, in the place of the one before. It is the provider's, and so counts for every service that
    is connected there."""
    provider = _chosen(await _providers(connect, caller.tenant_id, module), asked.provider)
    secret = asked.client_secret
    registration = Registration(
        provider=provider,
        client_id=asked.client_id,
        secret=None if secret is None else Secret(secret.get_secret_value()),
        role_id=asked.role_id,
        auth_method=asked.auth_method,
        settings=asked.settings,
    )
    made = await connect.clients.register(caller.actor, caller.tenant_id, registration)
    return OAuthClientMade(id=made, redirect_uri=redirect_uri(connect.public_url, provider))


async def _providers(connect: ConnectParts, tenant_id: UUID, module: str) -> list[str]:
    async with connect.database.tenant(tenant_id) as work:
        known = (await connect.book.all(work)).known
    found = sorted(one.id for one in known.values() if one.oauth is not None and module in one.modules)
    if not found:
        raise NotFound("no provider with OAuth has this service")
    return found


def _chosen(providers: list[str], wanted: str | None) -> str:
    if wanted is None and len(providers) == 1:
        return providers[0]
    if wanted not in providers:
        raise Invalid(f"name the provider: {', '.join(providers)}")
    return wanted
