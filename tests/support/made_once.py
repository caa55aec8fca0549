"""What takes long to make and is the same for all tests: made once a process.

The system's certificate authorities, which httpx2 reads for every client (25 ms), the RSA keys that products make to
sign with (two for each product, 100 ms), and the weights of the built-in embedding model (1 s for each product that
embeds something). Two keys made in one test are never the same.
"""

import functools
import os
import ssl
import threading
from collections.abc import Callable, Generator
from unittest import mock

import httpcore2
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from broker.authorization_server import signing_key_store
from search.embedding import builtin


class _Keys:
    def __init__(self, make: Callable[..., RSAPrivateKey]) -> None:
        self._make = make
        self._made: list[RSAPrivateKey] = []
        self._turn = threading.Lock()
        self.given = 0

    @property
    def made(self) -> int:
        return len(self._made)

    def __call__(self, **kind: int) -> RSAPrivateKey:
        with self._turn:
            if self.given == len(self._made):
                self._made.append(self._make(**kind))
            self.given += 1
            return self._made[self.given - 1]


_KEYS = _Keys(signing_key_store.generate_private_key)


@pytest.fixture(scope="session", autouse=True)
def made_once() -> Generator[None]:
    read = httpcore2.default_ssl_context

    @functools.cache
    def kept(trust_env: bool, *named: str | None) -> ssl.SSLContext:
        return read(_trust_env=trust_env)

    def roots(*, _trust_env: bool = True) -> ssl.SSLContext:
        return kept(_trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    load_encoder = functools.cache(builtin._load_encoder)  # pyright: ignore[reportPrivateUsage]
    with (
        mock.patch.object(httpcore2, "default_ssl_context", roots),
        mock.patch.object(builtin, "_load_encoder", load_encoder),
        mock.patch.object(signing_key_store, "generate_private_key", _KEYS),
    ):
        yield


@pytest.fixture(autouse=True)
def keys_from_the_first(made_once: None) -> None:
    """A test may have the keys of the tests before it."""
    _KEYS.given = 0


@pytest.fixture
def new_keys(keys_from_the_first: None) -> None:
    """For a test that changes the keys of a product which it shares with other tests: no key may come twice there."""
    _KEYS.given = _KEYS.made
