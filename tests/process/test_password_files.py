"""Passwords of database roles change beside a running broker and gateway, each of which has its own in a file: no call
fails meanwhile, and the old ones are of no use afterwards (docs/split.md, Passwords of the database roles)."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from core.private_file import replace_private
from tests.process.split_load import Load
from tests.support.eventually import within
from tests.support.postgres import PASSWORDS, DatabaseServer, ScratchDatabase, own_server
from tests.support.product import Person
from tests.support.split import Process, Split, split_on

pytestmark = pytest.mark.timeout(240)

ROLES = {"gateway": "mcpist_gateway", "broker": "mcpist_broker"}
STEPS = (6, 12, 24)
"""Calls at once in each step: more than before, for which the pools mostly log in anew."""


@pytest.fixture
def server() -> Iterator[DatabaseServer]:
    """Of its own: roles belong to the whole server."""
    with own_server() as made:
        yield made


@pytest.fixture
async def scratch(server: DatabaseServer) -> AsyncIterator[ScratchDatabase]:
    async with server.database() as made:
        yield made


@pytest.fixture
async def deployment(scratch: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Split]:
    async with split_on(scratch, tmp_path, gateways=1, prepare=use_password_file) as made:
        yield made


def use_password_file(process: Process) -> None:
    """Take the password out of the URL, and put it into a file."""
    role = ROLES[process.command]
    url = urlsplit(process.variables["MCPIST_DATABASE_URL"])
    where = url.netloc.rpartition("@")[2]
    process.variables["MCPIST_DATABASE_URL"] = url._replace(netloc=f"{role}@{where}").geturl()
    process.variables["MCPIST_DATABASE_PASSWORD_FILE"] = str(password_file(process))
    replace_private(password_file(process), PASSWORDS[role].reveal())


def password_file(process: Process) -> Path:
    return process.home / "database-password"


async def burst(deployment: Split, who: Person, count: int) -> None:
    """So many calls at once, all of which have to work."""
    answers = await asyncio.gather(
        *(deployment.call(who, "knowledge_graph", "read_graph", limit=100) for _ in range(count)),
        *(deployment.call(who, "shop", "look", what="tea") for _ in range(count)),
    )
    for heard in answers:
        assert (heard.status, heard.failed) == (200, False), heard


async def refuses(scratch: ScratchDatabase, role: str) -> bool:
    """Whether the old password is of no use."""
    try:
        connection = await asyncpg.connect(**scratch.as_role(role).connect_args())
    except asyncpg.InvalidPasswordError:
        return True
    await connection.close()
    return False


async def test_passwords_in_files_change_under_load(deployment: Split, scratch: ScratchDatabase) -> None:
    tenant = await deployment.product.tenant("acme", services=["shop", "knowledge_graph"])
    people = [await deployment.product.person(tenant, f"{name}@acme.test", allow=["*"]) for name in ("ada", "bob")]
    for person in people:
        await deployment.add(person, f"token-at-the-shop-of-{person.id}")
    processes = (deployment.broker, *deployment.gateways)
    old = {role: PASSWORDS[role].reveal() for role in ROLES.values()}
    new = {role: secrets.token_urlsafe(16) for role in ROLES.values()}
    load = Load(deployment, people)

    async with scratch.admin_connection() as admin, asyncio.TaskGroup() as group:
        for number, who in enumerate(people):
            group.create_task(load.work(who, number))
        group.create_task(load.churn())
        try:
            await load.answers(5)
            for process in processes:
                role = ROLES[process.command]
                replace_private(password_file(process), f"{old[role]}\n{new[role]}\n")
            await burst(deployment, people[0], STEPS[0])
            for role, password in new.items():
                await admin.execute(f"ALTER ROLE {role} PASSWORD '{password}'")
            await burst(deployment, people[0], STEPS[1])
            for process in processes:
                replace_private(password_file(process), new[ROLES[process.command]])
            await burst(deployment, people[0], STEPS[2])
            await load.everybody_is_served()
        finally:
            load.stop = True
    assert load.errors == {}, "no call has failed"
    for role in ROLES.values():
        assert await refuses(scratch, role)
    await logs_in_anew(deployment, scratch, people[1])


async def logs_in_anew(deployment: Split, scratch: ScratchDatabase, who: Person) -> None:
    """Every connection is ended, and all are made with the new passwords."""
    async with scratch.admin_connection() as admin:
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'mcpist%'")

        async def serves() -> bool:
            heard = await deployment.call(who, "shop", "look", what="tea")
            return (heard.status, heard.failed) == (200, False)

        async def are_logged_in() -> bool:
            roles = await admin.fetch("SELECT DISTINCT usename FROM pg_stat_activity")
            return {*ROLES.values()} <= {row["usename"] for row in roles}

        await within(15, serves)
        await within(15, are_logged_in)  # a call may need none of the broker's connections


async def test_a_wrong_password_in_the_file_ends_the_start(deployment: Split) -> None:
    gateway = deployment.gateways[0]
    await gateway.end()
    replace_private(password_file(gateway), "not-the-password")
    with pytest.raises(AssertionError, match="check the password in MCPIST_DATABASE_PASSWORD_FILE"):
        await gateway.start()
