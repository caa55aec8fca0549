"""Protection in browsers: response headers, and checks that a change comes from a page of ours (threat-model.md §2)."""

import hashlib
import hmac
from collections.abc import Mapping

from starlette.requests import Request

from broker.web.i18n import PageError
from core.http.same_origin import SAFE_METHODS, is_same_origin
from core.secret import Secret

DEFAULT_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    # `no-referrer` would have browsers send `Origin: null` with our own forms, and those need it.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""For whatever an answer does not set itself."""


def build_page_headers(nonce: str, *, alone: bool) -> Mapping[str, str]:
    """Build the headers of an HTML page whose one style element has this nonce; no page has scripts.

    `alone` cuts the page off from whoever opened it. The pages on the way of an authorization must not be: many
    clients open them in a window and wait for that to come back.
    """
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; img-src data:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    headers = {"Content-Security-Policy": policy, "Vary": "Accept-Language"}
    return headers | ({"Cross-Origin-Opener-Policy": "same-origin"} if alone else {})


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
    """A call of the API, or of SCIM, with a bearer token: no page of another site can make a browser send one of
    ours."""
    headers, path = request.headers, request.scope["path"]
    return path.startswith(("/api/", "/scim/")) and "authorization" in headers and "cookie" not in headers


def create_form_token(session: Secret, content: str) -> str:
    """A token for `content`. Its key is the session's own secret, so nothing has to be kept and no process differs."""
    return hmac.new(session.reveal().encode(), f"form\n{content}".encode(), hashlib.sha256).hexdigest()


def is_valid_form_token(session: Secret, content: str, token: str) -> bool:
    """Check whether the token `given` was made for this session and `content`."""
    return hmac.compare_digest(create_form_token(session, content).encode(), token.encode())
