"""Google's, Microsoft's and GitHub's sign-in on loopback, as far as we use it.

They refuse what the vendors refuse: other redirect URIs, a wrong secret, a code twice, a wrong PKCE verifier, a request
without a token. Each person is signed in without being asked.
"""

import base64
import contextlib
import functools
import hashlib
import json
import secrets
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from joserfc import jws
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from core.http_server.server import HttpServer
from core.http_server.server import run_http_server as serve

CLIENT_ID, CLIENT_SECRET = "client", "vendor+secret/with:signs%"
DIRECTORY = "11111111-2222-3333-4444-555555555555"


@functools.cache
def _key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "k"}, auto_kid=False)


@dataclass(slots=True)
class Vendor:
    """What all three have: an authorization endpoint, codes, a token endpoint."""

    redirect_uri: str
    origin: str = ""
    now: Any = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    key: RSAKey = field(default_factory=_key)

    def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.asked.append(asked)
        if asked.get("redirect_uri") != self.redirect_uri or asked.get("client_id") != CLIENT_ID:
            return Response("redirect_uri_mismatch", 400)
        if asked.get("code_challenge_method") != "S256" or len(asked.get("code_challenge", "")) != 43:
            return Response("no challenge", 400)
        code = secrets.token_urlsafe(32)
        self.codes[code] = asked
        return RedirectResponse(f"{self.redirect_uri}?code={code}&state={asked['state']}", 302)

    async def redeemed(self, request: Request) -> dict[str, str] | str:
        """The authorization request of the code, or an error."""
        form = dict(await request.form())
        sent = {name: str(value) for name, value in form.items()}
        basic = request.headers.get("authorization", "")
        if basic.startswith("Basic "):
            client, _, secret = base64.b64decode(basic[6:]).decode().partition(":")
            sent |= {"client_id": client, "client_secret": secret}
        if (sent.get("client_id"), sent.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return "invalid_client"
        asked = self.codes.pop(sent.get("code", ""), None)
        if asked is None or sent.get("redirect_uri") != self.redirect_uri:
            return "invalid_grant"
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return "invalid_grant"
        return asked


@dataclass(slots=True)
class OpenIdVendor(Vendor):
    """Google, or Microsoft with `path` below which its directory lies."""

    path: str = ""
    named: str = ""  # another issuer than its own, in the metadata and in its tokens
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | None = None
    userinfo_asked: int = 0

    @property
    def issuer(self) -> str:
        return self.named or self.origin + self.path

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route(f"{self.path}/.well-known/openid-configuration", self.metadata),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/keys", self.keys),
                Route("/userinfo", self.user),
            ]
        )

    def metadata(self, request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.origin}/authorize",
                "token_endpoint": f"{self.origin}/token",
                "jwks_uri": f"{self.origin}/keys",
                "userinfo_endpoint": f"{self.origin}/userinfo",
                "id_token_signing_alg_values_supported": ["RS256"],
                "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            }
        )

    def keys(self, request: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def token(self, request: Request) -> Response:
        asked = await self.redeemed(request)
        if isinstance(asked, str):
            return JSONResponse({"error": asked, "error_description": "EVIL TEXT"}, 400)
        now = int(self.now().timestamp())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "1",
            "nonce": asked["nonce"],
            "iat": now,
            "exp": now + 60,
        }
        header = {"alg": "RS256", "kid": "k", "typ": "JWT"}
        token = jws.serialize_compact(header, json.dumps(claims | self.claims), self.key)
        return JSONResponse({"access_token": "vendor-token", "token_type": "Bearer", "id_token": token})

    def user(self, request: Request) -> Response:
        self.userinfo_asked += 1
        if request.headers.get("authorization") != "Bearer vendor-token" or self.userinfo is None:
            return Response(status_code=401)
        return JSONResponse(self.userinfo)


@dataclass(slots=True)
class GitHubVendor(Vendor):
    """GitHub: errors of the token endpoint come with 200."""

    user: Any = field(default_factory=lambda: {"id": 583231, "login": "ada", "name": "Ada"})
    emails: Any = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/login/oauth/authorize", self.authorize),
                Route("/login/oauth/access_token", self.token, methods=["POST"]),
                Route("/api/user", self.about),
                Route("/api/user/emails", self.addresses),
            ]
        )

    async def token(self, request: Request) -> Response:
        asked = await self.redeemed(request)
        if isinstance(asked, str):
            error = "bad_verification_code" if asked == "invalid_grant" else "incorrect_client_credentials"
            return JSONResponse({"error": error, "error_description": "EVIL TEXT"})
        if request.headers.get("accept") != "application/json":
            return Response("access_token=gho_1&scope=user", media_type="application/x-www-form-urlencoded")
        return JSONResponse(
            {"access_token": "gho_1", "token_type": "bearer", "scope": asked["scope"].replace(" ", ",")}
        )

    def about(self, request: Request) -> Response:
        return self._said(request, self.user)

    def addresses(self, request: Request) -> Response:
        return self._said(request, self.emails)

    def _said(self, request: Request, what: Any) -> Response:
        if request.headers.get("authorization") != "Bearer gho_1" or not request.headers.get("user-agent"):
            return JSONResponse({"message": "Bad credentials EVIL TEXT"}, 401)
        return JSONResponse(what)


@contextlib.asynccontextmanager
async def serving(vendor: "OpenIdVendor | GitHubVendor") -> AsyncIterator[None]:
    """The vendor on a loopback port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        vendor.origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with serve(HttpServer(vendor.app()), listener):  # type: ignore[arg-type]
            yield
