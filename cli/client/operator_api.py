"""Client of this machine's admin API for its operator: the running product's, or one in the command's own process."""

import asyncio
import http.client
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

import httpx2
import orjson

from cli.client.admin_api import AdminApiClient, HttpSender
from cli.client.bearer_auth import OperatorAuth
from cli.client.server_http import ServerResponse
from cli.client.tenants import select_tenant
from core.config.settings import Settings
from core.errors import Unavailable
from core.secret import Secret
from server.endpoint_file import find_running_server
from server.operator_access import TENANT_HEADER, is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from server.operator_access import OperatorAccess


PROBE_TIMEOUT = 3.0  # seconds


def find_operator_access(settings: Settings) -> "OperatorAccess | None":
    """Return the access to the product that runs on the data folder; None where none answers there."""
    server = find_running_server(settings.home)
    if server is None or server.operator is None:
        return None
    url = urlsplit(server.operator.url)
    # The credential never leaves this machine, whatever the file says.
    if url.scheme != "http" or not is_loopback(url.hostname or "") or not _is_alive(url.netloc):
        return None
    return server.operator


def create_operator_client(http: HttpSender, access: "OperatorAccess") -> AdminApiClient:
    """Create a client that acts for the deployment."""
    return AdminApiClient(http, access.url, OperatorAuth(access.token))


def select_operator_tenant(api: AdminApiClient, settings: Settings, tenant: str | None) -> AdminApiClient:
    """Return the client that acts for one tenant, chosen as the command says."""
    return api.with_headers({TENANT_HEADER: select_tenant(api, tenant, settings.tenant)})


def _is_alive(netloc: str) -> bool:
    """Return True where a product answers: a killed one leaves its file behind, and its process id may be reused."""
    connection = http.client.HTTPConnection(netloc, timeout=PROBE_TIMEOUT)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class InProcessHttp:
    """Implements :class:`cli.client.admin_api.HttpSender` for a synchronous caller in another thread than `loop`, which
    the application's database belongs to."""

    def __init__(self, app: "ASGIApp", base_url: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app), base_url=base_url, timeout=None, trust_env=False
        )

    def send(
        self,
        method: str,
        url: str,
        *,
        body: Any = None,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse:
        """Send one request and wait for its answer."""
        sent = {**(headers or {}), **({} if bearer is None else {"Authorization": f"Bearer {bearer.reveal()}"})}
        content = None if body is None else orjson.dumps(body, default=str)
        if content is not None:
            sent["Content-Type"] = "application/json"
        response = asyncio.run_coroutine_threadsafe(
            self._client.request(method, url, content=content, headers=sent), self._loop
        ).result()
        return ServerResponse(url, response.status_code, response.content)

    def download(
        self,
        url: str,
        file: BinaryIO,
        *,
        max_bytes: int,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse:
        """Write the body of a successful response to a file. The transport gathers it before, in memory."""
        response = self.send("GET", url, bearer=bearer, headers=headers)
        if response.status != 200:
            return response
        if len(response.body) > max_bytes:
            raise Unavailable(f"the answer has more than {max_bytes} bytes")
        file.write(response.body)
        return ServerResponse(url, 200, b"")
