"""Browser session of a request, for pages that need a signed-in person, and the way to sign in."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from broker.identity.browser_sessions import Session, Sessions
from broker.web.cookies import Cookies


async def find_browser_session(cookies: Cookies, sessions: Sessions, request: Request) -> Session | None:
    """Return the live session of the browser that sent the request, or None."""
    secret = cookies.read(request, "session")
    return await sessions.find(secret) if secret else None


def redirect_to_sign_in(path: str) -> Response:
    """Redirect to the sign-in, which returns to `path`."""
    return RedirectResponse(f"/sign-in?next={quote(path, safe='')}", 303)
