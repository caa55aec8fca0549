"""``/providers``: the vendors' OAuth servers, those of MCPist's own and those that administrators add without code."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Response
from pydantic import Field, StringConstraints

from broker.api.connect_dependencies import ConnectDeps
from broker.connect.client_registration import RegistrationMethod
from broker.providers.drafts import DraftRequest, draft_provider
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel, ShortText

routes = create_router("providers")

ProviderId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
ProviderPath = Annotated[ProviderId, Path()]
Url = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=NO_CONTROL_CHARACTERS)]
ModuleName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class ProviderSettingView(ResponseModel):
    """Something that an OAuth client of this provider needs besides its id and secret; required without a default."""

    name: str
    title: str
    default: str | None


class ProviderView(ResponseModel):
    """A vendor. `origin` says where it comes from, `problem` why one that was added cannot be used. `redirect_uri` is
    what is registered there, where it has OAuth. `client_registration` is how MCPist becomes a client by itself where
    no administrator registers one: by the URL of a document about itself, by dynamic registration, or not at all."""

    id: str
    title: str
    origin: Literal["built_in", "custom"]
    problem: str
    oauth: bool
    key: bool
    modules: tuple[str, ...]
    redirect_uri: str | None
    client_registration: RegistrationMethod
    console_url: str | None
    docs_url: str | None
    settings: tuple[ProviderSettingView, ...]


class ProviderUsageView(ResponseModel):
    """What stands on a provider, in numbers. `credentials` are the services that its accounts serve."""

    clients: int
    accounts: int
    credentials: int


class ProviderDetailView(ProviderView):
    """One with its whole document. `version` is what a change has to name; one of MCPist's own has none."""

    document: Mapping[str, Any]
    version: int | None
    created_at: datetime | None
    updated_at: datetime | None
    client_document_url: str | None
    usage: ProviderUsageView


class ProviderUpsert(RequestModel):
    """The whole document, in the form of docs/providers. To change a provider, `version` is the one that it has: if
    somebody else has changed it since, nothing happens. Without it the provider is added."""

    document: dict[str, Any]
    version: Annotated[int, Field(ge=1, le=2**62)] | None = None


class DiscoveryRequest(RequestModel):
    """What to look at: `url` is an issuer, or a protected resource such as an MCP server. `resource` is what tokens
    shall be for, where `url` is the issuer that it names. `id`, `title` and `modules` go into the draft."""

    url: Url
    resource: Annotated[str, StringConstraints(max_length=1000, pattern=NO_CONTROL_CHARACTERS)] = ""
    id: ProviderId | None = None
    title: ShortText = ""
    modules: Annotated[list[ModuleName], Field(max_length=50)] = Field(default=[])


class ProviderDraftView(ResponseModel):
    """A document that can be PUT at `id`; `scopes` are those that the server says that it has."""

    id: str
    document: Mapping[str, Any]
    scopes: tuple[str, ...]


@routes.get("/providers")
async def list_providers(
    caller: AdminRead, connect: ConnectDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[ProviderView]:
    """Every provider that the tenant can use, by id; and those of its own that cannot be read, with the reason."""
    after: str = "" if cursor is None else decode_cursor(cursor, TextKey)
    found = [one for one in await connect.provider_views.list_summaries(caller.tenant_id) if one.id > after]
    shown, following = split_page(found[: limit + 1], limit, lambda one: one.id)
    return PageOf(items=[ProviderView.model_validate(one) for one in shown], next_cursor=following)


@routes.get("/providers/{provider_id}")
async def read_provider(provider_id: ProviderPath, caller: AdminRead, connect: ConnectDeps) -> ProviderDetailView:
    """One provider with its whole document, and what stands on it."""
    return ProviderDetailView.model_validate(await connect.provider_views.get_details(caller.tenant_id, provider_id))


@routes.put("/providers/{provider_id}", responses={201: {"model": ProviderDetailView, "description": "It is new."}})
async def put_provider(
    provider_id: ProviderPath, asked: ProviderUpsert, caller: AdminWrite, connect: ConnectDeps, response: Response
) -> ProviderDetailView:
    """Add a provider, or change one. While OAuth clients or accounts stand on it, it stays at the same hosts."""
    tenant_id = caller.tenant_id
    _, new = await connect.custom_providers.put(caller.actor, tenant_id, provider_id, asked.document, asked.version)
    response.status_code = 201 if new else 200
    return ProviderDetailView.model_validate(await connect.provider_views.get_details(tenant_id, provider_id))


@routes.delete("/providers/{provider_id}", status_code=204)
async def remove_provider(provider_id: ProviderPath, caller: AdminWrite, connect: ConnectDeps) -> None:
    """Forget a provider that was added, and on which no OAuth client and no account stands."""
    await connect.custom_providers.remove(caller.actor, caller.tenant_id, provider_id)


@routes.post("/providers/discover")
async def discover_provider(asked: DiscoveryRequest, caller: AdminWrite, connect: ConnectDeps) -> ProviderDraftView:
    """A draft of a document from what a server publishes of itself (RFC 8414, OpenID Connect Discovery, RFC 9728).
    Nothing is stored: look at it, and PUT it."""
    wish = DraftRequest(asked.url, asked.resource, asked.id or "", asked.title, tuple(asked.modules))
    key = str(caller.tenant_id)
    connect.draft_limits.enter(key)
    try:
        made = await draft_provider(connect.discovery, wish)
    finally:
        connect.draft_limits.leave(key)
    connect.custom_providers.serialize_document(made.id, made.document)
    return ProviderDraftView.model_validate(made)
