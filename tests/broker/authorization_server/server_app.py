"""An authorization server as programs and browsers meet it: the whole application, without a socket in between."""

import contextlib
import html
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from uuid import UUID

import httpx2

from broker.authorization_server.access_tokens import AccessTokens
from broker.authorization_server.authorization_codes import compute_code_challenge
from broker.authorization_server.authorization_request import AuthorizationRequestParser
from broker.authorization_server.client_authentication import ClientAuthentication, ReplayCache
from broker.authorization_server.client_document_reports import UnusableClientDocument
from broker.authorization_server.client_registry import Client, ClientRegistry
from broker.authorization_server.client_trust import FixedClientTrust
from broker.authorization_server.consents import Consents
from broker.authorization_server.dynamic_client_registration import DynamicClientRegistration
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.grant_records import ClientGrant
from broker.authorization_server.grants import Grants
from broker.authorization_server.jwks_cache import JwksCache
from broker.authorization_server.registered_clients import NewClient, RegisteredClients
from broker.authorization_server.signing_keys import open_signing_keys
from broker.authorization_server.token_endpoint import TokenEndpoint, TokenRevocation
from broker.identity.browser_sessions import Sessions
from broker.identity.settings import AuthorizationServerSettings, ClientTrust, IdentitySettings
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from broker.web.app import build_identity_app
from broker.web.oauth_endpoints import AuthorizationServerServices, build_oauth_routes
from broker.web.web_dependencies import build_web_dependencies
from core.audit.event import AuditEvent
from core.audit.truncation import unpack
from core.config.settings import Settings
from core.db import Database
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from core.scopes import MCP_SCOPES
from core.secret import Secret
from tests.broker.authorization_server.client_registry_app import ACTOR, PEPPERS, Clock
from tests.support.postgres import MadeTenant, ScratchDatabase

ISSUER = "https://mcp.example.com"
RESOURCE = f"{ISSUER}/mcp"
VERIFIER = "verifier-" * 6
CHALLENGE = compute_code_challenge(VERIFIER)
WEB = Client(
    id="https://agent.example/client.json",
    name="Agent",
    kind="metadata",
    redirect_uris=("https://agent.example/callback", "http://127.0.0.1/callback"),
    verified_host="agent.example",
)
DYNAMIC = Client(
    id="dyn_" + "a" * 22, name="Stranger", kind="dynamic", redirect_uris=("https://stranger.example/back",)
)
KNOWN = {client.id: client for client in (WEB, DYNAMIC)}
BOTH = " ".join(sorted(MCP_SCOPES))


class StubTokens:
    """Access tokens that say what they are for, where a test is not about their signature."""

    async def mint(self, grant: ClientGrant, now: object) -> tuple[Secret, int]:
        return Secret(f"{grant.tenant_id}.{grant.id}.{' '.join(sorted(grant.scopes))}"), 600

    async def find_grant(self, token: Secret) -> tuple[UUID, UUID] | None:
        try:
            tenant_id, grant_id, _ = token.reveal().split(".")
            return UUID(tenant_id), UUID(grant_id)
        except ValueError:
            return None


class StubAssertions:
    """Says of each assertion what a test told it to."""

    def __init__(self) -> None:
        self.known: dict[str, SimpleNamespace] = {}

    async def verify(self, assertion: str, client: Client) -> Any:
        if assertion not in self.known:
            raise OAuthError("invalid_grant", "not known")
        return self.known[assertion]


class StubKeys:
    async def get_jwks(self) -> bytes:
        return b'{"keys":[]}'


@dataclass(slots=True)
class AuthorizationServerApp:
    """The server, a tenant of it, and a browser that keeps its cookies."""

    scratch: ScratchDatabase
    tenant: MadeTenant
    broker: Database
    clock: Clock
    sessions: Sessions
    grants: Grants
    access_tokens: Any
    registered: RegisteredClients
    assertions: StubAssertions
    http: httpx2.AsyncClient
    secret: Secret | None = None

    @property
    def user(self) -> UUID:
        return self.tenant.users[0]

    async def sign_in(self, number: int = 0) -> None:
        """The browser is that user's from now on."""
        self.secret = await self.sessions.begin(self.tenant.id, self.tenant.users[number], "link")

    def sign_out(self) -> None:
        self.secret = None

    async def client(self, **options: Any) -> tuple[Client, Secret | None]:
        """A client that an administrator has registered."""
        asked = NewClient(**{"name": "Ours", "redirect_uris": ("https://ours.example/back",), **options})
        return await self.registered.create(ACTOR, self.tenant.id, asked)

    async def authorize(
        self, query: str | None = None, site: str | None = "cross-site", **changes: str | None
    ) -> httpx2.Response:
        """The browser follows a client's link; None leaves a parameter out."""
        asked = query if query is not None else urlencode(parameters(**changes), quote_via=quote)
        headers = {**({"Sec-Fetch-Site": site} if site else {}), **self._cookies()}
        return await self.http.get(f"/oauth/authorize?{asked}", headers=headers)

    async def press(self, page: httpx2.Response, decision: str = "allow", **changes: str) -> httpx2.Response:
        """Press a button of the page of consent; `changes` are other values in its fields."""
        form = {**fields(page), "decision": decision, **changes}
        headers = {"Origin": ISSUER, "Sec-Fetch-Site": "same-origin", **self._cookies()}
        return await self.http.post("/oauth/authorize", data=form, headers=headers)

    async def code(self, **changes: str | None) -> str:
        """Authorize and agree; the code that the client gets."""
        page = await self.authorize(**changes)
        if page.status_code == 200:
            return answer_of(await self.press(page))["code"]
        return answer_of(page)["code"]

    async def token(self, form: Mapping[str, str | None], headers: Mapping[str, str] | None = None) -> httpx2.Response:
        """A token request, of the public client unless the form names another; None leaves a field out."""
        sent = {name: value for name, value in {"client_id": WEB.id, **form}.items() if value is not None}
        return await self.http.post("/oauth/token", data=sent, headers=headers)

    async def redeem(
        self, code: str, changes: Mapping[str, str | None] | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": WEB.redirect_uris[0],
            "code_verifier": VERIFIER,
        }
        return await self.token({**form, **(changes or {})}, headers)

    async def refresh(self, token: str, **changes: str | None) -> httpx2.Response:
        return await self.token({"grant_type": "refresh_token", "refresh_token": token, **changes})

    async def execute(self, sql: str, *args: object) -> None:
        async with self.scratch.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        async with self.scratch.admin_connection() as admin:
            return await admin.fetchval(sql, *args)

    async def events(self, kind: str) -> list[AuditEvent]:
        async with self.scratch.admin_connection() as admin:
            rows = await admin.fetch("SELECT record FROM audit.incoming ORDER BY id")
        return [event for event in (unpack(row["record"]) for row in rows) if event.kind == kind]

    def _cookies(self) -> dict[str, str]:
        return {"Cookie": f"__Host-mcpist-session={self.secret.reveal()}"} if self.secret else {}


def parameters(**changes: str | None) -> dict[str, str]:
    """A right authorization request, or one with changes."""
    right = {
        "response_type": "code",
        "client_id": WEB.id,
        "redirect_uri": WEB.redirect_uris[0],
        "scope": "mcp:read mcp:write",
        "resource": RESOURCE,
        "state": "s 1/2+3&é",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    return {name: value for name, value in {**right, **changes}.items() if value is not None}


def fields(page: httpx2.Response) -> dict[str, str]:
    """The hidden fields of a page's form."""
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page.text)
    return {name: html.unescape(value) for name, value in found}


def location(response: httpx2.Response) -> str:
    """Where a redirect, or the page after a form, sends the browser."""
    if response.status_code in (302, 303):
        return response.headers["location"]
    assert response.status_code == 200, response.text
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', response.text)
    assert found is not None, response.text
    return html.unescape(found[1])


def answer_of(response: httpx2.Response) -> dict[str, str]:
    """The parameters that a client gets."""
    pairs = parse_qsl(urlsplit(location(response)).query, keep_blank_values=True)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


class _FixedClients:
    async def find(self, url: str) -> Client | None:
        return KNOWN.get(url)

    async def read(self, url: str) -> Client:
        if url not in KNOWN:
            raise UnusableClientDocument("form")
        return KNOWN[url]


async def _signing(broker: Database, clock: Clock) -> tuple[Any, Any]:
    provider = InMemoryKeyProvider("k1", {"k1": b"k" * 32})
    await open_vault(broker, provider, clock=clock)
    keys, _ = await open_signing_keys(broker, provider, clock=clock)
    life = timedelta(minutes=10)
    tokens = AccessTokens(keys, broker, issuer=ISSUER, resource=RESOURCE, lifetime=life, clock=clock)
    return tokens, keys


@contextlib.asynccontextmanager
async def server_on(
    database: ScratchDatabase,
    tenant: MadeTenant,
    *,
    signing: bool = False,
    **settings: Any,
) -> AsyncIterator[AuthorizationServerApp]:
    """The whole application, with tokens that are really signed if asked for; `settings` are those of
    identity.toml."""
    clock = Clock()
    async with database.open("mcpist_broker", max_connections=25) as broker:
        parts = build_web_dependencies(
            Settings(home=Path("/nowhere"), public_url=ISSUER, failed_auth_per_minute=20),
            IdentitySettings(authorization_server=AuthorizationServerSettings(**settings)),
            clock,
        )
        clients = ClientRegistry(broker, _FixedClients(), clock=clock, built_in=[DYNAMIC])
        published = JwksCache(JsonDocumentFetcher(AllowedAddresses.from_hosts([]), seconds=1), clock=clock.seconds)
        authentication = ClientAuthentication(
            clients,
            PEPPERS,
            ReplayCache(broker, clock=clock),
            published,
            issuer=ISSUER,
            token_endpoint=f"{ISSUER}/oauth/token",
            clock=clock,
        )
        grants, sessions, assertions = Grants(broker, clock=clock), Sessions(broker, clock=clock), StubAssertions()
        tokens, keys = await _signing(broker, clock) if signing else (StubTokens(), StubKeys())
        endpoint = TokenEndpoint(
            authentication=authentication,
            clients=clients,
            grants=grants,
            access_tokens=tokens,
            assertions=assertions,
            resource=RESOURCE,
            clock=clock,
        )
        trust = FixedClientTrust(parts.identity.authorization_server.trust or ClientTrust())
        app = AuthorizationServerServices(
            AuthorizationRequestParser(clients, RESOURCE),
            endpoint,
            TokenRevocation(authentication, grants, tokens),
            sessions,
            Consents(broker, clock=clock),
            grants,
            keys,
            DynamicClientRegistration(broker, trust=trust, clock=clock, seconds=clock.seconds),
            trust,
        )
        app = build_identity_app(parts, build_oauth_routes(parts, app, monotonic=clock.seconds))
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url=ISSUER) as http:
            registered = RegisteredClients(broker, PEPPERS, clock=clock)
            yield AuthorizationServerApp(
                database, tenant, broker, clock, sessions, grants, tokens, registered, assertions, http
            )
