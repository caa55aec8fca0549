"""Requests to identity providers. Operators choose those, so their addresses may be private ones; but every answer has
a limit in time and size, and no redirect is followed, no proxy and no netrc of the environment is used."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from typing import Any, cast

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client

from broker.identity.providers.identity_provider import SignInFailed
from core.http.tls import get_system_tls_context
from core.secret import Secret

TIMEOUT_SECONDS = 10.0
MAX_RESPONSE_BYTES = 256 * 1024
HEADERS: Mapping[str, str] = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "MCPist"}


class IdpClient:
    """Makes clients. `tls` is another set of roots, for tests; `seconds` is for each request as a whole."""

    def __init__(self, *, seconds: float = TIMEOUT_SECONDS, tls: ssl.SSLContext | None = None) -> None:
        self._seconds = seconds
        self._tls = tls

    @contextlib.asynccontextmanager
    async def open_client(
        self, client_id: str, client_secret: Secret, method: str = "client_secret_basic"
    ) -> AsyncGenerator[Any]:
        """authlib's OAuth client for one sign-in; `method` is how it authenticates itself at the token endpoint."""
        client: Any = AsyncOAuth2Client(
            client_id,
            client_secret.reveal(),
            token_endpoint_auth_method=method,
            code_challenge_method="S256",
            transport=_LimitedTransport(
                httpx2.AsyncHTTPTransport(verify=self._tls or get_system_tls_context(), trust_env=False)
            ),
            headers=dict(HEADERS),
            follow_redirects=False,
            trust_env=False,
        )
        async with client:
            yield client

    async def redeem_code(
        self, client: Any, url: str, flow_redirect_uri: str, code: str, verifier: str
    ) -> Mapping[str, Any]:
        """Redeem a code (RFC 6749 §4.1.3).

        Raises:
            SignInFailed: the provider is away, refuses, or answers something else.
        """
        async with self._map_errors():
            answer = await client.fetch_token(
                url,
                grant_type="authorization_code",
                code=code,
                redirect_uri=flow_redirect_uri,
                code_verifier=verifier,
                headers={**HEADERS, "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8"},
            )
        return dict(answer)

    async def fetch_json(
        self, client: Any, url: str, *, bearer: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """Fetch the JSON document at `url`.

        Raises:
            SignInFailed: there is none.
        """
        more = {"Authorization": f"Bearer {bearer}"} if bearer is not None else {}
        async with self._map_errors():
            response = await client.request("GET", url, withhold_token=True, headers={**(headers or {}), **more})
        if response.status_code != 200:
            raise SignInFailed("provider_away" if response.status_code >= 500 else "provider", "status")
        with _map_json_errors():
            return response.json()

    @contextlib.asynccontextmanager
    async def _map_errors(self) -> AsyncGenerator[None]:
        """Whatever goes wrong becomes a word of ours: what a provider says is never shown or logged."""
        try:
            async with asyncio.timeout(self._seconds):
                yield
        except (AuthlibBaseError, ValueError, TypeError, KeyError, RecursionError):
            raise SignInFailed("provider", "token") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError):
            raise SignInFailed("provider_away", "unreachable") from None


def require_object(found: Any) -> Mapping[str, Any]:
    """Return the JSON object, or raise if it is another value.

    Raises:
        SignInFailed: it is something else.
    """
    if not isinstance(found, dict):
        raise SignInFailed("provider", "form")
    return cast("Mapping[str, Any]", found)


@contextlib.contextmanager
def _map_json_errors() -> Generator[None]:
    try:
        yield
    except (ValueError, RecursionError):
        raise SignInFailed("provider", "form") from None


class _LimitedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await response.aclose()  # a small answer could unpack to a huge one
            raise httpx2.DecodingError("unrequested content encoding")
        response.stream = _LimitedStream(cast("httpx2.AsyncByteStream", response.stream))
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._inner:
            read += len(part)
            if read > MAX_RESPONSE_BYTES:
                raise httpx2.ReadError("response too large")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
