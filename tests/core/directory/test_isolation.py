"""Two tenants with the same names, and every statement of the product without its tenant filter: no foreign row is
read, changed or deleted. (The statements of a module are taken apart the same way beside that module's tests.)"""

import ast
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from core import db
from core.db import Database
from core.errors import MCPistError
from tests.core.directory.story import Stories, StoryApp, app
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase

ROOT = Path(__file__).parents[3]
FILTER = re.compile(r"(?:\b\w+\.)?\btenant_id\s*=\s*\$1(?!\d)")
UNFILTERED = "$1::uuid IS NOT NULL"
# test_removal.py: after that story there is no tenant left; tests/gateway/test_document_store.py,
# test_provisioning_isolation.py and test_console_isolation.py: have their own stories
CONSOLE = {"access_requests.py", "profiles.py", "versions.py", "call_counts.py", "figures.py", "change_hints.py"}
CONSOLE |= {"search.py"}
# The deployment's own chain, which is nobody's; results of one person: tests/gateway/results/test_store.py;
# subscriptions of one person: tests/gateway/streams/test_resource_subscriptions.py
OTHERS = {"backups.py", "store.py", "resource_subscriptions.py"}
ELSEWHERE = {"deletion.py", "document_store.py", "role_mappings.py", "scim.py", *CONSOLE, *OTHERS}
WRITTEN_IN = (
    "core/directory/*.py", "core/audit/*.py", "broker/identity/api_tokens.py", "gateway/**/*.py",
    "server/**/*.py", "cli/**/*.py",
)  # fmt: skip


@pytest.fixture
async def bound(database: ScratchDatabase) -> AsyncIterator[StoryApp]:
    async with (
        database.open("mcpist_console") as console,
        database.open("mcpist_gateway") as gateway,
        database.open("mcpist_broker") as broker,
    ):
        yield app(console, gateway, broker)


@pytest.fixture
async def unbound(database: ScratchDatabase) -> AsyncIterator[StoryApp]:
    superuser = Database(database.admin)
    await superuser.open()
    yield app(superuser, superuser, superuser)
    await superuser.close()


def mutants(sql: str) -> list[str]:
    """The statement without one of its tenant filters, for each of them, and without all."""
    found = list(FILTER.finditer(sql))
    single = [sql[: one.start()] + UNFILTERED + sql[one.end() :] for one in found]
    return [*single, FILTER.sub(UNFILTERED, sql)] if len(found) > 1 else single


def pair_mutants(statements: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each mutant of these statements, beside its statement."""
    return ((sql, mutant) for sql in statements for mutant in mutants(sql))


def watched(monkeypatch: pytest.MonkeyPatch, mutator: Mutator) -> None:
    """Every unit of work of the product sends what the mutator says."""
    for name in ("fetch", "fetchrow", "fetchval", "execute"):
        plain = getattr(db.UnitOfWork, name)

        async def passing(work: Any, sql: str, *args: Any, _plain: Any = plain) -> Any:
            return await _plain(work, mutator.passed(sql), *args)

        monkeypatch.setattr(db.UnitOfWork, name, passing)


async def noted(monkeypatch: pytest.MonkeyPatch, stories: Stories, app: StoryApp) -> tuple[Mutator, list[Any]]:
    mutator = Mutator()
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        told, left_alone = await stories.tell(app, app.console)
    assert left_alone
    return mutator, told


def written() -> list[str]:
    """Every text with a filter in the source of what the story is about."""
    assert all(list(ROOT.glob(pattern)) for pattern in WRITTEN_IN), "a file was moved"
    return filtered_texts(path for pattern in WRITTEN_IN for path in ROOT.glob(pattern) if path.name not in ELSEWHERE)


def filtered_texts(paths: Iterable[Path]) -> list[str]:
    """Every text with a filter in these files."""
    texts = (
        node.value
        for path in paths
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return [text for text in texts if FILTER.search(text)]


async def test_the_same_names_in_two_tenants_never_meet(database: ScratchDatabase, bound: StoryApp) -> None:
    stories = Stories(database)
    first, _ = await stories.tell(bound, bound.console)
    second, left_alone = await stories.tell(bound, bound.console)
    assert left_alone
    assert first == second
    ((users_of, *_), *_) = first
    assert users_of == [("ada@mail.test", "active", ("first", "second")), ("bob@mail.test", "active", ())]


@together_and_alone
async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    database: ScratchDatabase, bound: StoryApp, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    stories = Stories(database)
    mutator, expected = await noted(monkeypatch, stories, bound)
    untold = [part for part in written() if not any(part in sql for sql in mutator.seen)]
    assert untold == [], "a statement is missing from the story"

    async def tell(mutator: Mutator) -> tuple[list[Any], bool]:
        with monkeypatch.context() as patch:
            watched(patch, mutator)
            return await stories.tell(bound, bound.console)

    assert await find_leaks(pair_mutants(mutator.seen), tell, (expected, True), alone=alone) == []


# Without its filter such a statement finds the same row: by an id that nobody can give it but for their own tenant.
BY_AN_ID_OF_ITS_OWN = (
    "FROM core.role_assignments a",
    "u.status AS user_status",
    "UPDATE auth.api_tokens SET last_used_at",
    "SELECT count(*) FROM auth.api_tokens",
    "SELECT EXISTS (SELECT FROM core.users",
    "DELETE FROM core.permissions WHERE",
    "UPDATE core.roles SET tool_exposure",
    "SELECT u.system_role, t.longest_token_days",
    "SELECT count(*) FROM core.allow_list",  # only asked whether it is under 20,000
    # The newest users first: the story's tenant is the newest, and of the ids found only its own are read.
    "(u.created_at, u.email) < ",
    # After the same transaction has found the user or the role of that id in the tenant.
    "FROM core.users u JOIN core.role_assignments has",
    "JOIN core.role_assignments has",
    "DELETE FROM core.role_assignments WHERE",
    "UPDATE core.users SET name",
    "DELETE FROM core.users WHERE",
    "UPDATE core.roles SET name",
    "DELETE FROM core.roles WHERE tenant_id = $1 AND id",
    "SELECT FROM core.roles WHERE",
    # Asked for who has changed an object only where its version is another one.
    "SELECT version, changed_at",
    # Only where a search begins and ends: what it finds has a filter of its own.
    "SELECT max(at) FROM audit.events WHERE tenant_id = $1) AS newest",
)


@pytest.mark.long
async def test_without_row_level_security_the_same_mutants_are_noticed(
    database: ScratchDatabase, unbound: StoryApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the story tells a missing filter from one that is there, if nothing stands behind it."""
    stories = Stories(database)
    mutator, _ = await noted(monkeypatch, stories, unbound)
    _, expected = await noted(monkeypatch, stories, unbound)
    unnoticed = [
        sql
        for sql in mutator.seen
        if mutants(sql)
        and not await noticed(monkeypatch, stories, unbound, sql, expected)
        and not any(part in sql for part in BY_AN_ID_OF_ITS_OWN)
    ]
    assert unnoticed == []


async def noticed(
    monkeypatch: pytest.MonkeyPatch, stories: Stories, app: StoryApp, sql: str, expected: list[Any]
) -> bool:
    with monkeypatch.context() as patch:
        watched(patch, Mutator({sql: mutants(sql)[-1]}))
        try:
            return await stories.tell(app, app.console) != (expected, True)
        except (asyncpg.PostgresError, MCPistError, ValueError):
            return True
