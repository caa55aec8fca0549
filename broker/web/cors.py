"""Endpoints for programs, of which some run in browsers: errors as JSON, and open to every origin (WHATWG Fetch §3.2).

None of these endpoints reads a cookie, so a page of another site can do no more here than any program can.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from broker.authorization_server.errors import OAuthError
from core.errors import MCPistError

CORS_HEADERS: Mapping[str, str] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "WWW-Authenticate, Retry-After",
}
PREFLIGHT_HEADERS: Mapping[str, str] = {
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "7200",
}

Endpoint = Callable[[Request], Awaitable[Response]]


def build_public_route(path: str, endpoint: Endpoint, methods: Sequence[str]) -> Route:
    """A route that answers preflights, and whose errors are readable for the client too."""

    async def handle(request: Request) -> Response:
        if request.method == "OPTIONS":
            allowed = {"Access-Control-Allow-Methods": ", ".join(methods)}
            return Response(status_code=204, headers={**CORS_HEADERS, **PREFLIGHT_HEADERS, **allowed})
        response = await _call_endpoint(endpoint, request)
        response.headers.update(CORS_HEADERS)
        return response

    return Route(path, handle, methods=[*methods, "OPTIONS"])


async def _call_endpoint(endpoint: Endpoint, request: Request) -> Response:
    try:
        return await endpoint(request)
    except OAuthError as error:
        return JSONResponse(error.as_json(), error.status, _build_error_headers(request, error))
    except MCPistError as error:
        code = "temporarily_unavailable" if error.status in (429, 503) else "invalid_request"
        oauth_error = OAuthError(code, str(error))
        retry = getattr(error, "retry_after", None)
        headers = {} if retry is None else {"Retry-After": str(max(1, -int(-retry // 1)))}
        return JSONResponse(oauth_error.as_json(), error.status, headers)


def _build_error_headers(request: Request, error: OAuthError) -> Mapping[str, str]:
    """A browser answers a challenge for Basic with a dialog of its own: only who has tried it is challenged."""
    if "authorization" in request.headers:
        return error.headers
    return {name: value for name, value in error.headers.items() if name.lower() != "www-authenticate"}
