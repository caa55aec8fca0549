"""Two offices with the same names in them: `ada` is an administrator of the role Team, `bob` has the role, `cat` has
none."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from core.db import Database
from core.directory import roles, users
from modules.items import MODULE
from modules.kit import DocumentedError
from tests.support.modules import Person
from tests.support.postgres import MadeTenant, ScratchDatabase
from tests.support.product import ACTOR


@dataclass(frozen=True, slots=True)
class Office:
    """People of one tenant."""

    ada: Person
    bob: Person
    cat: Person


@pytest.fixture
async def gateway(database: ScratchDatabase) -> AsyncIterator[Database]:
    """The database as the gateway sees it."""
    async with database.open("mcpist_gateway") as opened:
        yield opened


@pytest.fixture
async def offices(
    database: ScratchDatabase, gateway: Database, make_tenant: Callable[..., Awaitable[MadeTenant]]
) -> tuple[Office, Office]:
    return await make_office(database, gateway, await make_tenant()), await make_office(
        database, gateway, await make_tenant()
    )


@pytest.fixture
async def office(offices: tuple[Office, Office]) -> Office:
    return offices[0]


@pytest.fixture
async def ada(office: Office) -> Person:
    return office.ada


async def make_office(database: ScratchDatabase, gateway: Database, tenant: MadeTenant) -> Office:
    async with database.open("mcpist_console") as console:
        await roles.create_role(console, ACTOR, tenant.id, "Team", 0)
        made = [
            await users.create_user(
                console, ACTOR, tenant.id, f"{name}@mail.test", system_role=system_role, roles=given
            )
            for name, system_role, given in (
                ("ada", "admin", ("Team",)),
                ("bob", "user", ("Team",)),
                ("cat", "user", ()),
            )
        ]
    return Office(*(Person(gateway, MODULE, tenant.id, user) for user in made))


async def refused(person: Person, tool: str, **params: Any) -> tuple[int, dict[str, Any]]:
    """The code and the details of the error that a call ends in."""
    with pytest.raises(DocumentedError) as caught:
        await person.call(tool, **params)
    return caught.value.kind.code, dict(caught.value.details or {})
