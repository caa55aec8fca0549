"""The two cookies: who is signed in (`session`), and which browser a sign-in was begun in (`flow`)."""

import re
from typing import Literal
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from broker.identity.browser_sessions import Session, Sessions
from core.http.allowed_hosts import AllowedHosts
from core.secret import Secret

Name = Literal["session", "flow"]
_VALUE = re.compile(r"[0-9A-Za-z_-]{16,200}")


class Cookies:
    """Read and set them under the names that the public URL allows (threat-model.md §2, row 35).

    With https they are ``__Host-mcpist-session`` and ``__Host-mcpist-flow``, which no other host and no plain
    connection can set. On this machine's own http they are plain. With http to anywhere else there are none:
    `usable` is False, and nobody can sign in.
    """

    def __init__(self, public_url: str) -> None:
        self._secure = urlsplit(public_url).scheme == "https"
        self._prefix = "__Host-mcpist-" if self._secure else "mcpist-"
        self.usable = self._secure or AllowedHosts(public_url).is_loopback

    def read(self, request: Request, name: Name) -> Secret | None:
        """The value that the browser sent; None if there is none, several, or one that we never made."""
        if not self.usable:
            return None
        full_name = self._prefix + name
        pairs = [part.strip().partition("=") for line in request.headers.getlist("cookie") for part in line.split(";")]
        values = [value for cookie_name, _, value in pairs if cookie_name == full_name]
        return Secret(values[0]) if len(values) == 1 and _VALUE.fullmatch(values[0]) else None

    def set(self, response: Response, name: Name, value: Secret, seconds: int | None = None) -> None:
        """Give the browser a value, for `seconds` or until the browser ends."""
        plain = value.reveal()
        if not _VALUE.fullmatch(plain):
            raise ValueError("a cookie's value has to be 16 to 200 characters of base64url")
        if self.usable:
            self._write(response, name, plain, seconds)

    def drop(self, response: Response, name: Name) -> None:
        """Have the browser forget it."""
        self._write(response, name, "", 0)

    def _write(self, response: Response, name: Name, value: str, seconds: int | None) -> None:
        response.set_cookie(
            self._prefix + name, value, max_age=seconds, path="/", secure=self._secure, httponly=True, samesite="lax"
        )


async def find_browser_session(cookies: Cookies, sessions: Sessions, request: Request) -> Session | None:
    """Return the live session of the browser that sent the request, or None."""
    secret = cookies.read(request, "session")
    return await sessions.find(secret) if secret else None


def redirect_to_sign_in(path: str) -> Response:
    """Redirect to the sign-in, which returns to `path`."""
    return RedirectResponse(f"/sign-in?next={quote(path, safe='')}", 303)
