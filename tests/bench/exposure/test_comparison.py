"""The comparison of exposures runs, over real tools and at least two hundred tasks, and its page shows its table."""

from pathlib import Path

import pytest

from tests.bench.exposure.__main__ import BEGIN, PAGE
from tests.bench.exposure.comparison import GROUP, SIZES, compare, load_tasks
from tests.bench.exposure.tools import draw, load_pool


@pytest.mark.long
def test_a_group_of_tasks_is_tried_under_every_exposure() -> None:
    pool, tasks = load_pool(), load_tasks()
    assert sum(map(len, pool.tools.values())) == max(SIZES)
    names = {(name, tool.name) for name, tools in pool.tools.items() for tool in tools}
    assert len(tasks) >= 200
    assert {task.tool for task in tasks} <= names
    assert sum(map(len, draw(pool, [tasks[0].tool], 30, 1).tools.values())) == 30
    found = compare(pool, 30, tasks[:: len(tasks) // GROUP][:GROUP])
    right = {name: sum(one.right for one in attempts) for name, attempts in found.items()}
    assert right["meta, by query"] >= right["plain"] - 1
    assert right["plain"] > GROUP / 2
    for name, attempts in found.items():
        assert len(attempts) == GROUP
        assert all(one.turns == 1 for one in attempts) == (name == "plain")
        assert (attempts[0].start < 900) == name.startswith("meta")


def test_the_page_shows_the_table_of_these_tasks() -> None:
    table = Path(PAGE).read_text().partition(BEGIN)[2]
    assert f"{len(load_tasks())} tasks." in table
    assert all(f"| {size} | meta, by query |" in table for size in SIZES)
