"""A test that fails shows what the products that it used logged at level warning or above."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.running_product import find_logs

_LINES_SHOWN = 40
_TAIL_BYTES = 1 << 20
_CLOCK_TICK = 0.01
"""Seconds by which the time of a file may be behind the clock (Linux, CONFIG_HZ)."""
_QUIET_LEVELS = (b'"level":"debug"', b'"level":"info"')


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a section for each log that was written to while the phase ran."""
    report = yield
    if report.failed:
        for path in find_logs():
            if lines := _read_warnings(path, call.start):
                report.sections.append((f"log of the product {path.parent.name}", "\n".join(lines)))
    return report


def _read_warnings(path: Path, since: float) -> list[str]:
    """Read the last warnings of a log, newest last; none of one that was not written to since `since` (seconds of
    the epoch) or does not exist any more."""
    try:
        status = path.stat()
        if status.st_mtime < since - _CLOCK_TICK:
            return []
        with path.open("rb") as log:
            log.seek(max(0, status.st_size - _TAIL_BYTES))
            lines = log.read().splitlines()
    except OSError:
        return []
    loud = [line for line in lines if not any(level in line for level in _QUIET_LEVELS)]
    return [line.decode("utf-8", "replace") for line in loud[-_LINES_SHOWN:]]
