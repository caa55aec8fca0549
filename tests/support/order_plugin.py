"""Order of the tests for several workers: what takes long or waits for other processes begins first.

xdist gives every worker an equal part of the list and lets one that has finished take from the others' ends
(``--dist worksteal``). So each part begins with some of the long folders, which then run beside what keeps a core busy,
and ends with tests of milliseconds, which are shared out evenly.
"""

import os

import pytest

LONG_FOLDERS = (
    ("console", "browser"),
    ("process", "server", "stalls"),
    ("cli", "clients", "packaging", "tools"),
)
"""Folders of `tests/`: each tuple begins the part of one worker."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long folders where the workers' parts begin; the order within a folder stays."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    rest = list[pytest.Item]()
    for item in items:
        folder = _get_folder(item)
        number = next((number for number, folders in enumerate(LONG_FOLDERS) if folder in folders), None)
        (rest if number is None else parts[number % workers]).append(item)
    size = -(-len(items) // workers)
    for part in parts:
        taken = max(size - len(part), 0)
        part += rest[:taken]
        del rest[:taken]
    items[:] = [item for part in parts for item in part] + rest


def _get_folder(item: pytest.Item) -> str:
    inner = item.nodeid.removeprefix("tests/")
    return inner.partition("/")[0]
