"""Client of this machine's admin API for its operator: the running product's, or one in the command's own process."""

import http.client
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cli.client.admin_api import AdminApiClient, HttpSender
from cli.client.bearer_auth import OperatorAuth
from cli.client.tenants import select_tenant
from core.config.settings import Settings
from server.endpoint_file import find_running_server
from server.operator_access import TENANT_HEADER, is_loopback

if TYPE_CHECKING:
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
