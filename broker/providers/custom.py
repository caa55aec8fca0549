"""Providers that a tenant's administrators have added: written here, and read by everybody through the provider book.

What stands on a provider is a tenant's OAuth client with its secret, and people's tokens. While anything does, a change
may not lead them to another host: a document is data, and must not become a way to read secrets out of the vault.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import orjson

from broker.providers.catalogue import ProviderRegistry, check_modules
from broker.providers.field_types import PLACEHOLDER, as_table
from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, Invalid, NotFound
from core.http.outbound_addresses import AllowedAddresses

_KEYS = (
    ("oauth", "authorize_url"),
    ("oauth", "token_url"),
    ("oauth", "registration_url"),
    ("oauth", "revoke", "url"),
    ("account", "url"),
    ("sites", "url"),
    ("key", "check_url"),
)


def list_document_origins(document: Mapping[str, Any]) -> dict[str, str]:
    """The origin (or the setting that stands for it) of each URL that MCPist asks or sends people to, by its key. The
    document need not be one that can be read as a provider."""
    urls = {".".join(key): _get_text_at(document, key) for key in _KEYS}
    settings = as_table(document.get("settings")) or {}
    urls |= {f"settings.{name}.default": _get_text_at(document, ("settings", name, "default")) for name in settings}
    return {key: place for key, url in urls.items() if (place := _get_origin_or_setting(url))}


def get_url_origin(url: str) -> str:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _get_text_at(document: Mapping[str, Any], path: tuple[str, ...]) -> str:
    value: Any = document
    for key in path:
        table = as_table(value)
        value = None if table is None else table.get(key)
    return value if isinstance(value, str) else ""


def _get_origin_or_setting(url: str) -> str:
    if (setting := PLACEHOLDER.match(url)) is not None:
        return setting[0]
    return get_url_origin(url) if url.startswith(("https://", "http://")) else ""


MAX_CUSTOM_PROVIDERS = 200


@dataclass(frozen=True, slots=True)
class CustomProvider:
    """A provider as it is stored. `version` is what a change of it has to name."""

    id: str
    document: Mapping[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ProviderUsage:
    """How much of the tenant's stands on a provider. `credentials` are the services that its accounts serve."""

    clients: int = 0
    accounts: int = 0
    credentials: int = 0

    def __bool__(self) -> bool:
        return bool(self.clients or self.accounts)

    def __str__(self) -> str:
        counted = {"OAuth client": self.clients, "account": self.accounts, "credential": self.credentials}
        return ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counted.items())


class CustomProviders:
    """Those of all tenants; `allow` says which hosts they may lead to, `modules` which modules they may serve."""

    def __init__(
        self, database: Database, book: ProviderRegistry, allow: AllowedAddresses, modules: Collection[str]
    ) -> None:
        self._database = database
        self._book = book
        self._allow = allow
        self._modules = frozenset(modules)

    async def find(self, tenant_id: UUID, provider: str) -> tuple[CustomProvider | None, ProviderUsage]:
        """The provider as it is stored, None for one of MCPist's own, and what stands on it.

        Raises:
            NotFound: the tenant has no such provider.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_FIND, provider)
            if row is None and provider not in self._book.own.known:
                raise NotFound("there is no such provider; `mcpist provider list` shows them")
            return None if row is None else _build_custom_provider(row), await _count_usage(work, provider)

    async def put(
        self, actor: Actor, tenant_id: UUID, provider: str, document: Mapping[str, Any], version: int | None
    ) -> tuple[CustomProvider, bool]:
        """Add a provider, or change the one whose `version` is given; and whether it is new. What is there already, to
        the letter, is left as it is.

        Raises:
            Invalid: the document is wrong, and the text names its keys; or the id is one of MCPist's own.
            NotFound: a version is given, and there is no such provider.
            Conflict: it has another version, or it would lead what stands on it to another host.
        """
        text = self.serialize_document(provider, document)
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_LOCK, provider)
            before = None if row is None else _build_custom_provider(row)
            if before is not None and before.document == orjson.loads(text):
                return before, False
            if before is None:
                stored = await self._insert(work, provider, text, version)
            else:
                stored = await self._change(work, before, text, version)
            kind, detail = AuditEventKind.PROVIDER_SET, {"provider": provider, "version": stored.version}
            await audit_change(work, actor, kind, **detail)
            return stored, before is None

    async def remove(self, actor: Actor, tenant_id: UUID, provider: str) -> None:
        """Forget a provider on which nothing stands.

        Raises:
            Invalid: it is one of MCPist's own.
            NotFound: the tenant has no such provider.
            Conflict: something stands on it; the text counts it, and says what to do.
        """
        if provider in self._book.own.known:
            raise Invalid(f"{provider} is a built-in provider and cannot be removed")
        async with self._database.tenant(tenant_id) as work:
            if await work.fetchrow(_LOCK, provider) is None:
                raise NotFound("there is no such provider; `mcpist provider list` shows them")
            if standing := await _count_usage(work, provider):
                raise Conflict(
                    f"the provider is in use by {standing}: remove its OAuth clients first "
                    f"(`mcpist oauth-client remove {provider}`), which also deletes the accounts connected by them"
                )
            await work.execute(_REMOVE, provider)
            await audit_change(work, actor, AuditEventKind.PROVIDER_REMOVED, provider=provider)

    def serialize_document(self, provider: str, document: Mapping[str, Any]) -> str:
        """The document as it is stored, if it may be.

        Raises:
            Invalid: it is wrong, and the text names its keys; or the id is one of MCPist's own.
        """
        read = self._book.own.parse_custom(provider, document, self._allow)
        check_modules(read, self._modules)
        try:
            text = orjson.dumps({key: value for key, value in document.items() if key != "id"}).decode()
        except TypeError:  # half of a pair of surrogates, and numbers that no JSON has
            text = "\\u0000"
        if "\\u0000" in text:
            raise Invalid(f"{provider}: a text or a number in it cannot be stored; give printable characters")
        return text

    async def _insert(self, work: UnitOfWork, provider: str, text: str, version: int | None) -> CustomProvider:
        if version is not None:
            raise NotFound("the provider was removed; add it without a version")
        row = await work.fetchrow(_INSERT, provider, text)
        if row is None:
            raise Conflict("the provider was just added by another request; read it and update that one")
        if (
            await work.fetchval(_COUNT) > MAX_CUSTOM_PROVIDERS
        ):  # after the row, which the tenant's generation puts in a line
            raise Conflict(f"limit of {MAX_CUSTOM_PROVIDERS} providers per tenant reached; remove an unused one")
        return _build_custom_provider(row)

    async def _change(self, work: UnitOfWork, before: CustomProvider, text: str, version: int | None) -> CustomProvider:
        if version is None:
            raise Conflict(f"provider {before.id} already exists; give its version ({before.version}) to change it")
        if version != before.version:
            raise Conflict(
                f"the provider was changed by another request and has version {before.version}; read it again"
            )
        if standing := await _count_usage(work, before.id):
            places = list_document_origins(before.document)
            moved = [f"{before.id}.{key}" for key, place in list_document_origins(orjson.loads(text)).items()
                     if place not in places.values()]  # fmt: skip
            if moved:
                raise Conflict(
                    f"{', '.join(sorted(moved))}: the provider is in use by {standing}, whose secrets must not be sent "
                    "to another host; remove the OAuth clients first, or add a provider with another id"
                )
        row = await work.fetchrow(_CHANGE, before.id, text)
        assert row is not None, "it is locked"
        return _build_custom_provider(row)


def _build_custom_provider(row: Row) -> CustomProvider:
    return CustomProvider(
        row["id"], orjson.loads(row["document"]), row["version"], row["created_at"], row["updated_at"]
    )


async def _count_usage(work: UnitOfWork, provider: str) -> ProviderUsage:
    row = await work.fetchrow(_STANDING, provider)
    assert row is not None, "counts are always there"
    return ProviderUsage(*row.values())


_FIND = """SELECT id, document, version, created_at, updated_at FROM vault.providers
    WHERE tenant_id = $1 AND id = $2"""
_LOCK = """SELECT id, document, version, created_at, updated_at FROM vault.providers
    WHERE tenant_id = $1 AND id = $2 FOR UPDATE"""
_INSERT = """INSERT INTO vault.providers (tenant_id, id, document) VALUES ($1, $2, $3::jsonb)
    ON CONFLICT (tenant_id, id) DO NOTHING RETURNING id, document, version, created_at, updated_at"""
_COUNT = "SELECT count(*) FROM vault.providers WHERE tenant_id = $1"
_CHANGE = """UPDATE vault.providers SET document = $3::jsonb, version = version + 1, updated_at = now()
    WHERE tenant_id = $1 AND id = $2 RETURNING id, document, version, created_at, updated_at"""
_REMOVE = "DELETE FROM vault.providers WHERE tenant_id = $1 AND id = $2"
_STANDING = """SELECT (SELECT count(*) FROM vault.oauth_clients WHERE tenant_id = $1 AND provider = $2),
    (SELECT count(*) FROM vault.accounts WHERE tenant_id = $1 AND provider = $2),
    (SELECT count(*) FROM vault.credentials c JOIN vault.accounts a ON a.tenant_id = $1 AND a.id = c.account_id
        WHERE c.tenant_id = $1 AND a.provider = $2)"""
