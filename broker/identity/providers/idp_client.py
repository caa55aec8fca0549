"""Requests to identity providers: authlib is the OAuth client, and what it sends goes through the guarded HTTP client.

Operators choose the providers, so the hosts that the settings name may have private addresses; no other host may that
MCPIST_ALLOWED_PRIVATE_HOSTS does not list.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Generator, Mapping
from typing import Any, cast

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client

from broker.identity.providers.identity_provider import SignInFailed
from core.http.guarded_client import REQUEST_HEADERS, ConnectFailure, GuardedClient
from core.http.single_exchange import ExchangeError
from core.secret import Secret

TIMEOUT_SECONDS = 10.0
MAX_RESPONSE_BYTES = 256 * 1024

_HEADERS_OF_CONNECTION = frozenset({"host", "connection", "content-length", "transfer-encoding"})


class IdpClient:
    """Makes authlib's clients on `http`; `seconds` is for each request as a whole."""

    def __init__(self, http: GuardedClient, *, seconds: float = TIMEOUT_SECONDS) -> None:
        self._http = http
        self._seconds = seconds

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
            transport=_GuardedTransport(self._http),
            headers=REQUEST_HEADERS,
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
                headers={**REQUEST_HEADERS, "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8"},
            )
        return dict(answer)

    async def try_made_up_code(self, client: Any, url: str, redirect_uri: str) -> str:
        """Redeem a code that nobody has issued; the error code of the answer (RFC 6749 §5.2), which tells whether the
        server knows the client. Empty where it is none of the usual form.

        Raises:
            SignInFailed: the provider is away.
        """
        try:
            async with asyncio.timeout(self._seconds):
                await client.fetch_token(
                    url,
                    grant_type="authorization_code",
                    code=secrets.token_urlsafe(32),
                    redirect_uri=redirect_uri,
                    code_verifier=secrets.token_urlsafe(32),
                    headers={**REQUEST_HEADERS, "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8"},
                )
        except AuthlibBaseError as error:
            return error.error if isinstance(error.error, str) else ""
        except (ValueError, TypeError, KeyError, RecursionError):
            return ""
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError):
            raise SignInFailed("provider_away", "unreachable") from None
        return ""

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


def require_object(document: Any) -> Mapping[str, Any]:
    """Return the JSON object, or raise if it is another value.

    Raises:
        SignInFailed: it is something else.
    """
    if not isinstance(document, dict):
        raise SignInFailed("provider", "form")
    return cast("Mapping[str, Any]", document)


@contextlib.contextmanager
def _map_json_errors() -> Generator[None]:
    try:
        yield
    except (ValueError, RecursionError):
        raise SignInFailed("provider", "form") from None


class _GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends authlib's requests by the guarded client, and says what goes wrong in httpx's exceptions."""

    def __init__(self, http: GuardedClient) -> None:
        self._http = http

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = f"{request.url.scheme}://{request.url.netloc.decode()}{request.url.raw_path.decode()}"
        if not self._http.is_askable(url):
            raise httpx2.ConnectError("address not allowed")
        headers = {name: value for name, value in request.headers.items() if name not in _HEADERS_OF_CONNECTION}
        try:
            response = await self._http.request(
                request.method, url, max_bytes=MAX_RESPONSE_BYTES, headers=headers, body=await request.aread() or None
            )
        except ExchangeError as error:
            raise httpx2.ReadError(type(error).__name__) from None
        except (ConnectFailure, OSError) as error:
            raise httpx2.ConnectError(type(error).__name__) from None
        return httpx2.Response(response.status, headers=list(response.headers), content=response.body)
