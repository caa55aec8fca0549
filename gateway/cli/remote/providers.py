"""Vendors at a server: those of MCPist's own, and those that administrators add."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from broker.connect.shown_providers import ShownProvider, WholeProvider
from broker.providers.drafts import Draft, Wish
from core.errors import NotFound
from gateway.cli.remote.api import Api


def providers(api: Api) -> list[ShownProvider]:
    """All of them, by id."""
    return list(api.all("/providers", ShownProvider))


def whole(api: Api, provider: str) -> WholeProvider:
    """One with its document.

    Raises:
        NotFound: there is none.
    """
    try:
        return api.get("/providers/{}", WholeProvider, provider)
    except NotFound:
        raise NotFound(_missing(provider)) from None


def put(api: Api, provider: str, document: Mapping[str, Any], *, replace: bool) -> tuple[WholeProvider, bool]:
    """Add a provider, or change the one that is there now; it, and whether it is new."""
    body: dict[str, Any] = {"document": document}
    if replace:
        body["version"] = _version(api, provider)
    answer = api.change("PUT", "/providers/{}", body, provider, missing=_missing(provider))
    return msgspec.json.decode(answer.body, type=WholeProvider), answer.status == 201


def remove_provider(api: Api, provider: str) -> None:
    """Forget a provider on which nothing stands."""
    api.delete("/providers/{}", provider, missing=_missing(provider))


def discovered(api: Api, wish: Wish) -> Draft:
    """What a server says of itself, as a document."""
    body = {name: value for name, value in asdict(wish).items() if value}
    made, _ = api.make("/providers/discover", Draft, body)
    return made


def _version(api: Api, provider: str) -> int | None:
    try:
        return whole(api, provider).version
    except NotFound:
        return None


def _missing(provider: str) -> str:
    return f"there is no provider {provider[:100]}; `mcpist provider list` shows them"
