"""A secret does not get out by accident."""

import copy
import json
import pickle

import orjson
import pytest

from core.secret import MASK, Secret


def test_it_prints_as_a_mask_everywhere() -> None:
    secret = Secret("hunter2")
    assert f"{secret}" == f"{secret!r}" == f"{secret:>3}" == "%s" % secret == MASK  # noqa: UP031 the old form too
    assert "hunter2" not in repr({"k": [secret]})


@pytest.mark.parametrize("encode", [json.dumps, orjson.dumps, pickle.dumps, copy.copy, copy.deepcopy])
def test_nothing_serialises_it(encode: object) -> None:
    with pytest.raises(TypeError):
        encode(Secret("hunter2"))  # type: ignore[operator]


def test_only_reveal_gives_it_back() -> None:
    assert Secret("hunter2").reveal() == "hunter2"
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
