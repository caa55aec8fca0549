"""An identity application without identity: routes of a test's own, asked over ASGI."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from starlette.routing import Route

from broker.identity.settings import IdentitySettings
from broker.web.app import identity_app
from broker.web.parts import WebParts, web_parts
from core.settings import Settings

URL = "https://mcp.acme.test"
AT = datetime(2026, 11, 22, tzinfo=UTC)


def parts_for(url: str = URL, **settings: Any) -> WebParts:
    """What a deployment at `url` gives its routes."""
    return web_parts(Settings(home=Path("/nowhere"), public_url=url, **settings), IdentitySettings(), lambda: AT)


def client_of(parts: WebParts, routes: Sequence[Route], *, base_url: str = "") -> httpx2.AsyncClient:
    """A client of these routes; it follows no redirects."""
    transport = httpx2.ASGITransport(identity_app(parts, routes), client=("192.0.2.9", 1))
    return httpx2.AsyncClient(transport=transport, base_url=base_url or parts.settings.public_url)
