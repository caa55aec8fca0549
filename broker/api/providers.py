"""``/providers``: the vendors' OAuth servers, those of MCPist's own and those that administrators add without code."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Response
from pydantic import Field, StringConstraints

from broker.api.connect_dependencies import ConnectDeps
from broker.connect.client_registration import RegistrationMethod
from broker.providers.drafts import DraftRequest, draft_provider
from broker.providers.views import ProviderSummary
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel, ShortText
from core.api.sorted_lists import SortedList, SortKey, fold_key

routes = create_router("providers")

ProviderSort = Literal["id", "-id", "title", "-title", "origin", "-origin"]

ProviderId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
ProviderPath = Annotated[ProviderId, Path(description="Identifier of the provider.")]
Url = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=NO_CONTROL_CHARACTERS)]
ModuleName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class ProviderSettingView(ResponseModel):
    """A setting of OAuth clients of a provider."""

    name: str = Field(description="Name of the setting.")
    title: str = Field(description="Display name of the setting.")
    default: str | None = Field(description="Default value; null if a value is required.")


class ProviderView(ResponseModel):
    """A provider: the OAuth server or API key issuer of a vendor."""

    id: str = Field(description="Identifier of the provider.")
    title: str = Field(description="Display name of the vendor.")
    origin: Literal["built_in", "custom"] = Field(
        description="Origin of the document: `built_in`, or `custom` if added by an administrator."
    )
    problem: str = Field(description="Reason why a custom provider cannot be used; empty if it can.")
    oauth: bool = Field(description="True if accounts are connected by OAuth.")
    key: bool = Field(description="True if API keys are accepted.")
    modules: tuple[str, ...] = Field(description="Modules that the provider serves.")
    redirect_uri: str | None = Field(description="Redirect URI to register at the provider; null without OAuth.")
    client_registration: RegistrationMethod = Field(
        description="Registration method used without a registered OAuth client: `document` (client metadata "
        "document), `registration` (dynamic registration), or empty if there is none."
    )
    console_url: str | None = Field(
        description="Page of the vendor on which OAuth clients are registered; null if unknown."
    )
    docs_url: str | None = Field(description="Page of the vendor about registering OAuth clients; null if unknown.")
    settings: tuple[ProviderSettingView, ...] = Field(description="Settings that an OAuth client of this provider has.")


class ProviderUsageView(ResponseModel):
    """Numbers of objects that depend on a provider."""

    clients: int = Field(description="Number of registered OAuth clients.")
    accounts: int = Field(description="Number of connected accounts.")
    credentials: int = Field(description="Number of module credentials that use those accounts.")


class ProviderDetailView(ProviderView):
    """A provider with its document."""

    document: Mapping[str, Any] = Field(description="The provider document.")
    version: int | None = Field(description="Version to name in a change; null for built-in providers.")
    created_at: datetime | None = Field(description="Time of creation; null for built-in providers.")
    updated_at: datetime | None = Field(description="Time of the latest change; null for built-in providers.")
    client_document_url: str | None = Field(
        description="URL of the client metadata document that MCPist identifies itself with; null if it is not used."
    )
    usage: ProviderUsageView = Field(description="Numbers of objects that depend on the provider.")


class ProviderUpsert(RequestModel):
    """A provider document to store."""

    document: dict[str, Any] = Field(description="The whole document, in the form of docs/providers.")
    version: Annotated[int, Field(ge=1, le=2**62)] | None = Field(
        default=None,
        description="Current version of the provider to change; the request fails if it has changed since. Null to "
        "add a provider.",
    )


class DiscoveryRequest(RequestModel):
    """A server to draft a provider document for."""

    url: Url = Field(description="Issuer URL, or URL of a protected resource such as an MCP server.")
    resource: Annotated[str, StringConstraints(max_length=1000, pattern=NO_CONTROL_CHARACTERS)] = Field(
        default="", description="Resource that tokens are requested for, if `url` is an issuer."
    )
    id: ProviderId | None = Field(default=None, description="Identifier for the draft; null to derive it.")
    title: ShortText = Field(default="", description="Display name for the draft; empty to derive it.")
    modules: Annotated[list[ModuleName], Field(max_length=50)] = Field(
        default=[], description="Modules that the provider shall serve."
    )


class ProviderDraftView(ResponseModel):
    """A draft of a provider document, which can be stored by `PUT`."""

    id: str = Field(description="Identifier to store the document at.")
    document: Mapping[str, Any] = Field(description="The drafted provider document.")
    scopes: tuple[str, ...] = Field(description="OAuth scopes that the server advertises.")


_PROVIDERS = SortedList[ProviderSummary](
    lambda provider: " ".join((provider.id, provider.title, *provider.modules)),
    lambda provider: provider.id,
    {
        "id": SortKey(lambda provider: provider.id),
        "title": SortKey(lambda provider: fold_key(provider.title)),
        "origin": SortKey(lambda provider: provider.origin),
    },
)


@routes.get("/providers")
async def list_providers(
    caller: AdminRead,
    connect: ConnectDeps,
    q: Annotated[ShortText, Query(description="Words that the identifier, title or a module contains.")] = "",
    sort: Annotated[ProviderSort, Query(description="Field to order by; with `-` the other way round.")] = "id",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[ProviderView]:
    """List providers.

    Returns every provider that the tenant can use, and custom ones that cannot be read, with the reason. Ordered by
    identifier, unless `sort` says otherwise. Width, case and kana do not count in `q`.
    """
    summaries = await connect.provider_views.list_summaries(caller.tenant_id)
    shown, following = _PROVIDERS.select_page(summaries, q, sort, limit, cursor)
    return PageOf(items=[ProviderView.model_validate(summary) for summary in shown], next_cursor=following)


@routes.get("/providers/{provider_id}")
async def read_provider(provider_id: ProviderPath, caller: AdminRead, connect: ConnectDeps) -> ProviderDetailView:
    """Get a provider with its document and usage."""
    return ProviderDetailView.model_validate(await connect.provider_views.get_details(caller.tenant_id, provider_id))


@routes.put(
    "/providers/{provider_id}", responses={201: {"model": ProviderDetailView, "description": "The provider was added."}}
)
async def put_provider(
    provider_id: ProviderPath, body: ProviderUpsert, caller: AdminWrite, connect: ConnectDeps, response: Response
) -> ProviderDetailView:
    """Add or change a custom provider.

    While OAuth clients or accounts depend on a provider, its hosts cannot change.
    """
    tenant_id = caller.tenant_id
    _, new = await connect.custom_providers.put(caller.actor, tenant_id, provider_id, body.document, body.version)
    response.status_code = 201 if new else 200
    return ProviderDetailView.model_validate(await connect.provider_views.get_details(tenant_id, provider_id))


@routes.delete("/providers/{provider_id}", status_code=204)
async def remove_provider(provider_id: ProviderPath, caller: AdminWrite, connect: ConnectDeps) -> None:
    """Delete a custom provider.

    Fails while an OAuth client or an account depends on it.
    """
    await connect.custom_providers.remove(caller.actor, caller.tenant_id, provider_id)


@routes.post("/providers/discover")
async def discover_provider(body: DiscoveryRequest, caller: AdminWrite, connect: ConnectDeps) -> ProviderDraftView:
    """Draft a provider document from published metadata.

    Reads RFC 8414, OpenID Connect Discovery and RFC 9728 metadata of the server. Nothing is stored.
    """
    draft_request = DraftRequest(body.url, body.resource, body.id or "", body.title, tuple(body.modules))
    key = str(caller.tenant_id)
    with connect.draft_limits.track(key):
        draft = await draft_provider(connect.discovery, draft_request)
    connect.custom_providers.serialize_document(draft.id, draft.document)
    return ProviderDraftView.model_validate(draft)
