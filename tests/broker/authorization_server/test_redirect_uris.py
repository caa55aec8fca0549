"""Where answers may go (threat-model.md §2, row 11): a table, and that no near miss of it is let through."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.authorization_server.redirect_uris import check_redirect_uri, is_loopback, is_redirect_allowed
from core.errors import Invalid
from tests.broker.authorization_server.redirect_table import PAIRS, REGISTRATIONS, Pair, Registered


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.registered}<-{pair.asked!a}")
def test_what_may_be_asked_for(pair: Pair) -> None:
    assert is_redirect_allowed([pair.registered], pair.asked) is pair.allowed
    assert is_redirect_allowed(["https://first.example/", pair.registered], pair.asked) is pair.allowed


def test_a_client_without_redirect_uris_gets_no_answer() -> None:
    assert not is_redirect_allowed([], "http://127.0.0.1/cb")
    assert not is_redirect_allowed([], "")


@pytest.mark.parametrize("one", REGISTRATIONS, ids=lambda one: ascii(one.uri[:60]))
def test_what_may_be_registered(one: Registered) -> None:
    if one.allowed:
        check_redirect_uri(one.uri)
    else:
        with pytest.raises(Invalid):
            check_redirect_uri(one.uri)


def test_whatever_may_be_asked_for_may_be_registered() -> None:
    for pair in PAIRS:
        if pair.allowed:
            check_redirect_uri(pair.registered)
            check_redirect_uri(pair.asked)


@given(st.text(alphabet="ahtp:/[]@.#?%\\1270localhost \r\n", max_size=30), st.sampled_from(PAIRS))
def test_nothing_but_the_port_differs(tail: str, pair: Pair) -> None:
    asked = pair.registered[: len(pair.registered) // 2] + tail
    if is_redirect_allowed([pair.registered], asked) and asked != pair.registered:
        assert is_loopback(pair.registered)
        assert is_loopback(asked)
        assert urlsplit(asked).hostname == urlsplit(pair.registered).hostname
        assert urlsplit(asked).path == urlsplit(pair.registered).path


@pytest.mark.parametrize(
    ("uri", "loopback"),
    [
        ("https://app.example.com/cb", False),
        ("https://127.0.0.1/cb", False),
        ("http://127.0.0.1:1/", True),
        ("http://[::1]/", True),
        ("http://localhost", True),
        ("http://localhost.evil.example/", False),
        ("com.example.app:/cb", False),
    ],
)
def test_what_stays_on_this_machine(uri: str, loopback: bool) -> None:
    assert is_loopback(uri) is loopback
