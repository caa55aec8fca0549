"""Endpoints for programs, of which some run in browsers: errors as JSON, and open to every origin (WHATWG Fetch §3.2).

None of these endpoints reads a cookie, so a page of another site can do no more here than any program can.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from broker.oauth.errors import OAuthError
from core.errors import MCPistError

OPEN: Mapping[str, str] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "WWW-Authenticate, Retry-After",
}
PREFLIGHT: Mapping[str, str] = {
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "7200",
}

Endpoint = Callable[[Request], Awaitable[Response]]


def open_route(path: str, endpoint: Endpoint, methods: Sequence[str]) -> Route:
    """A route that answers preflights, and whose errors are readable for the client too."""

    async def answered(request: Request) -> Response:
        if request.method == "OPTIONS":
            allowed = {"Access-Control-Allow-Methods": ", ".join(methods)}
            return Response(status_code=204, headers={**OPEN, **PREFLIGHT, **allowed})
        response = await _answered(endpoint, request)
        response.headers.update(OPEN)
        return response

    return Route(path, answered, methods=[*methods, "OPTIONS"])


async def _answered(endpoint: Endpoint, request: Request) -> Response:
    try:
        return await endpoint(request)
    except OAuthError as error:
        return JSONResponse(error.as_json(), error.status, _headers(request, error))
    except MCPistError as error:
        code = "temporarily_unavailable" if error.status in (429, 503) else "invalid_request"
        told = OAuthError(code, str(error))
        retry = getattr(error, "retry_after", None)
        headers = {} if retry is None else {"Retry-After": str(max(1, -int(-retry // 1)))}
        return JSONResponse(told.as_json(), error.status, headers)


def _headers(request: Request, error: OAuthError) -> Mapping[str, str]:
    """A browser answers a challenge for Basic with a dialog of its own: only who has tried it is challenged."""
    if "authorization" in request.headers:
        return error.headers
    return {name: value for name, value in error.headers.items() if name.lower() != "www-authenticate"}
