"""From the URL that a person knows to the endpoints of its authorization server (RFC 9728, RFC 8414).

The command line is a client of MCPist's own authorization server and of no other: issuer, resource and every endpoint
have to lie at the very URL that the person named. So no document can lead code or tokens elsewhere.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cli.client.server_http import LOOPBACK_HOSTS, ServerHttp, ServerResponse
from core.config.parsers import parse_base_url
from core.errors import Invalid, Unavailable

RESOURCE_PATH = "/mcp"
RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"
SERVER_METADATA_PATH = "/.well-known/oauth-authorization-server"


@dataclass(frozen=True, slots=True)
class ServerEndpoints:
    """Where the authorization server is asked; `issuer` is also the server's own URL."""

    issuer: str
    authorize: str
    token: str
    revoke: str

    @property
    def resource(self) -> str:
        return self.issuer + RESOURCE_PATH


def normalize_server_url(text: str) -> str:
    """Normalize the URL of an MCPist as it names itself: without a path, and without a slash at the end.

    Raises:
        Invalid: it is none, or what is sent there could be read on the way.
    """
    try:
        server = parse_base_url(text.strip().removesuffix("/").removesuffix(RESOURCE_PATH))
    except ValueError:
        raise Invalid(f"not the URL of an MCPist: {text[:100]!r}; write it as https://mcp.example.com") from None
    if server.startswith("http:") and urlsplit(server).hostname not in LOOPBACK_HOSTS:
        raise Invalid(f"{server} is plain http to another machine, where tokens can be read in transit: use https")
    return server


def discover_endpoints(http: ServerHttp, server: str) -> ServerEndpoints:
    """Discover the endpoints of the MCPist at `server`.

    Raises:
        Unavailable: nothing answers there, or something other than MCPist.
        Invalid: it calls itself otherwise, or takes its tokens from another server.
    """
    resource = _fetch_document(http, server, server + RESOURCE_METADATA_PATH)
    _check_resource_name(server, resource)
    if resource.get("authorization_servers") != [server]:
        raise Invalid(
            f"{server} takes its tokens from another authorization server, at which the command line cannot sign in; "
            "put an API token into MCPIST_TOKEN instead"
        )
    return _parse_endpoints(server, _fetch_document(http, server, server + SERVER_METADATA_PATH))


def _fetch_document(http: ServerHttp, server: str, url: str) -> dict[str, Any]:
    response: ServerResponse = http.send("GET", url)
    if response.status != 200:
        raise Unavailable(f"there is no MCPist at {server} ({urlsplit(url).path} answers {response.status})")
    return response.json()


def _check_resource_name(server: str, resource: dict[str, Any]) -> None:
    name = resource.get("resource")
    if name == server + RESOURCE_PATH:
        return
    actual = str(name)[:200].removesuffix(RESOURCE_PATH)
    raise Invalid(f"the MCPist at {server} calls itself {actual!r}: sign in there, if that is the one you mean")


def _parse_endpoints(server: str, document: dict[str, Any]) -> ServerEndpoints:
    urls = [document.get(name) for name in ("authorization_endpoint", "token_endpoint", "revocation_endpoint")]
    own_urls = [url for url in urls if isinstance(url, str) and url.startswith(f"{server}/")]
    names_issuer = document.get("authorization_response_iss_parameter_supported") is True
    if document.get("issuer") != server or len(own_urls) != len(urls) or not names_issuer:
        raise Invalid(f"the authorization server's metadata at {server} is not that of an MCPist; nothing was sent")
    return ServerEndpoints(server, *own_urls)
