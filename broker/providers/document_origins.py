"""Origins in a provider document: those that receive secrets and tokens, and those that people are redirected to."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from broker.providers.field_types import PLACEHOLDER, as_table

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
    found: Any = document
    for key in path:
        table = as_table(found)
        found = None if table is None else table.get(key)
    return found if isinstance(found, str) else ""


def _get_origin_or_setting(url: str) -> str:
    if (setting := PLACEHOLDER.match(url)) is not None:
        return setting[0]
    return get_url_origin(url) if url.startswith(("https://", "http://")) else ""
