"""The providers that there are: those that come with MCPist, and those that a tenant's administrators have added."""

import contextlib
import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import orjson
from pydantic import ValidationError

from broker.providers.field_types import as_table
from broker.providers.schema import Provider
from broker.providers.templates import check_placeholders, fill_url, list_outbound_urls, resolve_settings
from core.db import UnitOfWork
from core.errors import Invalid, NotFound
from core.http.guarded_client import is_askable_url
from core.http.origins import get_origin
from core.http.outbound_addresses import AllowedAddresses

PROVIDERS_FILE = "providers.toml"
MOST_DOCUMENT = 32 * 1024
MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class ProviderCatalogue:
    """Providers by id. `broken` tells why a stored one cannot be used, such as after an update."""

    known: Mapping[str, Provider]
    broken: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def get(self, provider_id: str) -> Provider:
        """The provider.

        Raises:
            NotFound: there is none of that id.
            Invalid: its document is broken.
        """
        if provider_id in self.broken:
            raise Invalid(self.broken[provider_id])
        if provider_id not in self.known:
            raise NotFound(f"there is no provider {provider_id[:40]!r}; there are: {', '.join(sorted(self.known))}")
        return self.known[provider_id]

    def merge_custom(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> "ProviderCatalogue":
        """These and those that a tenant has added, as ids and documents. One that cannot be read harms no other."""
        providers, broken = dict(self.known), dict(self.broken)
        for provider_id, document in rows:
            try:
                providers[provider_id] = self.parse_custom(provider_id, document)
            except Invalid as problem:
                broken[provider_id] = str(problem)
        return ProviderCatalogue(MappingProxyType(providers), MappingProxyType(broken))

    def parse_custom(
        self, provider_id: str, document: Mapping[str, Any], allow: AllowedAddresses | None = None
    ) -> Provider:
        """An administrator's own provider, checked; with `allow`, also that its URLs may be reached.

        Raises:
            Invalid: the text names each wrong key and what is allowed there.
        """
        if provider_id in self.known:
            raise Invalid(f"{provider_id} is a built-in provider; choose another id")
        if len(json.dumps(document, default=str)) > MOST_DOCUMENT:
            raise Invalid(f"a provider document must have at most {MOST_DOCUMENT // 1024} KiB")
        provider = _parse_provider(provider_id, document)
        if allow is not None:
            _check_reach(provider, allow)
        return provider


@cache
def load_builtin_providers() -> ProviderCatalogue:
    """Those that come with MCPist.

    Raises:
        Invalid: the file that came with it was changed, and is wrong.
    """
    return parse_providers_toml((files("broker") / PROVIDERS_FILE).read_text("utf-8"))


def parse_providers_toml(text: str) -> ProviderCatalogue:
    """Providers of a TOML document: a table for each, by its id.

    Raises:
        Invalid: it is no TOML, or the text names each wrong key and what is allowed there.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{PROVIDERS_FILE} is not valid TOML: {error}") from None
    return ProviderCatalogue(
        MappingProxyType({provider: _parse_provider(provider, table) for provider, table in document.items()})
    )


def parse_provider_text(text: str) -> tuple[str, dict[str, Any]]:
    """The id and document of the one provider in a text, as an administrator writes it: a table of TOML, or an object
    of JSON. Not checked yet.

    Raises:
        Invalid: it is neither, or not exactly one table.
    """
    if len(text) > MOST_DOCUMENT:
        raise Invalid(f"a provider document must have at most {MOST_DOCUMENT // 1024} KiB")
    try:
        document: Any = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        json.dumps(document)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"the document is not valid TOML: {error}") from None
    except json.JSONDecodeError as error:
        raise Invalid(f"the document is not valid JSON: {error}") from None
    except TypeError:  # TOML has dates
        raise Invalid("a provider document must not contain dates; use texts, numbers, lists and tables") from None
    except RecursionError:
        raise Invalid("the document is nested too deeply") from None
    if len(document) != 1 or (table := as_table(next(iter(document.values())))) is None:
        raise Invalid('give one table, named by the provider\'s id: [my_vendor], or {"my_vendor": {...}}')
    return next(iter(document)), table


def check_modules(provider: Provider, modules: Collection[str]) -> None:
    """Check that there are the modules that a provider serves.

    Raises:
        Invalid: the text names the key, and those that there are.
    """
    if unknown := provider.modules.keys() - set(modules):
        there, key = ", ".join(sorted(modules)) or "none", f"{provider.id}.modules.{min(unknown)}"
        raise Invalid(f"{key}: there is no module of that name that has a vendor; there are: {there}")


def _parse_provider(provider_id: str, document: object) -> Provider:
    table = as_table(document)
    if table is None:
        raise Invalid(f"{provider_id[:40]}: give a table")
    if table.get("id", provider_id) != provider_id:
        raise Invalid(f"{provider_id[:40]}.id: leave it out, the table's name is the id")
    try:
        provider = Provider.model_validate({**table, "id": provider_id})
    except ValidationError as error:
        raise Invalid("\n".join(_describe_problems(provider_id, error))) from None
    check_placeholders(provider)
    return provider


def _check_reach(provider: Provider, allow: AllowedAddresses) -> None:
    """Check the URLs whose hosts are known already; a setting's are checked when an OAuth client has it."""
    examples = {
        name: setting.default or ("https://setting.example" if setting.kind != "word" else "setting")
        for name, setting in provider.settings.items()
    }
    for key, url in list_outbound_urls(provider, examples):
        if not is_askable_url(allow, url):
            raise Invalid(
                f"{provider.id}.{key}: MCPist may only reach public hosts by https on port 443, and those that "
                "MCPIST_ALLOWED_PRIVATE_HOSTS lists"
            )


def _describe_problems(provider_id: str, error: ValidationError) -> Iterable[str]:
    for problem in error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]:
        key = ".".join([provider_id, *(str(part) for part in problem["loc"])])[:200]
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = "there is no such key"
        elif problem["type"] == "missing":
            message = "it is missing"
        yield f"{key}: {message}"


class ProviderRegistry:
    """All providers of all tenants."""

    def __init__(self, own: ProviderCatalogue) -> None:
        self.own = own

    async def find(self, work: UnitOfWork, provider: str) -> Provider | None:
        """The provider of that id; None where the tenant has none, or its document cannot be used."""
        return self.own.known.get(provider) or self._parse_usable(provider, await work.fetchval(_DOCUMENT, provider))

    async def find_and_lock(self, work: UnitOfWork, provider: str) -> Provider | None:
        """The same, and it stays as it is until the work is done: for what is going to stand on it."""
        return self.own.known.get(provider) or self._parse_usable(provider, await work.fetchval(_HOLD, provider))

    async def load_all(self, work: UnitOfWork) -> ProviderCatalogue:
        """Every provider that the tenant has, and which of its own are broken."""
        rows = await work.fetch(_DOCUMENTS)
        return self.own.merge_custom((row["id"], _parse_document(row["document"])) for row in rows)

    def _parse_usable(self, provider: str, document: Any) -> Provider | None:
        return (
            None
            if document is None
            else self.own.merge_custom([(provider, _parse_document(document))]).known.get(provider)
        )


def _parse_document(document: Any) -> dict[str, Any]:
    return orjson.loads(document)


_DOCUMENT = "SELECT document FROM vault.providers WHERE tenant_id = $1 AND id = $2"
_HOLD = "SELECT document FROM vault.providers WHERE tenant_id = $1 AND id = $2 FOR SHARE"
_DOCUMENTS = "SELECT id, document FROM vault.providers WHERE tenant_id = $1 ORDER BY id LIMIT 200"


def get_token_endpoint_key(tenant_id: UUID, provider: Provider, settings: Mapping[str, str]) -> str:
    """The origin of the token endpoint, for every tenant the same where the provider is MCPist's own and its host not
    changed; else the tenant's alone: a server of their own must not speak for other tenants' accounts."""
    origin = _get_token_origin(provider, settings)
    if (
        origin
        and load_builtin_providers().known.get(provider.id) == provider
        and origin == _get_token_origin(provider, {})
    ):
        return origin
    return f"{tenant_id} {origin}"


def get_api_endpoint_key(tenant_id: UUID, origin: str) -> str:
    """Return the key of an API at `origin`: shared by all tenants for a built-in provider's, else the tenant's own."""
    return origin if origin in _list_builtin_api_origins() else f"{tenant_id} {origin}"


@cache
def _list_builtin_api_origins() -> frozenset[str]:
    origins: set[str] = set()
    for provider in load_builtin_providers().known.values():
        with contextlib.suppress(Invalid):  # it has a setting that every tenant chooses
            values = resolve_settings(provider, {})
            origins |= {get_origin(fill_url(url, values)) for url in provider.api}
    return frozenset(origins)


def _get_token_origin(provider: Provider, settings: Mapping[str, str]) -> str:
    """Return scheme and host; "" where a setting is missing or wrong."""
    if provider.oauth is None:
        return ""
    try:
        parts = urlsplit(fill_url(provider.oauth.token_url, resolve_settings(provider, settings)))
    except Invalid:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
