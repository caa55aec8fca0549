"""Where a browser may go after sign-in: never anywhere else than to us (threat-model.md §2 row 10)."""

from urllib.parse import urljoin

import pytest

from broker.identity.sign_in_state import ACCOUNT_PATH, sanitize_return_to

ALLOWED = [
    "/account",
    "/account?done=session_ended",
    "/connect",
    "/connect/google_calendar?then=jira,notion&of=3",
    "/connect/-/session/5b0ccbd7-08a7-4bd4-9b0f-7a86ed4c6a53",
    "/console",
    "/console/",
    "/console/users/3f0a-1",
    "/oauth/authorize?client_id=https%3A%2F%2Fclient.example%2Fmeta.json&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb",
    "/oauth/authorize?state=a+b/c?d=e&scope=mcp:read%20mcp:write",
]
ELSEWHERE = [
    "",
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/%2f%2fevil.example",
    "/%5cevil.example",
    "https:evil.example",
    "https://evil.example/account",
    "https:///evil.example/account",
    "HTTPS://EVIL.EXAMPLE",
    "javascript:alert(1)",
    "data:text/html,x",
    "//user@evil.example/account",
    "https://mcpist.test@evil.example/account",
    "@evil.example",
    "/account@evil.example",
    "/account\r\nSet-Cookie: x=y",
    "/account?x=\r\nLocation: https://evil.example",
    "/account\n",
    "/account\t",
    " /account",
    "/account#//evil.example",
    "/account/../../evil",
    "/connect/../evil",
    "/connect//evil.example",
    "/connect/callback/google",
    "/connect/-/all",
    "/connect/-/session/",
    "/connect/-/session/../all",
    "/connect/Shop",
    "/console/../sign-out",
    "/console/..//evil.example",
    "/console//evil.example",
    "/console/%2e%2e/%2e%2e/evil",
    "/console/․․/evil",
    "/console/。。/evil",
    "/．．//evil.example",
    "//evil。example",
    "／／evil.example",
    "/oauth/authorize/../../evil",
    "/oauth/authorize\\..\\evil",
    "/oauth/token",
    "/oauth/authorize2",
    "/sign-out",
    "/accounts",
    "account",
    "?next=/account",
    "/account?x=é",
    "/account?" + "x" * 8000,
    "/account?x=\x00",
]


@pytest.mark.parametrize("path", ALLOWED)
def test_our_own_paths(path: str) -> None:
    assert sanitize_return_to(path) == path
    assert urljoin("https://mcpist.test/sign-in", path).startswith("https://mcpist.test/")


@pytest.mark.parametrize("path", ELSEWHERE)
def test_everything_else_is_the_account_page(path: str) -> None:
    assert sanitize_return_to(path) == ACCOUNT_PATH
