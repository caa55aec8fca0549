"""Providers as administrators see them: in the API, and at the command line beside the data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from broker.connect.client_registration import (
    RegistrationMethod,
    build_client_document_url,
    build_redirect_uri,
    choose_registration_method,
)
from broker.providers.catalogue import ProviderCatalogue, ProviderRegistry
from broker.providers.custom import CustomProvider, CustomProviders, ProviderUsage
from broker.providers.schema import Provider
from core.db import Database


@dataclass(frozen=True, slots=True)
class ProviderSettingSummary:
    """Setting of an OAuth client besides its id and secret; required if it has no default."""

    name: str
    title: str
    default: str | None


@dataclass(frozen=True, slots=True)
class ProviderSummary:
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
    settings: tuple[ProviderSettingSummary, ...]


@dataclass(frozen=True, slots=True)
class DetailedProvider(ProviderSummary):
    """One with its whole document. `version` is what a change has to name; one of MCPist's own has none."""

    document: Mapping[str, Any]
    version: int | None
    created_at: datetime | None
    updated_at: datetime | None
    client_document_url: str | None
    usage: ProviderUsage


class ProviderViews:
    """Those of all tenants."""

    def __init__(self, database: Database, book: ProviderRegistry, added: CustomProviders, public_url: str) -> None:
        self._database = database
        self._book = book
        self._added = added
        self._public_url = public_url

    async def list_summaries(self, tenant_id: UUID) -> list[ProviderSummary]:
        """Every provider that the tenant can use, by id; and those of its own that cannot be read."""
        async with self._database.tenant(tenant_id) as work:
            every = await self._book.load_all(work)
        return [self._build_summary(name, every) for name in sorted({*every.known, *every.broken})]

    async def get_details(self, tenant_id: UUID, provider: str) -> DetailedProvider:
        """One provider, and what stands on it.

        Raises:
            NotFound: the tenant has no such provider.
        """
        added, standing = await self._added.find(tenant_id, provider)
        every = self._book.own if added is None else self._book.own.merge_custom([(provider, added.document)])
        shown = self._build_summary(provider, every)
        document = self._book.own.known[provider].as_document() if added is None else added.document
        by_document = shown.client_registration == "document"
        return DetailedProvider(
            **{name: getattr(shown, name) for name in ProviderSummary.__dataclass_fields__},
            document=document,
            **_get_version_and_times(added),
            client_document_url=build_client_document_url(self._public_url, tenant_id, provider)
            if by_document
            else None,
            usage=standing,
        )

    def _build_summary(self, provider: str, every: ProviderCatalogue) -> ProviderSummary:
        parsed = every.known.get(provider)
        origin = "built_in" if provider in self._book.own.known else "custom"
        if parsed is None:
            nothing: tuple[ProviderSettingSummary, ...] = ()
            problem = every.broken[provider]
            return ProviderSummary(provider, provider, origin, problem, False, False, (), None, "", None, None, nothing)
        return ProviderSummary(
            id=provider,
            title=parsed.title,
            origin=origin,
            problem="",
            oauth=parsed.oauth is not None,
            key=parsed.key is not None,
            modules=tuple(sorted(parsed.modules)),
            redirect_uri=build_redirect_uri(self._public_url, provider) if parsed.oauth else None,
            client_registration=choose_registration_method(parsed, self._public_url),
            console_url=parsed.console_url,
            docs_url=parsed.docs_url,
            settings=_build_settings(parsed),
        )


def _build_settings(provider: Provider) -> tuple[ProviderSettingSummary, ...]:
    return tuple(
        ProviderSettingSummary(name, setting.title, setting.default) for name, setting in provider.settings.items()
    )


def _get_version_and_times(added: CustomProvider | None) -> dict[str, Any]:
    fields = {"version": None, "created_at": None, "updated_at": None} if added is None else asdict(added)
    return {name: fields[name] for name in ("version", "created_at", "updated_at")}
