"""A vendor on a socket: who asks, in which form, and only then what for."""

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import import_key

from broker.oauth_client.types import OAuthClientConfig
from broker.providers.catalogue import load_builtin_providers
from broker.providers.schema import Provider
from core.secret import Secret
from tests.support.reuse import REUSES
from tests.support.vendor_tokens.state import Fault, Refused, State
from tests.support.vendor_tokens.styles import Style

SECRET = "client-secret+of/our own app"  # signs that Basic has to encode (RFC 6749 §2.3.1)
PLAIN_SECRET = "client-secret-of-our-own-app"


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class VendorTokens:
    """One vendor. `wrong` lists what was not as the vendor has it."""

    style: Style
    state: State
    url: str = ""
    secret: str = SECRET
    keys: set[str] = field(default_factory=set[str])
    faults: list[Fault] = field(default_factory=list[Fault])
    asked: list[Asked] = field(default_factory=list[Asked])
    wrong: list[str] = field(default_factory=list[str])
    overrides: dict[str, Any] = field(default_factory=dict[str, Any])
    """Refusals in place of the style's."""
    resources: dict[str, Any] = field(default_factory=dict[str, Any])
    forbidden: set[str] = field(default_factory=set[str])
    certificate: x509.Certificate | None = None
    """With one, the client proves itself by an assertion."""
    assertion_ids: set[str] = field(default_factory=set[str])
    stalled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def provider(self) -> Provider:
        """The product's provider, with the vendor's hosts replaced by this one."""
        return at(load_builtin_providers().get(self.style.provider_id), self.url)

    @property
    def client(self) -> OAuthClientConfig:
        settings = dict.fromkeys(self.style.settings, self.url)
        return OAuthClientConfig(self.style.client_id, Secret(self.secret), settings=settings)

    def refusal(self, kind: str) -> web.Response:
        status, body = self.overrides.get(kind, self.style.refusals.get(kind))()
        return web.json_response(body, status=status)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        body = await request.read()
        self.asked.append(Asked(request.method, request.path, dict(request.headers), body))
        if request.method == "POST" and request.path == self.style.token_path:
            return await self._token(request, body)
        if self._is_revocation(request):
            return self._revoke(request, body)
        if request.path in self.resources:
            return self._resource(request)
        self.wrong.append(f"nothing here: {request.method} {request.path}")
        return web.json_response({"message": "Not Found"}, status=404)

    async def _token(self, request: web.Request, body: bytes) -> web.StreamResponse:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not fault.is_after:
            return _broken(request, fault)
        try:
            answer = self._granted(request, body)
        except Refused as refused:
            return self.refusal(refused.kind)
        if fault is not None:
            return await self._after(request, fault, answer)
        if self.style.form_unless_asked and "json" not in request.headers.get("Accept", ""):
            text = urlencode(answer)
            return web.Response(text=text, content_type="application/x-www-form-urlencoded")
        return web.json_response(answer, status=self.style.ok_status)

    def _granted(self, request: web.Request, body: bytes) -> dict[str, Any]:
        fields = self._fields(request, body, self.style.takes)
        self._check_client(request, fields, self.style.client_auth)
        if not self.style.pkce and "code_verifier" in fields:
            self.wrong.append("code_verifier is unknown here")
            raise Refused("request")
        match fields.get("grant_type"):
            case "authorization_code":
                answer = self.state.redeem(fields)
            case "refresh_token":
                answer = self.state.refresh(fields.get("refresh_token", ""))
            case _:
                raise Refused("request")
        if self.style.claims is not None:
            answer["id_token"] = id_token({"aud": self.style.client_id, **self.style.claims})
        return answer

    def _fields(self, request: web.Request, body: bytes, form: str) -> dict[str, str]:
        media = {"form": "application/x-www-form-urlencoded", "json": "application/json"}[form]
        if request.content_type != media or any(name not in request.headers for name in self.style.headers):
            self.wrong.append(f"sent as {request.content_type}, or without {self.style.headers}")
            raise Refused("request")
        if not request.headers.get("User-Agent"):
            self.wrong.append("no User-Agent")
            raise Refused("request")
        return json.loads(body) if form == "json" else dict(parse_qsl(body.decode(), keep_blank_values=True))

    def _check_client(self, request: web.Request, fields: dict[str, str], allowed: frozenset[str]) -> None:
        if self.certificate is not None:
            self._check_assertion(fields)
            return
        expected = (self.style.client_id, self.secret)
        if (given := _basic(request)) is not None:
            if "client_secret" in fields:
                self.wrong.append("the client proves itself twice")
            kind = "basic"
        else:
            given, kind = (fields.get("client_id", ""), fields.get("client_secret", "")), "post"
        if given != expected or kind not in allowed:
            raise Refused("client")

    def _check_assertion(self, fields: dict[str, str]) -> None:
        """As Microsoft does (Entra, *Certificate credentials*): the certificate is found by ``x5t#S256``, an assertion
        is good once."""
        assert self.certificate is not None
        try:
            if fields["client_assertion_type"] != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
                raise ValueError("another type of assertion")
            if "client_secret" in fields:
                raise ValueError("the client proves itself twice")
            key = import_key(self.certificate.public_bytes(Encoding.PEM), "RSA")
            token = jwt.decode(fields["client_assertion"], key, algorithms=["PS256"])
            thumbprint = base64.urlsafe_b64encode(self.certificate.fingerprint(SHA256())).decode().rstrip("=")
            if token.header != {"alg": "PS256", "typ": "JWT", "x5t#S256": thumbprint}:
                raise ValueError("another header")
            claims, now = token.claims, time.time()
            if claims["aud"] != f"{self.url}{self.style.token_path}" or fields["client_id"] != self.style.client_id:
                raise ValueError("another audience or client")
            if claims["iss"] != self.style.client_id or claims["sub"] != self.style.client_id:
                raise ValueError("another issuer or subject")
            if not claims["nbf"] <= now < claims["exp"] <= now + 600 or claims["jti"] in self.assertion_ids:
                raise ValueError("out of its time, or sent before")
            self.assertion_ids.add(claims["jti"])
        except (KeyError, ValueError, JoseError) as error:
            self.wrong.append(f"client assertion: {error!r}")
            raise Refused("client") from None

    def _is_revocation(self, request: web.Request) -> bool:
        if self.style.revoke is None:
            return False
        method, path, *_ = self.style.revoke
        return (request.method, request.path) == (method, path.format(client_id=self.style.client_id))

    def _revoke(self, request: web.Request, body: bytes) -> web.Response:
        assert self.style.revoke is not None
        _, _, form, name, status = self.style.revoke
        try:
            fields = self._fields(request, body, form)
            auth = self.style.revoke_client_auth
            if auth != "nothing":
                self._check_client(request, fields, frozenset({auth}) if auth else self.style.client_auth)
        except Refused as refused:
            return self.refusal(refused.kind)
        if not self.state.revoke(fields.get(name, "")):
            return web.json_response({"error": "invalid_token"}, status=422 if status == 204 else 400)
        return web.Response(status=status) if status == 204 else web.json_response({}, status=status)

    def _resource(self, request: web.Request) -> web.Response:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        pair = _basic(request)
        key = pair[0] if pair and pair[1] == "api_token" else token if scheme == "Bearer" else ""
        if any(name not in request.headers for name in self.style.headers):
            self.wrong.append(f"without {self.style.headers}")
        if not (self.state.alive(key) or key in self.keys):
            return web.json_response({"message": "Bad credentials"}, status=403 if pair else 401)
        if request.path in self.forbidden:
            return web.json_response({"error": "insufficient_scope"}, status=403)
        return web.json_response(self.resources[request.path])

    async def _after(self, request: web.Request, fault: Fault, answer: dict[str, Any]) -> web.StreamResponse:
        if fault.kind == "garbage":
            return web.Response(text=fault.body, headers=fault.headers)
        if fault.kind == "stall_after":
            await self.stalled.wait()
        if fault.kind == "cut":
            whole = json.dumps(answer).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(whole)}\r\n\r\n"
            assert request.transport is not None
            request.transport.write(head.encode() + whole[: len(whole) // 2])
        return _hung_up(request)


def at(provider: Provider, url: str) -> Provider:
    """`provider` with every host that MCPist itself would ask replaced by the one of `url`."""

    def moved(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: moved(value) if key != "issuer" else value for key, value in found.items()}
        if isinstance(found, str) and found.startswith("https://") and not found.startswith("https://www.googleapis"):
            return url + (urlsplit(found).path or "/")
        return found

    document = provider.model_dump(by_alias=True, exclude_unset=True)
    oauth = document.get("oauth", {})
    kept = {key: oauth[key] for key in ("scope_prefix", "scope_aliases", "scope_implies") if key in oauth}
    document = moved({key: value for key, value in document.items() if key not in ("settings", "modules")})
    if oauth:
        document["oauth"] |= kept
    return Provider.model_validate({**provider.model_dump(by_alias=True, exclude_unset=True), **document})


def id_token(claims: dict[str, Any]) -> str:
    """An ID token whose signature nobody looks at."""
    parts = ({"alg": "RS256"}, claims)
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), "c2ln"]
    )


def _basic(request: web.Request) -> tuple[str, str] | None:
    scheme, _, told = request.headers.get("Authorization", "").partition(" ")
    if scheme != "Basic":
        return None
    user, _, password = base64.b64decode(told).decode().partition(":")
    return unquote_plus(user), unquote_plus(password)


def _broken(request: web.Request, fault: Fault) -> web.StreamResponse:
    if fault.kind == "status":
        body = fault.body if isinstance(fault.body, bytes | str) else json.dumps(fault.body)
        return web.Response(status=fault.status, headers=fault.headers, body=body)
    assert fault.kind == "hang_up_before", fault
    return _hung_up(request)


def _hung_up(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@contextlib.asynccontextmanager
async def vendor_tokens(style: Style, secret: str = SECRET) -> AsyncGenerator[VendorTokens]:
    """A vendor that listens on a port of this machine only.

    Raises:
        AssertionError: at the end, if a request was not as the vendor has it.
    """
    vendor = VendorTokens(style, State(style), secret=secret, resources=dict(style.resources))
    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", vendor.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        vendor.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        with REUSES.counted(f"vendor_tokens of {style.provider_id}", lambda: vendor.state.reused):
            yield vendor
    finally:
        vendor.stalled.set()
        await runner.cleanup()
    assert not vendor.wrong, "\n".join(vendor.wrong[:10])
