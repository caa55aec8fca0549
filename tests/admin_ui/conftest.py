"""An app for every test of the admin API."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.admin_ui.admin_app import AdminApp, Tenant, app_on
from tests.support.postgres import DatabaseServer, ScratchDatabase

ACME = "acme"


@dataclass(frozen=True, slots=True)
class Populated:
    """A database with the tenant `acme`, to be copied: 80 statements make it."""

    database: str
    acme: Tenant


_POPULATED: list[Populated] = []
"""Made once in a worker, by the first test that asks for `acme`."""


@pytest.fixture
async def database(request: pytest.FixtureRequest, database_server: DatabaseServer) -> AsyncIterator[ScratchDatabase]:
    """An own database at the newest schema, in which `acme` exists already if the test has it."""
    with_acme = ACME in request.fixturenames
    if with_acme and not _POPULATED:
        _POPULATED.append(await _populate(database_server))
    async with database_server.database(copy_of=_POPULATED[0].database if with_acme else None) as made:
        yield made


async def _populate(server: DatabaseServer) -> Populated:
    database = await server.keep_database()
    async with app_on(database) as app:
        return Populated(database.name, await app.tenant(ACME))


@pytest.fixture
async def app(request: pytest.FixtureRequest, database: ScratchDatabase) -> AsyncIterator[AdminApp]:
    async with app_on(database) as made:
        if ACME in request.fixturenames:
            made.prepared[ACME] = _POPULATED[0].acme
        yield made


@pytest.fixture
async def acme(app: AdminApp) -> Tenant:
    return await app.tenant(ACME)
