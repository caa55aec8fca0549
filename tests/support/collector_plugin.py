"""The garbage collector leaves alone what lives as long as the suite: modules, 12,000 tests, their marks.

Without this it goes through all of them again and again: a seventh of the CPU of `tests/gateway` and `tests/path`
(129 and 111 s), and a sixth of the collection. The product does the same when it has started (server/listener.py).
"""

import gc

import pytest

YOUNG_THRESHOLD = 20_000


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()


def pytest_unconfigure(config: pytest.Config) -> None:
    gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_THRESHOLD, 20, 20)
    gc.enable()
