"""Answers are kept while nothing has changed, and never longer; identical reads run once."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.db import Database
from modules.items import read_cache
from modules.items.read_cache import MAX_AGE_SECONDS, ReadCache
from tests.modules.items.conftest import Office, refused
from tests.support.modules import Person, Wrap
from tests.support.postgres import ScratchDatabase

BOARD = "role:Team/board"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Counting:
    """A store that counts the statements other than the question for the workspace."""

    def __init__(self, store: Any, count: Callable[[], None]) -> None:
        self._store = store
        self._count = count

    def __getattr__(self, name: str) -> Any:
        async def run(sql: str, *args: Any) -> Any:
            if "pg_postmaster_start_time" not in sql:
                self._count()
            return await getattr(self._store, name)(sql, *args)

        return run


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> ReadCache:
    """One of this test's own, at its own time."""
    made = ReadCache(clock=clock)
    monkeypatch.setattr(read_cache.READ_CACHE, "__dict__", made.__dict__)
    return made


def watched(person: Person) -> tuple[Person, list[None]]:
    """The same person, and a list that grows with each of their statements."""
    statements: list[None] = []
    wrap: Wrap = lambda store: Counting(store, lambda: statements.append(None))  # noqa: E731  # pyright: ignore
    return replace(person, wrap=wrap), statements


async def add(person: Person, title: str, **params: Any) -> None:
    await person.call("create_item", type="note", title=title, **params)


async def find(person: Person, **params: Any) -> list[str]:
    return [one["title"] for one in (await person.call("search_items", query="tea", **params))["items"]]


async def test_the_second_read_asks_for_the_workspace_alone(ada: Person) -> None:
    await add(ada, "Green tea")
    ada, statements = watched(ada)
    assert await find(ada) == ["Green tea"]
    assert statements
    statements.clear()
    assert await find(ada) == ["Green tea"]
    assert statements == []
    await find(ada, limit=3)
    assert statements, "other parameters are another answer"


async def test_a_write_ends_it_in_this_process_and_in_others(ada: Person, database: ScratchDatabase) -> None:
    await add(ada, "Green tea")
    assert await find(ada) == ["Green tea"]
    async with database.open("mcpist_gateway") as elsewhere:
        await add(replace(ada, database=elsewhere), "Black tea")
    assert await find(ada) == ["Black tea", "Green tea"]
    await ada.call("delete_item", type="note", id=1)
    assert await find(ada) == ["Black tea"]


async def test_it_ends_after_a_minute(ada: Person, clock: Clock, database: ScratchDatabase) -> None:
    await add(ada, "Green tea")
    await find(ada)
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE modules.items SET title = 'Tea'")  # as no tool writes
    clock.now += MAX_AGE_SECONDS - 1
    assert await find(ada) == ["Green tea"]
    clock.now += 1
    assert await find(ada) == ["Tea"]


async def test_who_may_no_longer_read_gets_nothing(office: Office, database: ScratchDatabase) -> None:
    await office.ada.call("create_workspace", name="board", owner="role", role="Team")
    await add(office.ada, "Green tea", workspace=BOARD)
    assert await find(office.bob, workspace=BOARD) == ["Green tea"]
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM core.role_assignments WHERE user_id = $1", office.bob.user_id)
    assert (await refused(office.bob, "search_items", query="tea", workspace=BOARD))[0] == 1002
    assert await find(office.ada, workspace=BOARD) == ["Green tea"]


async def test_it_is_bounded(ada: Person, cache: ReadCache, monkeypatch: pytest.MonkeyPatch) -> None:
    await add(ada, "Green tea")
    monkeypatch.setattr(read_cache, "MAX_ENTRIES", 5)
    for limit in range(1, 20):
        await find(ada, limit=limit)
    assert len(cache) == 5
    ada, statements = watched(ada)
    await find(ada, limit=19)
    assert statements == [], "the newest are kept"
    cache.__init__(max_bytes=3_000)
    for limit in range(1, 20):
        await find(ada, limit=limit)
    assert 0 < len(cache) < 5
    cache.__init__(max_bytes=100)
    await find(ada)
    assert len(cache) == 0, "what is too large is not kept"


async def test_identical_reads_run_once(ada: Person) -> None:
    await add(ada, "Green tea")
    ada, statements = watched(ada)
    await find(ada, limit=2)
    alone = len(statements)
    statements.clear()
    answers = await asyncio.gather(*(find(ada, limit=3) for _ in range(20)))
    assert answers == [["Green tea"]] * 20
    assert len(statements) == alone


async def test_a_reader_that_is_cancelled_or_fails_leaves_the_others_their_answer(
    ada: Person, gateway: Database
) -> None:
    await add(ada, "Green tea")
    held, asked = asyncio.Event(), asyncio.Event()

    class Slow:
        def __init__(self, store: Any) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            async def run(sql: str, *args: Any) -> Any:
                if "find_items" in sql:
                    asked.set()
                    await held.wait()
                return await getattr(self._store, name)(sql, *args)

            return run

    first = asyncio.create_task(find(replace(ada, wrap=Slow)))
    await asked.wait()
    others = [asyncio.create_task(find(ada)) for _ in range(3)]
    done, _ = await asyncio.wait(others, timeout=0.2)
    assert not done, "they wait for the first"
    first.cancel()
    assert await asyncio.gather(*others) == [["Green tea"]] * 3


async def test_a_read_that_begins_after_a_write_does_not_wait_for_one_from_before(ada: Person) -> None:
    await add(ada, "Green tea")
    held, asked = asyncio.Event(), asyncio.Event()

    class Slow:
        def __init__(self, store: Any) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            async def run(sql: str, *args: Any) -> Any:
                found = await getattr(self._store, name)(sql, *args)
                if "find_items" in sql:
                    asked.set()
                    await held.wait()
                return found

            return run

    before = asyncio.create_task(find(replace(ada, wrap=Slow)))
    await asked.wait()
    await add(ada, "Black tea")
    assert await find(ada) == ["Black tea", "Green tea"]
    held.set()
    assert await before == ["Green tea"]
    assert await find(ada) == ["Black tea", "Green tea"], "what the first has kept is of the generation before"


async def test_many_readers_and_writers_on_two_pools(ada: Person, database: ScratchDatabase) -> None:
    """Each read shows at least what was acknowledged before it began."""
    await add(ada, "Green tea", description="0")
    acknowledged = 0

    async def write(person: Person, rounds: int) -> None:
        nonlocal acknowledged
        for _ in range(rounds):
            saved = await person.call("update_item", type="note", id=1, content="tea")
            acknowledged = max(acknowledged, saved["revision"])

    async def read(person: Person, stop: asyncio.Event) -> int:
        reads = 0
        while not stop.is_set():
            least = acknowledged
            found = await person.call("search_items", query="tea")
            assert found["items"][0]["revision"] >= least
            around = await person.call("get_related_items", type="note", id=1)
            assert around["center_item"]["revision"] >= least
            reads += 1
        return reads

    async with (
        database.open("mcpist_gateway", max_connections=6) as one,
        database.open("mcpist_gateway", max_connections=6) as other,
    ):
        people = [replace(ada, database=pool) for pool in (one, other)]
        stop = asyncio.Event()
        readers = [asyncio.create_task(read(person, stop)) for person in people * 4]
        await asyncio.gather(*(write(person, 25) for person in people * 2))
        stop.set()
        assert min(await asyncio.gather(*readers)) > 0
    assert acknowledged == 101
