"""Requests that change something have to come from our own pages (threat-model.md §2, row 36)."""

from starlette.requests import Request

from broker.web.page_errors import PageError
from core.http.same_origin import SAFE_METHODS, is_same_origin

CSRF_EXEMPT_PATHS = frozenset({"/oauth/token", "/oauth/revoke", "/oauth/register", "/register", "/api/v1/leaked"})
"""Called by programs, with credentials of their own and never with a cookie: these do not read any."""


def check_same_origin(request: Request, own_origin: str) -> None:
    """Let the request through, or not. It counts for a browser without our cookie too: nobody may sign a person in
    to an account of somebody else's.

    Raises:
        Problem: 403, the request came from another site.
    """
    if request.method in SAFE_METHODS or request.scope["path"] in CSRF_EXEMPT_PATHS:
        return
    if _is_bearer_api_call(request):
        return
    headers = request.headers
    if not is_same_origin(headers.get("origin"), headers.get("sec-fetch-site"), own_origin):
        raise PageError("foreign_site", 403)


def _is_bearer_api_call(request: Request) -> bool:
    """A call of the API with a bearer token: no page of another site can make a browser send one for us."""
    headers = request.headers
    return request.scope["path"].startswith("/api/") and "authorization" in headers and "cookie" not in headers
