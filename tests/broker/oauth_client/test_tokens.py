"""What a successful answer gives, in all the forms that vendors have for it."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.oauth_client.token_response import UnusableTokens, parse_fields, read_tokens, resolve_pointer, resolve_text
from broker.oauth_client.types import TokenSet
from broker.providers.schema import AccountLookup, OAuthServer, Provider, RefreshRules
from core.secret import Secret
from tests.support.vendor_tokens.server import id_token

ACCESS = "at_of-the-token-tests-0123456789"


def read(answer: dict[str, Any], **oauth: Any) -> TokenSet:
    server = OAuthServer(authorize_url="https://v.example/a", token_url="https://v.example/t", **oauth)
    provider = Provider(id="v", title="V", oauth=server)
    return read_tokens(provider, "our-client", {"access_token": ACCESS, **answer})


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        (3600, 3600.0),
        ("3600", 3600.0),
        (3599.5, 3599.5),
        (10**12, 10 * 366 * 86_400.0),
        (None, None),
        (0, None),
        (-5, None),
        (True, None),
        ("soon", None),
        ("1e9", None),
        ([3600], None),
        (float("inf"), None),
    ],
)
def test_the_time_of_a_token(told: object, seconds: float | None) -> None:
    assert read({"expires_in": told}).expires_in == seconds
    default = RefreshRules(access_seconds=900)
    assert read({"expires_in": told}, refresh=default).expires_in == (seconds or 900.0)


@pytest.mark.parametrize("refresh", [None, "", "rt_of-the-token-tests-0123456789"])
def test_a_refresh_token_or_none(refresh: str | None) -> None:
    assert read({"refresh_token": refresh}).refresh_token == (Secret(refresh) if refresh else None)
    assert read({}).refresh_token is None


@pytest.mark.parametrize(
    ("told", "separator", "scopes"),
    [
        ("a b", " ", ("a", "b")),
        ("a,b", ",", ("a", "b")),
        ("a, b", ",", ("a", "b")),
        ("a,b", " ", ("a,b",)),
        (["a", "b", 3], " ", ("a", "b")),
        ("", " ", ()),
        ("a a", " ", ("a",)),
        (None, " ", None),
        (3, " ", None),
    ],
)
def test_scopes(told: object, separator: str, scopes: tuple[str, ...] | None) -> None:
    assert read({"scope": told}, granted_scope_separator=separator).scopes == scopes
    assert read({"scope": told}, fixed_scopes=True).scopes is None


@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": None},
        {"access_token": ""},
        {"access_token": 7},
        {"access_token": "with a blank"},
        {"access_token": "with\r\nLine: break"},
        {"access_token": "é"},
        {"access_token": "x" * 20_000},
        {"refresh_token": "with a blank"},
        {"refresh_token": 7},
        {"refresh_token": {"token": "x"}},
    ],
)
def test_what_cannot_be_sent_is_no_token(answer: dict[str, Any]) -> None:
    with pytest.raises(UnusableTokens) as told:
        read(answer)
    assert not told.value.other_type


@pytest.mark.parametrize("kind", ["DPoP", "mac", "N_A"])
def test_a_token_of_another_type_is_none_for_us(kind: str) -> None:
    with pytest.raises(UnusableTokens) as told:
        read({"token_type": kind})
    assert told.value.other_type


@pytest.mark.parametrize("kind", ["Bearer", "bearer", None, ""])
def test_a_bearer_token_may_say_so_or_not(kind: str | None) -> None:
    assert read({"token_type": kind}).access_token == Secret(ACCESS)


def test_the_end_of_a_refresh_token_has_two_names() -> None:
    assert read({"refresh_token_expires_in": "15811200"}).refresh_expires_in == 15_811_200
    assert read({"refresh_expires_in": 1800}).refresh_expires_in == 1800


def of(token: object, **claims: object) -> dict[str, str]:
    provider = Provider(
        id="v",
        title="V",
        oauth=OAuthServer(authorize_url="https://v.example/a", token_url="https://v.example/t"),
        account=AccountLookup(source="id_token", id="/sub", name=("/email",), details={"tenant": "/tid"}),
    )
    answer = {"access_token": ACCESS, "id_token": id_token(dict(claims)) if token is None else token}
    return dict(read_tokens(provider, "our-client", answer).extra)


def test_an_id_token_for_another_client_says_nothing() -> None:
    assert of(None, aud="our-client", sub="1", email="a@b.example", tid="t") == {
        "id": "1", "name": "a@b.example", "tenant": "t",
    }  # fmt: skip
    assert of(None, aud=["other", "our-client"], sub="1") == {"id": "1"}
    assert of(None, aud="other", sub="1") == {}
    assert of(None, sub="1") == {}


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "a.W10.c", "....", 7, "x" * 20_000, "a.é.c"])
def test_an_id_token_that_is_none_says_nothing(token: object) -> None:
    assert of(token) == {}


def test_a_name_is_made_fit_to_be_shown() -> None:
    provider = Provider(
        id="v",
        title="V",
        oauth=OAuthServer(authorize_url="https://v.example/a", token_url="https://v.example/t"),
        account=AccountLookup(source="token", id="/id", name=("/none", "/who/0/name")),
    )
    answer = {"access_token": ACCESS, "id": 12, "who": [{"name": "A\u202e\n  b\x00" + "c" * 500}]}
    extra = read_tokens(provider, "c", answer).extra
    assert extra["id"] == "12"
    assert extra["name"].startswith("A b ccc")
    assert len(extra["name"]) <= 200


# Fields and pointers


def test_form_encoding_is_read_as_what_it_is() -> None:
    assert parse_fields(b"access_token=a%2Fb&scope=repo%2Cgist&token_type=bearer&x=") == {
        "access_token": "a/b", "scope": "repo,gist", "token_type": "bearer", "x": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"<html>a=b</html>", b"a", b"a=b&a=c", b"{", b"[]", b"7", b"null", b"\xff\xfe", b"a b=c", b"a=b c",
     b"&".join(b"x%d=1" % number for number in range(300))],
)  # fmt: skip
def test_what_is_neither_json_nor_a_form_has_no_fields(body: bytes) -> None:
    assert parse_fields(body) is None


@given(st.binary(max_size=300) | st.dictionaries(st.text(), st.text()).map(lambda d: urlencode(d).encode()))
def test_fields_of_anything(body: bytes) -> None:
    found = parse_fields(body)
    assert found is None or isinstance(found, dict)


def test_pointers() -> None:
    document = {"a": [{"b/c": 1, "d~e": "x"}], "": "empty"}
    assert resolve_pointer(document, "/a/0/b~1c") == 1
    assert resolve_pointer(document, "/a/0/d~0e") == "x"
    assert resolve_pointer(document, "/") == "empty"
    for missing in ("/a/1/b", "/a/x", "/b", "/a/0/d~0e/z", "/a/-1", "/a/99999"):
        assert resolve_pointer(document, missing) is None
    assert resolve_text(document, "/b", "/a/0/b~1c") == "1"
    assert resolve_text({"t": True, "n": 1.5, "l": []}, "/t", "/n", "/l") == ""


FIELDS = st.sampled_from(["access_token", "refresh_token", "expires_in", "scope", "token_type"])
VALUES = st.none() | st.text(max_size=50) | st.integers() | st.floats() | st.lists(st.text())


@given(st.dictionaries(FIELDS, VALUES))
def test_any_answer_gives_tokens_or_none(answer: dict[str, Any]) -> None:
    try:
        tokens = read(answer | {"access_token": answer.get("access_token", ACCESS)})
    except UnusableTokens:
        return
    assert tokens.access_token.reveal().isprintable()
    assert tokens.expires_in is None or tokens.expires_in > 0


def test_tokens_do_not_print_themselves() -> None:
    tokens = read({"refresh_token": "rt_of-the-token-tests-0123456789"})
    assert "rt_of" not in repr(tokens)
    assert "at_of" not in repr(tokens)
    with pytest.raises(TypeError):
        json.dumps(tokens.access_token)
