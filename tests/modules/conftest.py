"""Fixtures of the tests of modules."""

import pytest

from gateway.results import budget


@pytest.fixture(autouse=True)
def answer_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each tool answer with all that it gives; what becomes of large results: tests/gateway/results."""
    monkeypatch.setattr(budget, "DEFAULT_RESULT_TOKENS", 1 << 30)
