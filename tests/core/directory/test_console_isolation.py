"""The same as test_isolation.py for what the console keeps: profiles, access requests, versions, figures, hints."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from core.db import Database
from core.errors import MCPistError
from tests.core.directory.story import Made, Stories, StoryApp, app
from tests.core.directory.story_of_the_console import told_of_the_console
from tests.core.directory.test_isolation import CONSOLE, ROOT, filtered_texts, mutants, pair_mutants, watched
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase

TABLES = (
    "core.users",
    "core.roles",
    "core.permissions",
    "core.role_assignments",
    "core.access_requests",
    "core.versions",
    "core.hourly_calls",
    "core.daily_calls",
    "core.active_people",
    "core.active_days",
)
# Without its filter such a statement finds the same row: by an id, or the number of an event, that nobody can give it
# but for their own tenant. tests/admin_ui tries the ids of others.
BY_AN_ID_OF_ITS_OWN = (
    "SELECT id FROM core.users",
    "SELECT name, language, time_zone",
    "UPDATE core.users SET name",
    "u.id = r.user_id WHERE r.tenant_id = $1 AND r.id = $2",
    "u.id = r.user_id WHERE r.tenant_id = $1 AND r.user_id = $2",
    "SELECT count(*) FROM core.access_requests",
    "DELETE FROM core.access_requests",
    "UPDATE core.access_requests",
    "SELECT version, changed_at",
    "FROM core.roles r WHERE r.tenant_id = $1 AND r.id = $2",
    # Every story has as many events, of which none is old.
    "SELECT max(seq) FROM (SELECT seq FROM audit.events",
    "SELECT seq FROM core.count_positions",
    "UPDATE core.count_positions SET seq",
    "SELECT base_seq, seq FROM audit.heads",
    "DELETE FROM core.hourly_calls",
    "DELETE FROM core.daily_calls",
    "DELETE FROM core.active_people",
    "DELETE FROM core.active_days",
    "UPDATE core.active_days SET days",
    # The newest users first: the story's tenant is the newest, and of the ids found only its own are read.
    "(u.created_at, u.email) < ",
)


def texts() -> list[str]:
    """Every text with a filter in the source of what the story is about."""
    return filtered_texts(
        path for part in ("directory", "audit") for path in (ROOT / "core" / part).glob("*.py") if path.name in CONSOLE
    )


def is_ours(sql: str) -> bool:
    return any(text in sql for text in texts())


async def story(app: StoryApp, made: Made) -> list[Any]:
    return await told_of_the_console(app.console, made.id, made.ada, made.stranger.id)


@pytest.fixture
async def bound(database: ScratchDatabase) -> AsyncIterator[StoryApp]:
    async with database.open("mcpist_console") as console, database.open("mcpist_broker") as broker:
        yield app(console, console, broker)


@pytest.fixture
async def unbound(database: ScratchDatabase) -> AsyncIterator[StoryApp]:
    superuser = Database(database.admin)
    await superuser.open()
    yield app(superuser, superuser, superuser)
    await superuser.close()


async def noted(monkeypatch: pytest.MonkeyPatch, stories: Stories, app: StoryApp) -> tuple[list[str], list[Any]]:
    mutator = Mutator()
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        told, left_alone = await stories.tell(app, app.console)
    assert left_alone
    return [sql for sql in mutator.seen if is_ours(sql)], told


@together_and_alone
async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    database: ScratchDatabase, bound: StoryApp, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    stories = Stories(database, story, TABLES)
    seen, expected = await noted(monkeypatch, stories, bound)
    assert [text for text in texts() if not any(text in sql for sql in seen)] == [], "a statement is missing"

    async def tell(mutator: Mutator) -> tuple[list[Any], bool]:
        with monkeypatch.context() as patch:
            watched(patch, mutator)
            return await stories.tell(bound, bound.console)

    assert await find_leaks(pair_mutants(seen), tell, (expected, True), alone=alone) == []


@pytest.mark.long
async def test_without_row_level_security_the_same_mutants_are_noticed(
    database: ScratchDatabase, unbound: StoryApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories = Stories(database, story, TABLES)
    await noted(monkeypatch, stories, unbound)
    seen, expected = await noted(monkeypatch, stories, unbound)
    unnoticed: list[str] = []
    for sql in [one for one in seen if mutants(one) and not any(part in one for part in BY_AN_ID_OF_ITS_OWN)]:
        with monkeypatch.context() as patch:
            watched(patch, Mutator({sql: mutants(sql)[-1]}))
            try:
                is_noticed = await stories.tell(unbound, unbound.console) != (expected, True)
            except (asyncpg.PostgresError, MCPistError, ValueError):
                is_noticed = True
        unnoticed += [] if is_noticed else [sql]
    assert unnoticed == []
