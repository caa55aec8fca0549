"""An identity application without identity: routes of a test's own, asked over ASGI."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from starlette.routing import Route

from broker.identity.settings import IdentitySettings
from broker.web.app import build_identity_app
from broker.web.web_dependencies import WebDependencies, build_web_dependencies
from core.config.settings import Settings

URL = "https://mcp.acme.test"
AT = datetime(2026, 11, 22, tzinfo=UTC)


def parts_for(url: str = URL, **settings: Any) -> WebDependencies:
    """What a deployment at `url` gives its routes."""
    return build_web_dependencies(
        Settings(home=Path("/nowhere"), public_url=url, **settings), IdentitySettings(), lambda: AT
    )


def client_of(parts: WebDependencies, routes: Sequence[Route], *, base_url: str = "") -> httpx2.AsyncClient:
    """A client of these routes; it follows no redirects."""
    transport = httpx2.ASGITransport(build_identity_app(parts, routes), client=("192.0.2.9", 1))
    return httpx2.AsyncClient(transport=transport, base_url=base_url or parts.settings.public_url)
