"""httpx2 reads the system's certificate authorities for every client, 25 ms each time; in the tests, once a process."""

import functools
import os
import ssl
from collections.abc import Generator
from unittest import mock

import httpcore2
import pytest


@pytest.fixture(scope="session", autouse=True)
def system_roots_are_read_once() -> Generator[None]:
    read = httpcore2.default_ssl_context

    @functools.cache
    def kept(trust_env: bool, *named: str | None) -> ssl.SSLContext:
        return read(_trust_env=trust_env)

    def shared(*, _trust_env: bool = True) -> ssl.SSLContext:
        return kept(_trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    with mock.patch.object(httpcore2, "default_ssl_context", shared):
        yield
