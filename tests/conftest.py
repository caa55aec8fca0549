"""Fixtures of the whole suite; what they are made of is in tests/support."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial

import pytest
from hypothesis import HealthCheck, settings

from tests.support import postgres

# On a busy machine, the time of an example or of drawing it says nothing about the product.
settings.register_profile("untimed", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

pytest_plugins = (
    "tests.support.socket_plugin",
    "tests.support.canary_plugin",
    "tests.support.chromium",
    "tests.support.collector_plugin",
    "tests.support.reuse_plugin",
    "tests.support.made_once",
    "tests.support.loop_start_plugin",
    "tests.support.product_log_plugin",
    "tests.support.order_plugin",
    "tests.support.rewrite_plugin",
    "tests.support.cpu_plugin",
)


@pytest.fixture(scope="session")
def database_server() -> Iterator[postgres.DatabaseServer]:
    """A PostgreSQL server for this test process."""
    with postgres.server_for_tests() as server:
        yield server


@pytest.fixture
async def database(database_server: postgres.DatabaseServer) -> AsyncIterator[postgres.ScratchDatabase]:
    """An own database at the newest schema."""
    async with database_server.database() as made:
        yield made


@pytest.fixture
def make_tenant(database: postgres.ScratchDatabase) -> Callable[..., Awaitable[postgres.MadeTenant]]:
    """``await make_tenant(slug=None, users=1)`` commits a tenant and its users."""
    return partial(postgres.add_tenant, database)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Names bytes by their argument: compressed ones hold the second they were made in, and every xdist worker
    has to collect the same names."""
    return argname if isinstance(val, bytes) else None
