"""``/providers``: the vendors' OAuth servers, those of MCPist's own and those that administrators add without code."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Response
from pydantic import Field, StringConstraints

from broker.connect.introductions import Introduction
from broker.providers.drafts import Wish, draft
from broker.web.api.connect_parts import Connect
from core.api.app import router
from core.api.callers import ChangingAdmin, ReadingAdmin
from core.api.paging import Cursor, Most, TextKey, key_of, paged
from core.api.shapes import PLAIN, Asked, PageOf, Told, Word

routes = router("providers")

ProviderId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
ProviderPath = Annotated[ProviderId, Path()]
Url = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=PLAIN)]
ModuleName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class SettingView(Told):
    """Something that an OAuth client of this provider needs besides its id and secret; required without a default."""

    name: str
    title: str
    default: str | None


class ProviderView(Told):
    """A vendor. `origin` says where it comes from, `problem` why one that was added cannot be used. `redirect_uri` is
    what is registered there, where it has OAuth. `introduction` is how MCPist becomes a client by itself where no
    administrator registers one: by the URL of a document about itself, by dynamic registration, or not at all."""

    id: str
    title: str
    origin: Literal["built_in", "added"]
    problem: str
    oauth: bool
    key: bool
    modules: tuple[str, ...]
    redirect_uri: str | None
    introduction: Introduction
    console_url: str | None
    docs_url: str | None
    settings: tuple[SettingView, ...]


class StandingView(Told):
    """What stands on a provider, in numbers. `credentials` are the services that its accounts serve."""

    clients: int
    accounts: int
    credentials: int


class ProviderDetail(ProviderView):
    """One with its whole document. `version` is what a change has to name; one of MCPist's own has none."""

    document: Mapping[str, Any]
    version: int | None
    created_at: datetime | None
    updated_at: datetime | None
    client_document_url: str | None
    standing: StandingView


class ProviderAsked(Asked):
    """The whole document, in the form of docs/providers. To change a provider, `version` is the one that it has: if
    somebody else has changed it since, nothing happens. Without it the provider is added."""

    document: dict[str, Any]
    version: Annotated[int, Field(ge=1, le=2**62)] | None = None


class DiscoveryAsked(Asked):
    """What to look at: `url` is an issuer, or a protected resource such as an MCP server. `resource` is what tokens
    shall be for, where `url` is the issuer that it names. `id`, `title` and `modules` go into the draft."""

    url: Url
    resource: Annotated[str, StringConstraints(max_length=1000, pattern=PLAIN)] = ""
    id: ProviderId | None = None
    title: Word = ""
    modules: Annotated[list[ModuleName], Field(max_length=50)] = Field(default=[])


class DraftView(Told):
    """A document that can be PUT at `id`; `scopes` are those that the server says that it has."""

    id: str
    document: Mapping[str, Any]
    scopes: tuple[str, ...]


@routes.get("/providers")
async def list_providers(
    caller: ReadingAdmin, connect: Connect, limit: Most = 50, cursor: Cursor = None
) -> PageOf[ProviderView]:
    """Every provider that the tenant can use, by id; and those of its own that cannot be read, with the reason."""
    after: str = "" if cursor is None else key_of(cursor, TextKey)
    found = [one for one in await connect.shown.all(caller.tenant_id) if one.id > after]
    shown, following = paged(found[: limit + 1], limit, lambda one: one.id)
    return PageOf(items=[ProviderView.model_validate(one) for one in shown], next_cursor=following)


@routes.get("/providers/{provider_id}")
async def read_provider(provider_id: ProviderPath, caller: ReadingAdmin, connect: Connect) -> ProviderDetail:
    """One provider with its whole document, and what stands on it."""
    return ProviderDetail.model_validate(await connect.shown.whole(caller.tenant_id, provider_id))


@routes.put("/providers/{provider_id}", responses={201: {"model": ProviderDetail, "description": "It is new."}})
async def put_provider(
    provider_id: ProviderPath, asked: ProviderAsked, caller: ChangingAdmin, connect: Connect, response: Response
) -> ProviderDetail:
    """Add a provider, or change one. While OAuth clients or accounts stand on it, it stays at the same hosts."""
    tenant_id = caller.tenant_id
    _, new = await connect.providers.put(caller.actor, tenant_id, provider_id, asked.document, asked.version)
    response.status_code = 201 if new else 200
    return ProviderDetail.model_validate(await connect.shown.whole(tenant_id, provider_id))


@routes.delete("/providers/{provider_id}", status_code=204)
async def remove_provider(provider_id: ProviderPath, caller: ChangingAdmin, connect: Connect) -> None:
    """Forget a provider that was added, and on which no OAuth client and no account stands."""
    await connect.providers.remove(caller.actor, caller.tenant_id, provider_id)


@routes.post("/providers/discover")
async def discover_provider(asked: DiscoveryAsked, caller: ChangingAdmin, connect: Connect) -> DraftView:
    """A draft of a document from what a server publishes of itself (RFC 8414, OpenID Connect Discovery, RFC 9728).
    Nothing is stored: look at it, and PUT it."""
    wish = Wish(asked.url, asked.resource, asked.id or "", asked.title, tuple(asked.modules))
    key = str(caller.tenant_id)
    connect.drafting.enter(key)
    try:
        made = await draft(connect.discovery, wish)
    finally:
        connect.drafting.leave(key)
    connect.providers.check(made.id, made.document)
    return DraftView.model_validate(made)
