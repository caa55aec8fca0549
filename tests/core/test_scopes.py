"""Scopes: one text to parse, one question to ask."""

import pytest

from core import scopes
from core.errors import Invalid


@pytest.mark.parametrize(
    ("granted", "needed", "covered"),
    [
        ({scopes.READ}, scopes.READ, True),
        ({scopes.READ}, scopes.WRITE, False),
        ({scopes.WRITE}, scopes.READ, True),
        ({scopes.WRITE}, scopes.WRITE, True),
        ({scopes.WRITE}, scopes.ADMIN_READ, False),
        ({scopes.ADMIN_WRITE}, scopes.ADMIN_READ, True),
        ({scopes.ADMIN_WRITE}, scopes.READ, False),
        ({scopes.ADMIN_READ}, scopes.ADMIN_WRITE, False),
        (set(), scopes.READ, False),
        (scopes.ALL_SCOPES, "mcp:other", False),
    ],
)
def test_writing_covers_reading_of_its_own_family(granted: set[str], needed: str, covered: bool) -> None:
    assert scopes.covers(frozenset(granted), needed) is covered


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, set()),
        ("", set()),
        ("mcp:read", {"mcp:read"}),
        ("mcp:write mcp:read mcp:read", {"mcp:read", "mcp:write"}),
        ("admin:read admin:write", {"admin:read", "admin:write"}),
    ],
)
def test_a_text_of_scopes(text: str | None, found: set[str]) -> None:
    assert scopes.parse_scopes(text) == found
    assert scopes.parse_scopes(scopes.format_scopes(frozenset(found))) == found


@pytest.mark.parametrize(
    "text",
    [
        "openid",
        "mcp:read openid",
        "mcp:read  mcp:write",
        " mcp:read",
        "MCP:READ",
        "mcp:read\tmcp:write",
        "mcp:read " * 10,
    ],
)
def test_what_is_no_list_of_our_scopes(text: str) -> None:
    with pytest.raises(Invalid, match="scopes are any of"):
        scopes.parse_scopes(text)


def test_a_huge_text_is_not_taken_apart() -> None:
    with pytest.raises(Invalid):
        scopes.parse_scopes("mcp:read " * 1_000_000)
