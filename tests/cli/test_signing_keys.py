"""Signing keys at the command line: listed, rotated, replaced; and never shown."""

import json
import time

import pytest

from tests.cli.conftest import LONG, Home


def states(cli: Home) -> list[str]:
    return sorted(key["state"] for key in cli.run("keys", "signing", "list", "--json").json())


def first_states(cli: Home) -> list[str]:
    """A product that has just started makes its keys after it has said that it is ready."""
    deadline = time.monotonic() + LONG
    while not (found := states(cli)):
        assert time.monotonic() < deadline
    return found


@pytest.mark.usefixtures("new_keys")
def test_list_rotate_and_replace(cli: Home) -> None:
    before = len(first_states(cli))  # the product is shared with other tests, and may be of any age
    replaced = cli.run("keys", "signing", "rotate", "--compromised", "--json")
    assert states(cli) == ["active", *["distrusted"] * before, "next"]
    early = cli.run("keys", "signing", "rotate")
    assert early.code == 5
    assert "try again later" in early.err
    assert states(cli) == ["active", *["distrusted"] * before, "next"], "nobody can know the next one yet"
    shown = cli.run("keys", "signing", "list").out
    assert json.loads(replaced.out)["signing"] in shown
    assert "active" in shown
    assert "PRIVATE" not in shown
    status = cli.run("keys", "status", "--json").json()
    assert [key["in_use"] for key in status["keys"]] == [True], "the vault's key seals them"
