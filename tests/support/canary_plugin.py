"""Sets the suite's canary to work: every test is listened to, every secret is registered where it is made.

A test that says a secret on purpose (to see it masked, say), or presents as one what is none, is marked
``@pytest.mark.no_canary("why")``.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any
from unittest import mock

import pytest

from broker.vault.key_wrapping import InMemoryKeyProvider, KeyFile
from broker.vault.vault import Vault
from core.secret import Secret
from tests.support.canary import LISTENING, SUITE
from tests.support.postgres import PASSWORDS

MARKER = "no_canary(why): secrets of this test are not watched for, and nobody listens to it"
_STACK = pytest.StashKey[ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    stack = config.stash[_STACK] = ExitStack()
    for made in PASSWORDS.values():
        SUITE.register(made)
    for patch in _registering():
        stack.enter_context(patch)
    stack.enter_context(SUITE.listening())


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_STACK].close()


@pytest.fixture(autouse=True)
def canary_listens(request: pytest.FixtureRequest) -> Generator[None]:
    """Begins before every other fixture of the test and ends after them, so it hears how they end."""
    SUITE.away = request.node.get_closest_marker("no_canary") is not None
    logging.getLogger().setLevel(LISTENING)  # a test before this one may have left its own
    yield
    SUITE.away = False
    SUITE.check()


@pytest.fixture(scope="session", autouse=True)
def canary_listens_to_the_end() -> Generator[None]:
    """What servers of the whole session said at their end. A failure is shown at the last test."""
    yield
    SUITE.check()


def _registering() -> list[Any]:
    """Patches of the places where secrets are made or come in, each doing what it did."""
    return [
        _first(Secret, "__init__", lambda self, value: SUITE.watch(value)),
        _first(Vault, "seal", lambda self, work, place, plain: _watch_sealed(plain)),
        _first(InMemoryKeyProvider, "wrap", lambda self, plain, context: _watch_sealed(plain)),
        _first(InMemoryKeyProvider, "__init__", lambda self, active, keys: _watch_all(keys.values())),
        _first(KeyFile, "__init__", lambda self, active, keys: _watch_all(keys.values())),
    ]


def _first(owner: type, name: str, notice: Callable[..., None]) -> Any:
    """A patch of a method that shows its arguments to `notice` first."""
    original = getattr(owner, name)

    def noticed(*args: Any, **kwargs: Any) -> Any:
        notice(*args, **kwargs)
        return original(*args, **kwargs)

    return mock.patch.object(owner, name, noticed)


def _watch_all(keys: Any) -> None:
    for key in keys:
        SUITE.watch(key)


def _watch_sealed(plain: bytes) -> None:
    """Most of what is sealed is text, of which only a part may be secret."""
    try:
        SUITE.watch(plain.decode())
    except UnicodeDecodeError:
        SUITE.watch(plain)
