"""Every form in which a credential is sent, and what would break out of its header."""

import base64

import pytest

from core.http.credential_headers import (
    BEARER,
    CredentialScheme,
    InvalidCredentialForm,
    build_credential_header,
    is_reserved,
    join_user,
)
from core.secret import Secret

USER = CredentialScheme("basic_user", fixed="api_token")
PASSWORD = CredentialScheme("basic_password", fixed="x-token")
PAIR = CredentialScheme("basic_pair")
HEADER = CredentialScheme("header", name="X-Api-Key")
WORD = CredentialScheme("header", name="Authorization", word="Token")


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("scheme", "secret", "header"),
    [
        (BEARER, "k-1", ("authorization", "Bearer k-1")),
        (USER, "k-1", ("authorization", basic("k-1:api_token"))),
        (CredentialScheme("basic_user"), "k-1", ("authorization", basic("k-1:"))),
        (PASSWORD, "k:1", ("authorization", basic("x-token:k:1"))),
        (PAIR, "pair-7c1f@keys.test:k:1", ("authorization", basic("pair-7c1f@keys.test:k:1"))),
        (HEADER, "k-1", ("x-api-key", "k-1")),
        (WORD, "k-1", ("authorization", "Token k-1")),
    ],
)
def test_each_scheme(scheme: CredentialScheme, secret: str, header: tuple[str, str]) -> None:
    assert build_credential_header(scheme, Secret(secret)) == header


@pytest.mark.parametrize("scheme", [BEARER, USER, PASSWORD, HEADER, WORD])
@pytest.mark.parametrize("secret", ["", " ", "a b", "a\r\nX: y", "a\n", "a\0", "\x7f", "é", "x" * 16_385])
def test_what_would_end_a_header(scheme: CredentialScheme, secret: str) -> None:
    with pytest.raises(InvalidCredentialForm):
        build_credential_header(scheme, Secret(secret))


def test_a_colon_would_make_two_of_a_key() -> None:
    with pytest.raises(InvalidCredentialForm):
        build_credential_header(USER, Secret("user:password"))


def test_a_pair_is_a_user_name_and_a_key() -> None:
    assert join_user(PAIR, Secret("k-1"), "pair-7c1f@keys.test") == Secret("pair-7c1f@keys.test:k-1")
    wrong = ["", "a:b", "a\r\nb", "a\0", "é@acme.test", "x" * 321]
    for user in wrong:
        with pytest.raises(InvalidCredentialForm) as caught:
            join_user(PAIR, Secret("k-1"), user)
        assert caught.value.part == "user", user
    with pytest.raises(InvalidCredentialForm) as caught:
        join_user(PAIR, Secret("k 1"), "pair-7c1f@keys.test")
    assert caught.value.part == "secret"


@pytest.mark.parametrize(
    ("name", "word"), [("", ""), ("Host", ""), ("X: y\r\nZ", ""), ("X-Key", "a b"), ("X-Key", "a\r\nX:")]
)
def test_headers_that_no_credential_goes_into(name: str, word: str) -> None:
    with pytest.raises(InvalidCredentialForm):
        build_credential_header(CredentialScheme("header", name=name, word=word), Secret("k-1"))


def test_only_a_pair_has_a_user_name() -> None:
    assert join_user(BEARER, Secret("k-1"), "") == Secret("k-1")
    with pytest.raises(InvalidCredentialForm) as caught:
        join_user(BEARER, Secret("k-1"), "ada")
    assert caught.value.part == "user"
    for stored in ("k-1", ":k-1"):  # stored before the provider asked for a pair
        with pytest.raises(InvalidCredentialForm):
            build_credential_header(PAIR, Secret(stored))


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "Cookie", "PROXY-x", "Sec-Fetch-Site"])
def test_reserved_headers(name: str) -> None:
    assert is_reserved(name)
    assert not is_reserved("X-Api-Key")
    assert not is_reserved("Authorization")
