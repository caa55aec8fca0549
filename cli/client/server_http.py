"""HTTP as the command line needs it: one request, one bounded answer, no redirects, failures that say what to do."""

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from types import TracebackType
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import httpx2
import orjson

from core.errors import Invalid, Unavailable
from core.secret import Secret

MAX_RESPONSE_BYTES = 8 * 1024 * 1024
REQUEST_TIMEOUT = 30.0
MAX_RETRIES, MAX_RETRY_WAIT = 3, 5
"""Of a request that a rate limit refused: how often, and for how many seconds at most. A longer wait is an error."""
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """What a server has answered."""

    url: str
    status: int
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises:
            Unavailable: there is none: something other than MCPist has answered.
        """
        try:
            value: Any = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            value = None
        if not isinstance(value, dict):
            raise Unavailable(
                f"{_get_origin(self.url)} answers {self.status}, and not as MCPist does: is the URL right?"
            )
        return value  # pyright: ignore[reportUnknownVariableType] JSON has no types


class ServerHttp:
    """A client of one server. Proxies of the environment count, but not for this machine. `sleep` and `timeout` take
    seconds."""

    def __init__(
        self, server: str, sleep: Callable[[float], None] = time.sleep, *, timeout: float = REQUEST_TIMEOUT
    ) -> None:
        self._sleep = sleep
        self._timeout = timeout
        local = urlsplit(server).hostname in LOOPBACK_HOSTS
        headers = {"User-Agent": f"mcpist/{version('mcpist')}", "Accept": "application/json"}
        self._client = httpx2.Client(
            timeout=timeout, headers=headers, trust_env=not (local and server.startswith("http:"))
        )

    def __enter__(self) -> "ServerHttp":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def send(
        self,
        method: str,
        url: str,
        *,
        form: Mapping[str, str] | None = None,
        body: Any = None,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse:
        """Send a request, and again where a rate limit refused it for a few seconds (429, RFC 6585 §4): such a
        request was not executed.

        Raises:
            Unavailable: the server cannot be reached, is too slow, or says more than anybody can read.
            Invalid: this is no URL.
        """
        sent = {**(headers or {}), **({} if bearer is None else {"Authorization": f"Bearer {bearer.reveal()}"})}
        content = None if body is None else orjson.dumps(body, default=str)
        if content is not None:
            sent["Content-Type"] = "application/json"
        retries = 0
        try:
            while True:
                with self._client.stream(method, url, data=form, content=content, headers=sent) as response:
                    wait = _get_retry_wait(response) if retries < MAX_RETRIES else None
                    if wait is None:
                        return ServerResponse(url, response.status_code, _read_body(response))
                self._sleep(wait)
                retries += 1
        except httpx2.InvalidURL:
            raise Invalid("this is no URL; write it as https://mcp.example.com") from None
        except httpx2.HTTPError as error:
            raise Unavailable(f"{_get_origin(url)} {_explain_error(error, self._timeout)}") from None

    def download(
        self,
        url: str,
        file: BinaryIO,
        *,
        max_bytes: int,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse:
        """Write the body of a successful response to a file as it comes; of any other response return it, as
        :meth:`send` does. The time limit is between two parts.

        Raises:
            Unavailable: the server cannot be reached, stops, or sends more than `max_bytes`.
        """
        sent = {**(headers or {}), **({} if bearer is None else {"Authorization": f"Bearer {bearer.reveal()}"})}
        try:
            with self._client.stream("GET", url, headers={**sent, "Accept": "*/*"}) as response:
                if response.status_code != 200:
                    return ServerResponse(url, response.status_code, _read_body(response))
                written = 0
                for part in response.iter_bytes():
                    written += len(part)
                    if written > max_bytes:
                        raise Unavailable(f"{_get_origin(url)} sends more than {max_bytes} bytes")
                    file.write(part)
                return ServerResponse(url, 200, b"")
        except httpx2.HTTPError as error:
            raise Unavailable(f"{_get_origin(url)} {_explain_error(error, self._timeout)}") from None


def _get_retry_wait(response: httpx2.Response) -> int | None:
    """Return the seconds to wait before the same request, or None if the response is what the caller gets."""
    after = response.headers.get("Retry-After", "")
    if response.status_code != 429 or not (after.isascii() and after.isdecimal() and len(after) < 4):
        return None
    return int(after) if int(after) <= MAX_RETRY_WAIT else None


def _read_body(response: httpx2.Response) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > MAX_RESPONSE_BYTES:
            raise Unavailable(f"{_get_origin(str(response.url))} answers with more than {MAX_RESPONSE_BYTES} bytes")
    return bytes(body)


def _get_origin(url: str) -> str:
    split = urlsplit(url)
    return f"{split.scheme}://{split.netloc}"


def _explain_error(error: BaseException, timeout: float) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return f"does not answer within {timeout:g} seconds"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) or "CERTIFICATE_VERIFY_FAILED" in str(cause):
            return "has a certificate that is not trusted here; SSL_CERT_FILE names other authorities"
        cause = cause.__cause__ or cause.__context__
    return "cannot be reached"
