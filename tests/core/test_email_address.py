"""One form for each address, whoever typed it; and no address for what only looks like one."""

import pytest

from core.directory.allow_list import list_matching_entries, normalize_entry
from core.email_address import normalize_address
from core.errors import Invalid


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" Ada@Acme.Example ", "ada@acme.example"),
        ("admin@localhost", "admin@localhost"),
        ("a+b_c.d@x-y.example", "a+b_c.d@x-y.example"),
        ("ada@BÜCHER.example", "ada@xn--bcher-kva.example"),
        ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
        ("ada@faß.example", "ada@xn--fa-hia.example"),  # IDNA 2003 would have made it fass.example, another's domain
        ("ada@例え.テスト", "ada@xn--r8jz45g.xn--zckzah"),
        ("ada@ＡＣＭＥ.example", "ada@acme.example"),
        ("ada@acme。example", "ada@acme.example"),
    ],
)
def test_the_one_form(typed: str, stored: str) -> None:
    assert normalize_address(typed) == stored
    assert normalize_entry("@" + typed.strip().partition("@")[2]) == "@" + stored.partition("@")[2]


NO_ADDRESSES = [
    "",
    "@",
    "ada",
    "ada@",
    "@acme.example@",
    "a@b@acme.example",
    "ada@acme..example",
    "ada@.example",
    "ada@acme.example.",
    "ada@-acme.example",
    "ada lovelace@acme.example",
    "ada@acme example",
    '"ada"@acme.example',
    "ada@[192.0.2.1]",
    "ada\x00@acme.example",
    "ada@acme.example\nbcc: eve@evil.example",
    "аda@acme.example",  # a Cyrillic а
    "\u212aate@acme.example",  # the Kelvin sign, which is a k in lower case
    "ａda@acme.example",
    "x" * 65 + "@acme.example",
    "ada@" + "x" * 64 + ".example",
    "ada@" + "x." * 130 + "example",
    "ada@a\u200bcme.example\u202e",
    "*@acme.example, @evil.example",
]


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(Invalid):
        normalize_address(text)


@pytest.mark.parametrize("text", [*NO_ADDRESSES, "acme.example", "@*.example", "@acme.example/evil", "@@acme.example"])
def test_what_is_no_entry(text: str) -> None:
    with pytest.raises(Invalid):
        normalize_entry(text)


def test_a_domain_s_entry_is_not_its_subdomains() -> None:
    assert list_matching_entries("ada@sub.acme.example") == ("ada@sub.acme.example", "@sub.acme.example")
