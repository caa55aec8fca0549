"""Nobody sees or changes what another person has stored, also where a statement forgets to say whose it is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from core.db import Database
from modules.activity.entry_store import delete_streams, find_sync, list_synced, replace_rows
from modules.activity.periods import TimeSpan
from modules.activity.streams import STREAMS, ActivityRow
from tests.support.modules import Wrap, as_it_is
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import MadeTenant, ScratchDatabase

ACCOUNT, OTHER = UUID(int=1), UUID(int=2)
NOW = datetime(2026, 3, 8, tzinfo=UTC)
WEEK, LONG = TimeSpan(NOW - timedelta(days=7), NOW), TimeSpan(NOW - timedelta(days=100), NOW)
ENTRIES, EVENTS, *_ = STREAMS
COUNT_ROWS = "SELECT count(*) FROM modules.activity_entries WHERE tenant_id = $1 AND user_id = $2"


@dataclass(frozen=True)
class RowOwner:
    """A person whose rows are stored. `wrap` may change the store."""

    database: Database
    tenant_id: UUID
    user_id: UUID
    wrap: Wrap = as_it_is

    async def save(self, *marks: str, account: UUID = ACCOUNT, span: TimeSpan = WEEK, stream: Any = ENTRIES) -> int:
        hours = [span.start + timedelta(hours=number) for number in range(len(marks))]
        rows = [
            ActivityRow(mark, hour, hour + timedelta(hours=1), {"n": mark})
            for mark, hour in zip(marks, hours, strict=True)
        ]
        async with self.database.personal(self.tenant_id, self.user_id) as work:
            return await replace_rows(self.wrap(work), stream, account, span, rows, NOW)

    async def show(self, account: UUID = ACCOUNT, stream: Any = ENTRIES) -> list[Any] | None:
        async with self.database.personal(self.tenant_id, self.user_id) as work:
            store = self.wrap(work)
            found = await list_synced(store, stream, account, WEEK)
            sync = await find_sync(store, stream, account)
        return None if found is None or sync is None else [*(one.value for one in found.rows), sync.covered]

    async def delete(self) -> int:
        async with self.database.personal(self.tenant_id, self.user_id) as work:
            return await delete_streams(self.wrap(work), STREAMS)


@pytest.fixture
async def gateway(database: ScratchDatabase) -> AsyncIterator[Database]:
    async with database.open("mcpist_gateway") as opened:
        yield opened


@pytest.fixture
async def people(gateway: Database, make_tenant: Callable[..., Awaitable[MadeTenant]]) -> list[RowOwner]:
    """Two users of one tenant, then two of another."""
    tenants = [await make_tenant(users=2), await make_tenant(users=2)]
    return [RowOwner(gateway, tenant.id, user) for tenant in tenants for user in tenant.users]


async def live_the_story(person: RowOwner) -> list[Any]:
    """Every statement runs at least once; what the person was told."""
    further = TimeSpan(NOW - timedelta(days=3), NOW + timedelta(days=1))
    return [
        await person.show(),
        await person.save("shared", "new", span=further),
        await person.show(),
        await person.show(OTHER),
        await person.save("shared", account=OTHER, stream=EVENTS),
        await person.show(OTHER, EVENTS),
        await person.save("only"),
        await person.show(),
        await person.delete(),
        await person.show(),
    ]


async def list_rows_of_others(database: ScratchDatabase, person: RowOwner) -> list[Any]:
    async with database.admin_connection() as admin:
        found = [
            await admin.fetch(f"SELECT * FROM modules.{table} WHERE user_id <> $1 ORDER BY 1, 2, 3, 4", person.user_id)
            for table in ("activity_syncs", "activity_entries")
        ]
    return [tuple(row) for rows in found for row in rows]


async def retell(database: ScratchDatabase, people: list[RowOwner], wrap: Wrap = as_it_is) -> list[Any]:
    """Everyone starts anew, the first lives the story; fails if anything of the others changed."""
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM modules.activity_syncs")
    for number, person in enumerate(people):
        await person.save("shared", f"of {number}", span=LONG if number else WEEK)
        await person.save("shared", stream=EVENTS)
    before = await list_rows_of_others(database, people[0])
    told = await live_the_story(replace(people[0], wrap=wrap))
    assert await list_rows_of_others(database, people[0]) == before
    return told


@together_and_alone
async def test_each_statement_without_its_filters_shows_and_changes_nothing_more(
    people: list[RowOwner], database: ScratchDatabase, alone: bool
) -> None:
    noted = Mutator()
    expected = await retell(database, people, noted.wrap)
    assert len(noted.seen) >= 9, "a statement is missing from the story"

    async def tell(mutator: Mutator) -> list[Any]:
        return await retell(database, people, mutator.wrap)

    assert await find_leaks(noted.mutants(), tell, expected, alone=alone) == []


@together_and_alone
async def test_without_row_level_security_the_same_mutants_are_seen(
    people: list[RowOwner], database: ScratchDatabase, alone: bool
) -> None:
    """The control of the test above: the filters alone keep people apart, and the story notices a missing one if
    nothing stands behind it; together, that any is missing."""
    noted = Mutator()
    expected = await retell(database, people, noted.wrap)
    bypassing = Database(database.admin)
    await bypassing.open()
    try:
        unguarded = [replace(person, database=bypassing) for person in people]
        assert await retell(database, unguarded) == expected
        replaced = noted.list_unfiltered()
        for mutants in [{one: replaced[one]} for one in replaced] if alone else [replaced]:
            try:
                told = await retell(database, unguarded, Mutator(mutants).wrap)
            except AssertionError:
                continue
            assert told != expected, mutants
    finally:
        await bypassing.close()


async def test_a_removed_person_leaves_nothing(people: list[RowOwner], database: ScratchDatabase) -> None:
    for person in people:
        await person.save("one", "two")
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM core.users WHERE id = $1", people[0].user_id)
        counts = await admin.fetch("SELECT user_id, count(*) FROM modules.activity_entries GROUP BY 1")
    assert {row["user_id"]: row["count"] for row in counts} == {one.user_id: 2 for one in people[1:]}


async def test_times_are_joined_where_they_touch(people: list[RowOwner]) -> None:
    person = people[0]
    await person.save("first")
    await person.save("second", span=TimeSpan(NOW, NOW + timedelta(days=1)))
    assert await person.show() == [{"n": "first"}, TimeSpan(WEEK.start, NOW + timedelta(days=1))]
    later = TimeSpan(NOW + timedelta(days=5), NOW + timedelta(days=6))
    await person.save("apart", span=later)
    assert await person.show() is None, "the time between is not known"


async def test_what_is_older_than_it_is_kept_goes(people: list[RowOwner]) -> None:
    person = people[0]
    await person.save("old", span=TimeSpan(NOW - timedelta(days=500), NOW - timedelta(days=300)), stream=ENTRIES)
    async with person.database.personal(person.tenant_id, person.user_id) as work:
        sync = await find_sync(work, ENTRIES, ACCOUNT)
        assert sync is not None
        assert sync.covered.start == NOW - timedelta(days=400)
        assert await work.fetchval(COUNT_ROWS) == 0


async def test_rows_of_one_account_are_not_anothers(people: list[RowOwner]) -> None:
    person = people[0]
    await person.save("first")
    assert await person.show(OTHER) is None
    await person.save("second", account=OTHER)
    assert await person.show(OTHER) == [{"n": "second"}, WEEK]
    assert await person.show() is None


async def test_two_syncs_at_once_come_one_after_the_other(people: list[RowOwner]) -> None:
    person = people[0]
    await asyncio.gather(*(person.save("same", f"of {number}") for number in range(5)))
    shown = await person.show()
    assert shown is not None
    assert len(shown) == 3, "the rows of one of them, and the time"
