"""The product's pages of sign-in on a real database, in this process, with the providers that a test gives them."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from broker.authorization_server.grants import Grants
from broker.identity.api_tokens import ApiTokens
from broker.identity.identity_services import build_identity_services
from broker.identity.peppers import Peppers
from broker.identity.provider_registry import StoredProviders
from broker.identity.settings import IdentitySettings
from broker.mandates.mandates import Mandates
from broker.web import account_pages, sign_in_pages
from broker.web.app import build_identity_app
from broker.web.web_dependencies import build_web_dependencies
from core.config.settings import Settings
from core.db import Database
from server.wiring.outbound_http import open_idp_http
from tests.broker.identity.browser import PUBLIC_URL, Browser, browser_on
from tests.broker.identity.people import People
from tests.support.postgres import ScratchDatabase


@dataclass(slots=True)
class RealClock:
    """Providers live in real time; a test may add to it."""

    ahead: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(slots=True)
class IdentityApp:
    """The pages and who lives there. `people.clock` is not used: `clock` is real."""

    people: People
    app: ASGIApp
    clock: RealClock

    def browser(self, address: str = "192.0.2.7") -> "contextlib.AbstractAsyncContextManager[Browser]":
        """A browser with no cookie yet."""
        return browser_on(self.app, address)

    async def signed_in_as(self, browser: Browser) -> str:
        """The address of whom the browser is signed in as; empty for nobody."""
        from core.secret import Secret

        cookie = browser.cookies.get("__Host-mcpist-session", "")
        session = await self.people.sessions.find(Secret(cookie))
        return session.email if session else ""


def oidc(issuer: str, client_id: str, client_secret: str, provider_id: str = "company") -> dict[str, Any]:
    """The settings of an OpenID provider."""
    return {
        "id": provider_id,
        "kind": "oidc",
        "label": provider_id.capitalize(),
        "issuer": issuer,
        "client_id": client_id,
        "client_secret": client_secret,
    }


def callback(provider_id: str = "company") -> str:
    """The redirect URI of a provider."""
    return f"{PUBLIC_URL}/sign-in/callback/{provider_id}"


@contextlib.asynccontextmanager
async def house_on(
    database: ScratchDatabase,
    providers: Iterable[dict[str, Any]],
    stored: Callable[[Database, RealClock], StoredProviders] | None = None,
    **settings_file: Any,
) -> AsyncIterator[IdentityApp]:
    clock = RealClock()
    identity = IdentitySettings.model_validate({"providers": list(providers), **settings_file})
    settings = Settings(home=Path("/nowhere"), public_url=PUBLIC_URL)
    async with (
        database.open("mcpist_broker") as broker,
        database.open("mcpist_console") as console,
        open_idp_http(settings, identity.providers) as http,
    ):
        of_database = stored(broker, clock) if stored else None
        door = build_identity_services(
            broker, identity.providers, PUBLIC_URL, clock=clock, http=http, stored=of_database
        )
        parts = build_web_dependencies(settings, identity, clock)
        grants = Grants(broker, clock=clock)
        tokens = ApiTokens(broker, Peppers("k", {"k": b"p" * 32}), clock=clock)
        app = build_identity_app(
            parts,
            [
                *sign_in_pages.build_sign_in_routes(parts, door),
                *account_pages.build_account_routes(parts, door, tokens, Mandates(broker, clock=clock), grants),
            ],
        )
        yield IdentityApp(People(database, console, broker, clock, door), app, clock)  # type: ignore[arg-type]
