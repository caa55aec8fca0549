"""The written form of a token: noise is told apart without asking anybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.token_format import TOKEN_PATTERN, generate_token, is_jwt, parse_token


def test_a_new_token_is_well_formed_and_parts_match() -> None:
    parts, token = generate_token()
    assert TOKEN_PATTERN.fullmatch(token.reveal())
    again = parse_token(token.reveal())
    assert again is not None
    assert (again.id, again.secret) == (parts.id, parts.secret)


def test_tokens_differ() -> None:
    assert len({generate_token()[1].reveal() for _ in range(100)}) == 100


@given(st.integers(min_value=7, max_value=67), st.characters(codec="ascii"))
def test_any_changed_character_is_noticed(place: int, character: str) -> None:
    _, token = generate_token()
    text = token.reveal()
    changed = text[:place] + character + text[place + 1 :]
    assert (parse_token(changed) is not None) == (changed == text)


@given(st.text())
def test_noise_is_no_token(text: str) -> None:
    assert parse_token(text) is None


def test_a_token_does_not_print() -> None:
    parts, token = generate_token()
    assert parts.secret.reveal() not in f"{token} {token!r} {parts!r}"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("a.b.c", True),
        ("eyJhbGciOiJSUzI1NiJ9.e30.c2ln", True),
        ("a.b", False),
        ("a.b.", False),
        (".b.c", False),
        ("a.b.c.d", False),
        ("a.b.c\n", False),
        ("a.b=.c", False),
        ("a.b.é", False),
        ("", False),
        ("a." * 4_096 + "c", False),
        ("a.b." + "c" * 8_188, True),
        ("a.b." + "c" * 8_189, False),
    ],
)
def test_the_form_of_a_jwt(text: str, is_one: bool) -> None:
    assert is_jwt(text) is is_one
