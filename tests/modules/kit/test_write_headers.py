"""Headers of changes: held to one version, and done once."""

import pytest
from pydantic import TypeAdapter, ValidationError

from modules.kit.write_headers import Etag, build_idempotency_key, build_if_match

ETAG = TypeAdapter(Etag)


@pytest.mark.parametrize(
    ("given", "kept"), [('"a"', '"a"'), ('W/"a=="', 'W/"a=="'), ("3181161784712000", '"3181161784712000"')]
)
def test_an_etag(given: str, kept: str) -> None:
    assert build_if_match(ETAG.validate_python(given)) == {"If-Match": kept}
    assert build_if_match(None) is build_if_match("") is None


@pytest.mark.parametrize("wrong", ["", "a b", '"a"\r\nX: y', "é", "x" * 300, '"a", "b"'])
def test_what_is_no_etag(wrong: str) -> None:
    with pytest.raises(ValidationError):
        ETAG.validate_python(wrong)


def test_a_key_is_that_of_the_content() -> None:
    one = build_idempotency_key("ref", "name", "select 1")
    assert one == build_idempotency_key("ref", "name", "select 1")
    others = [("ref", "name", "select 2"), ("ref", "nameselect 1", ""), ("ref", ["name", "select 1"])]
    assert one not in [build_idempotency_key(*parts) for parts in others]
