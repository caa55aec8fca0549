"""Role mappings, provisioned people and groups, SCIM tokens: every statement without its tenant filter, beside a tenant
that has the same names."""

import ast
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from broker.identity.scim_tokens import ScimTokens
from core.db import Database
from core.directory import allow_list, role_mappings, roles, users
from core.directory.audit_trail import Actor
from core.directory.scim import MemberChange, ScimDirectory, UserAttributes
from core.errors import MCPistError
from tests.core.directory.test_isolation import FILTER, mutants, pair_mutants, watched
from tests.support.directory import create_tenant
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase

ACTOR = Actor("tester")
ROOT = Path(__file__).parents[3]
SOURCES = ("core/directory/role_mappings.py", "core/directory/scim.py", "broker/identity/scim_tokens.py")
TABLES = (
    "core.role_mappings",
    "core.role_assignments",
    "core.users",
    "core.roles",
    "core.scim_users",
    "core.scim_groups",
    "core.scim_members",
    "core.allow_list",
    "auth.scim_tokens",
)
NUMBERS = count()
GRANTS = frozenset({("allow", "kg.read")})


def written() -> list[str]:
    """Every statement of these files."""
    trees = [ast.parse((ROOT / path).read_text("utf-8")) for path in SOURCES]
    texts = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and FILTER.search(text)]


async def begin(console: Database) -> tuple[UUID, UUID]:
    """A tenant with a person, two roles, and a mapping of a domain."""
    tenant = await create_tenant(console, ACTOR, f"told-{next(NUMBERS)}", "The same name")
    staff = await roles.create_role(console, ACTOR, tenant.id, "staff", 4, GRANTS)
    await roles.create_role(console, ACTOR, tenant.id, "everybody", 5, GRANTS)
    await role_mappings.add_role_mapping(console, ACTOR, tenant.id, "domain", "", "mail.test", staff.id)
    zoe = await users.create_user(console, ACTOR, tenant.id, "zoe@mail.test")
    await role_mappings.add_role_mapping(console, ACTOR, tenant.id, "group", "scim", "Team", staff.id)
    return tenant.id, zoe


async def add_neighbour(console: Database, broker: Database) -> None:
    """Another tenant, with people and a group of the names that the story has."""
    tenant, zoe = await begin(console)
    directory = ScimDirectory(console, keep_accounts)
    named = UserAttributes("ada.king", "king@mail.test", "Ada King", external_id="ada-1")
    ada = await directory.create_user(ACTOR, tenant, named)
    await directory.create_group(ACTOR, tenant, "Team", "team-1", [ada.id, zoe])
    await allow_list.add_entry(console, ACTOR, tenant, "ada@mail.test")
    await ScimTokens(broker, clock=lambda: datetime.now(UTC)).create(ACTOR, tenant, "Entra ID")


async def held(console: Database, tenant: UUID, user: UUID) -> list[str]:
    return [role.name for role in await roles.list_user_roles(console, tenant, user)]


async def the_story(console: Database, broker: Database) -> list[Any]:
    """Roles by groups and domains: given, shared with a role by hand, and taken away again."""
    tenant, zoe = await begin(console)
    everybody = await roles.find_role(console, tenant, "everybody")
    mapping, is_new = await role_mappings.add_role_mapping(console, ACTOR, tenant, "group", "idp", "all", everybody.id)
    again = await role_mappings.add_role_mapping(console, ACTOR, tenant, "group", "idp", "all", everybody.id)
    listed = await role_mappings.list_role_mappings(console, tenant)
    told: list[Any] = [is_new, again[1], [(one.kind, one.value, one.role) for one in listed]]
    for email, groups in (("zoe@mail.test", ["all"]), ("", None), ("zoe@mail.test", [])):
        async with console.tenant(tenant) as work:
            await role_mappings.apply_sign_in_mappings(work, ACTOR, zoe, "idp", email, groups)
        told.append(await held(console, tenant, zoe))
    await users.assign_role(console, ACTOR, tenant, zoe, everybody.id)
    for source, wanted in (("scim", [everybody.id]), ("scim", []), ("sign_in", [])):
        async with console.tenant(tenant) as work:
            await role_mappings.set_sourced_roles(work, ACTOR, zoe, source, wanted)  # type: ignore[arg-type]
        told.append(await held(console, tenant, zoe))
    await role_mappings.remove_role_mapping(console, ACTOR, tenant, mapping.id)
    told.append(len(await role_mappings.list_role_mappings(console, tenant)))
    return [*told, *await told_of_groups(console, tenant, zoe), *await told_of_tokens(broker, tenant)]


async def told_of_groups(console: Database, tenant: UUID, zoe: UUID) -> list[Any]:
    """People and groups as they are provisioned."""
    directory = ScimDirectory(console, keep_accounts)
    wanted = UserAttributes("Ada@mail.test", "ada@mail.test", "Ada", external_id="ada-1")
    ada = await directory.create_user(ACTOR, tenant, wanted)
    renamed = UserAttributes("ada.king", "king@mail.test", "Ada King", external_id="ada-1")
    ada = await directory.change_user(ACTOR, tenant, ada.id, renamed)
    pages = [
        await directory.list_users(tenant, attribute, value, 0, 10)
        for attribute, value in (("", ""), ("user_name", "ada.king"), ("external_id", "ada-1"), ("email", "x@y.test"))
    ]
    told: list[Any] = [[(total, [one.email for one in found]) for total, found in pages]]
    team = await directory.create_group(ACTOR, tenant, "Team", "team-1", [ada.id])
    told.append([await held(console, tenant, user) for user in (ada.id, zoe)])
    changes = [MemberChange(add=[zoe]), MemberChange(remove=[ada.id]), MemberChange(display_name="Team")]
    await directory.change_group(ACTOR, tenant, team.id, changes)
    told.append([await held(console, tenant, user) for user in (ada.id, zoe)])
    groups = await directory.list_groups(tenant, "display_name", "team", 0, 10, with_members=True)
    told.append((groups[0], [(one.display_name, [email for _, email in one.members or ()]) for one in groups[1]]))
    staff = await roles.find_role(console, tenant, "staff")
    (mapping,) = [one for one in await role_mappings.list_role_mappings(console, tenant) if one.provider == "scim"]
    await role_mappings.remove_role_mapping(console, ACTOR, tenant, mapping.id)
    told.append(await held(console, tenant, zoe))
    await role_mappings.add_role_mapping(console, ACTOR, tenant, "group", "scim", "Team", staff.id)
    told.append(await held(console, tenant, zoe))
    await directory.change_group(ACTOR, tenant, team.id, [MemberChange(display_name="Other")])
    told.append(await held(console, tenant, zoe))
    await directory.remove_group(ACTOR, tenant, team.id)
    return [*told, (await directory.get_user(tenant, zoe)).email]


async def told_of_tokens(broker: Database, tenant: UUID) -> list[Any]:
    """A token from made to removed."""
    tokens = ScimTokens(broker, clock=lambda: datetime.now(UTC))
    made, token = await tokens.create(ACTOR, tenant, "Entra ID")
    caller = await tokens.verify(token)
    listed = [(one.name, one.last_used_at is not None) for one in await tokens.list_page(tenant, None, 10)]
    await tokens.remove(ACTOR, tenant, made.id)
    return [caller is not None and caller.tenant_id == tenant, listed, await tokens.verify(token) is None]


async def keep_accounts(*_: Any, **__: Any) -> tuple[()]:
    return ()


async def outcome(
    database: ScratchDatabase,
    console: Database,
    broker: Database,
    monkeypatch: pytest.MonkeyPatch,
    mutator: Mutator,
) -> tuple[list[Any], bool]:
    """What is told, and whether all other tenants' rows stay as they are."""
    before = await rows(database)
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        told = await the_story(console, broker)
    return told, before <= await rows(database)


async def rows(database: ScratchDatabase) -> set[str]:
    async with database.admin_connection() as admin:
        found = [await admin.fetch(f"SELECT '{table} ' || t::text AS row FROM {table} t") for table in TABLES]
    return {row["row"] for of_table in found for row in of_table}


@pytest.mark.guarantee("G9")
@together_and_alone
async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    async with database.open("mcpist_console") as console, database.open("mcpist_broker") as broker:
        await add_neighbour(console, broker)
        mutator = Mutator()
        expected, untouched = await outcome(database, console, broker, monkeypatch, mutator)
        assert untouched
        assert [sql for sql in written() if not any(sql in seen for seen in mutator.seen)] == []
        ours = [seen for seen in mutator.seen if any(part in seen for part in written())]
        tell = partial(outcome, database, console, broker, monkeypatch)
        assert await find_leaks(pair_mutants(ours), tell, (expected, True), alone=alone) == []


# By the id of a user, a role or a mapping, which no other tenant has; or a limit that no story reaches.
BY_AN_ID_OF_ITS_OWN = (
    "AND m.kind = $2 AND m.provider = $3",
    "SELECT name FROM core.roles",
    "DELETE FROM core.role_mappings",
    "SELECT count(*) FROM core.role_mappings",
    "SELECT DISTINCT a.role_id FROM core.role_assignments",
    "UPDATE core.role_assignments SET sources",
    "DELETE FROM core.role_assignments",
    "SELECT id, name FROM core.roles",
    "SELECT email FROM core.users",
    # What is found of another tenant's members is filtered by the next statement.
    "FROM core.scim_members m",
    "SELECT user_id, role_id FROM core.role_assignments",
    "u.tenant_id = $1 AND u.id = $2",
    "UPDATE core.users SET email",
    "INSERT INTO core.scim_members",
    "g.tenant_id = $1 AND g.id = $2",
    "FROM core.scim_groups WHERE tenant_id = $1 AND id = $2",
    "UPDATE core.scim_groups",
    "DELETE FROM core.scim_members",
    "SELECT count(*) FROM auth.scim_tokens",
    "s.secret_hash = $2",
    "UPDATE auth.scim_tokens",
    "DELETE FROM auth.scim_tokens",
)


@pytest.mark.guarantee("G9")
@pytest.mark.long
async def test_without_row_level_security_the_same_mutants_are_noticed(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the story tells a missing filter from one that is there, if nothing stands behind it."""
    superuser = Database(database.admin)
    await superuser.open()
    await add_neighbour(superuser, superuser)
    mutator = Mutator()
    expected = await outcome(database, superuser, superuser, monkeypatch, mutator)
    unnoticed: list[str] = []
    for sql in [seen for seen in mutator.seen if any(part in seen for part in written()) and mutants(seen)]:
        try:
            mutated = await outcome(database, superuser, superuser, monkeypatch, Mutator({sql: mutants(sql)[-1]}))
        except (asyncpg.PostgresError, MCPistError, ValueError, AssertionError):
            continue
        if mutated == expected and not any(part in sql for part in BY_AN_ID_OF_ITS_OWN):
            unnoticed.append(sql)
    await superuser.close()
    assert unnoticed == []
