"""Vendors at a server: those of MCPist's own, and those that administrators add."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from broker.providers.drafts import DraftRequest, ProviderDraft
from broker.providers.views import DetailedProvider, ProviderSummary
from cli.client.admin_api import AdminApiClient
from core.errors import NotFound


def fetch_providers(api: AdminApiClient) -> list[ProviderSummary]:
    """Fetch all of them, by id."""
    return list(api.iterate("/providers", ProviderSummary))


def fetch_provider(api: AdminApiClient, provider: str) -> DetailedProvider:
    """Fetch one with its document.

    Raises:
        NotFound: there is none.
    """
    try:
        return api.get("/providers/{}", DetailedProvider, provider)
    except NotFound:
        raise NotFound(_format_not_found(provider)) from None


def put_provider(
    api: AdminApiClient, provider: str, document: Mapping[str, Any], *, replace: bool
) -> tuple[DetailedProvider, bool]:
    """Add a provider, or change the one that is there now; it, and whether it is new."""
    body: dict[str, Any] = {"document": document}
    if replace:
        body["version"] = _fetch_version(api, provider)
    response = api.change("PUT", "/providers/{}", body, provider, missing=_format_not_found(provider))
    return msgspec.json.decode(response.body, type=DetailedProvider), response.status == 201


def remove_provider(api: AdminApiClient, provider: str) -> None:
    """Forget a provider on which nothing stands."""
    api.delete("/providers/{}", provider, missing=_format_not_found(provider))


def discover_provider(api: AdminApiClient, request: DraftRequest) -> ProviderDraft:
    """Draft a provider document from the metadata of a server."""
    body = {name: value for name, value in asdict(request).items() if value}
    draft, _ = api.create("/providers/discover", ProviderDraft, body)
    return draft


def _fetch_version(api: AdminApiClient, provider: str) -> int | None:
    try:
        return fetch_provider(api, provider).version
    except NotFound:
        return None


def _format_not_found(provider: str) -> str:
    return f"there is no provider {provider[:100]}; `mcpist provider list` shows them"
