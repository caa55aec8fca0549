"""Cookies under the names that the public URL allows."""

import pytest
from starlette.requests import Request
from starlette.responses import Response

from broker.web.cookies import Cookies
from core.secret import Secret

VALUE = "A" * 43
HTTPS, LOOPBACK, PLAIN = "https://mcp.acme.test", "http://127.0.0.1:8080", "http://mcp.acme.test"


def _request(*cookies: str) -> Request:
    headers = [(b"cookie", cookie.encode()) for cookie in cookies]
    return Request({"type": "http", "headers": headers})


def _set(url: str) -> str | None:
    response = Response()
    Cookies(url).set(response, "session", Secret(VALUE), 60)
    return response.headers.get("set-cookie")


def test_what_the_browser_gets() -> None:
    secure = f"__Host-mcpist-session={VALUE}; HttpOnly; Max-Age=60; Path=/; SameSite=lax; Secure"
    assert _set(HTTPS) == secure
    assert _set(LOOPBACK) == f"mcpist-session={VALUE}; HttpOnly; Max-Age=60; Path=/; SameSite=lax"
    assert _set(PLAIN) is None
    assert Cookies(PLAIN).usable is False


def test_what_is_read_back() -> None:
    assert Cookies(HTTPS).read(_request(f"a=b; __Host-mcpist-session={VALUE}"), "session") == Secret(VALUE)
    assert Cookies(LOOPBACK).read(_request("a=b", f"mcpist-flow={VALUE}"), "flow") == Secret(VALUE)


@pytest.mark.parametrize(
    "cookies",
    [
        [],
        [f"mcpist-session={VALUE}"],
        [f"__Host-mcpist-flow={VALUE}"],
        [f"__Host-mcpist-session={VALUE}; __Host-mcpist-session={VALUE}"],
        [f"__Host-mcpist-session={VALUE}", "__Host-mcpist-session=x"],
        ["__Host-mcpist-session=short"],
        [f"__Host-mcpist-session={VALUE}'; DROP"],
        ["__Host-mcpist-session=" + "A" * 201],
        [f'__Host-mcpist-session="{VALUE}"'],
        [f"__host-mcpist-session={VALUE}"],
    ],
)
def test_what_is_not_taken_for_ours(cookies: list[str]) -> None:
    assert Cookies(HTTPS).read(_request(*cookies), "session") is None


def test_a_forgotten_cookie() -> None:
    response = Response()
    Cookies(HTTPS).drop(response, "flow")
    assert '__Host-mcpist-flow=""; HttpOnly; Max-Age=0; Path=/' in response.headers["set-cookie"]


def test_only_values_of_ours_are_set() -> None:
    with pytest.raises(ValueError, match="base64url"):
        Cookies(HTTPS).set(Response(), "session", Secret("a; Domain=evil.test"))
