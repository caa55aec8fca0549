"""What takes long to make and is the same for all tests: made once a process.

The system's certificate authorities, which httpx2 reads for every client (25 ms), the RSA keys that products make to
sign with (two for each product, 100 ms), the weights of the built-in embedding model (1 s for each product that embeds
something), and what is read of the signatures of tools that every gateway declares anew (10 ms). Two keys made in one
test are never the same.

And what a gateway prepares for later, once it has run for a second, is not made at all (60 ms): it comes with the first
use of each tool. Gateways that are processes of their own prepare it.
"""

import functools
import os
import ssl
import threading
from collections.abc import Callable, Generator
from types import CodeType
from typing import Any
from unittest import mock

import httpcore2
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from broker.authorization_server import signing_key_store
from gateway.sieve.sieve import Sieve
from modules.kit import declarations
from modules.kit.signatures import Signature
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


class _Signatures:
    """Reads signatures of tools, those of these modules once: each call of the functions there declares the same."""

    MODULES = ("gateway.results.module", "gateway.tasks.module", "gateway.tasks.schedule_tools")

    def __init__(self, read: Callable[..., Signature]) -> None:
        self._read = read
        self._known: dict[CodeType, Signature] = {}

    def __call__(self, function: Callable[..., Any]) -> Signature:
        if function.__module__ not in self.MODULES:
            return self._read(function)
        code = function.__code__
        if code not in self._known:
            self._known[code] = self._read(function)
        return self._known[code]


async def _prepare_nothing(_sieve: Sieve) -> None:
    pass


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
        mock.patch.object(declarations, "read_signature", _Signatures(declarations.read_signature)),
        mock.patch.object(Sieve, "prepare_tools", _prepare_nothing),
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
