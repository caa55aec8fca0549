"""Every statement of the vault and the leases without its tenant filter: no foreign row is read, changed or deleted."""

import ast
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from broker.interface import Lease, Refused
from broker.vault.key_usage import data_keys
from core.db import Database
from core.directory.services import set_service
from core.errors import MCPistError
from tests.broker.world import ACTOR, READ, WRITE, Person, World, world_on
from tests.core.directory.test_isolation import FILTER, mutants, watched
from tests.support.mutation import Mutator
from tests.support.postgres import ScratchDatabase

ROOT = Path(__file__).parents[2]
WRITTEN_IN = ("broker/vault/*.py", "broker/access.py", "broker/leases.py")
SLUGS = (f"tenant-{number}" for number in count())


async def told(world: World) -> list[Any]:
    """The story of a tenant that has the same names as all tenants before it, without what differs in every run."""
    world.clock.ahead = timedelta()
    tenant = await world.tenant(next(SLUGS))
    team = await world.role(tenant, "team", allow=["*"])
    ada = await world.person(tenant, "ada@example.test", "team")
    bob = await world.person(tenant, "bob@example.test", "team")
    await set_service(world.console, ACTOR, tenant, "notion", enabled=False)
    await world.put(tenant, ada.own, "own-1", account="ada")
    said: list[Any] = [await seen(world, ada)]
    await set_service(world.console, ACTOR, tenant, "notion", enabled=True)
    world.clock.ahead = timedelta(days=91)  # a new data key
    await world.put(tenant, ada.own, "own-2", account="ada")
    await world.put(tenant, team, "shared-1", account="team")
    await world.put(tenant, team, "shared-2", module="notion")
    world.vault.forget(tenant)
    said += [await seen(world, ada), await seen(world, bob)]
    said.append((await world.credentials.secret(tenant, "github", ada.own)).reveal())
    owners = (
        await world.credentials.owner(tenant, email=ada.email),
        await world.credentials.owner(tenant, role="team"),
    )
    said.append(owners == (ada.own, team))
    lease = await world.leases.lease(ada.asks())
    assert isinstance(lease, Lease)
    said.append(await world.leases.lease(ada.asks(rejected=lease.version)))
    said.append([(one.module, one.owner, one.state) for one in await world.credentials.list(tenant)])
    await world.credentials.remove(ACTOR, tenant, "notion", team)
    said.append([(one.module, one.owner, one.state) for one in await world.credentials.list(tenant)])
    said.append(await keys_of(world, tenant))
    said.append(sorted((await data_keys(world.trusted, tenant)).values()))
    return said


async def seen(world: World, person: Person) -> list[Any]:
    """What a person is given and shown."""
    status = await world.leases.status(person.token)
    assert not isinstance(status, Refused)
    shown: list[Any] = [(one.module, one.state, one.kind, one.account) for one in status.values()]
    for module, tool in (("github", READ), ("github", WRITE), ("notion", "search"), ("notes", "x")):
        answer = await world.leases.lease(person.asks(tool, module=module))
        shown.append(answer.access_token.reveal() if isinstance(answer, Lease) else type(answer))
    return shown


async def keys_of(world: World, tenant: UUID) -> list[Any]:
    async with world.database.admin_connection() as admin:
        return [
            tuple(row)
            for row in await admin.fetch(
                "SELECT state, uses FROM vault.deks WHERE tenant_id = $1 ORDER BY created_at", tenant
            )
        ]


async def stored(world: World) -> list[str]:
    """Every row that a missing filter could have changed."""
    async with world.database.admin_connection() as admin:
        return [
            row[0]
            for table in ("vault.deks", "vault.credentials", "core.generations")
            for row in await admin.fetch(f"SELECT t::text FROM {table} t ORDER BY 1")
        ]


async def outcome(world: World, monkeypatch: pytest.MonkeyPatch, mutator: Mutator) -> tuple[list[Any], bool]:
    """What a story tells, and whether everything older was left alone."""
    before = await stored(world)
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        said = await told(world)
    return said, set(before) <= set(await stored(world))


def written() -> set[str]:
    """Every text with a filter in the sources."""
    trees = (ast.parse(path.read_text("utf-8")) for pattern in WRITTEN_IN for path in ROOT.glob(pattern))
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in nodes if isinstance(node.value, str) and FILTER.search(node.value)}


async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutator = Mutator()
    expected, alone = await outcome(world, monkeypatch, mutator)
    assert alone
    assert written() <= mutator.seen.keys(), "a statement is missing from the story"
    for sql in written():
        for mutant in mutants(sql):
            assert await outcome(world, monkeypatch, Mutator({sql: mutant})) == (expected, True), mutant


# Without its filter such a statement finds the same row: by an id that nobody can give it but for their own tenant.
BY_AN_ID_OF_ITS_OWN = (
    "FROM core.role_assignments a",
    "SELECT id, kek_id, wrapped FROM vault.deks",
    "user_id = $3 OR role_id = ",
    "UPDATE vault.credentials SET",
)


async def test_without_row_level_security_the_same_mutants_are_noticed(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the story tells a missing filter from one that is there, if nothing stands behind it."""
    superuser = Database(database.admin)
    await superuser.open()
    async with world_on(database, superuser) as world:
        for _ in range(2):
            expected = await outcome(world, monkeypatch, Mutator())
        unnoticed = [
            sql
            for sql in written()
            if not await noticed(world, monkeypatch, sql, expected)
            and not any(part in sql for part in BY_AN_ID_OF_ITS_OWN)
        ]
    await superuser.close()
    assert unnoticed == []


async def noticed(world: World, monkeypatch: pytest.MonkeyPatch, sql: str, expected: tuple[list[Any], bool]) -> bool:
    try:
        return await outcome(world, monkeypatch, Mutator({sql: mutants(sql)[-1]})) != expected
    except (asyncpg.PostgresError, MCPistError, ValueError):
        return True
