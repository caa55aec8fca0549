"""CPU time of the tests, processes that they start included, whatever else the machine does meanwhile:

    make test ARGS=--cpu

prints the files and the tests that take most. What a fixture of a module or the session takes counts for the test that
asked first. Linux only.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

SHOWN = 30
_TICKS = os.sysconf("SC_CLK_TCK")


class CpuTimes:
    """Each report carries the CPU seconds since the one before; the process that hears all reports adds them up."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._last = 0.0

    def pytest_collection_finish(self) -> None:
        self._last = read_cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self._last = self._last, read_cpu_seconds()
        report.cpu_seconds = self._last - before  # pyright: ignore[reportAttributeAccessIssue] xdist sends it along
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._sums[report.nodeid] += getattr(report, "cpu_seconds", 0.0)  # a worker that died sends none

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files: defaultdict[str, float] = defaultdict(float)
        for test, seconds in self._sums.items():
            files[test.partition("::")[0]] += seconds
        terminalreporter.section(f"{sum(files.values()):.1f} s of CPU")
        for sums in (files, self._sums):
            for name, seconds in sorted(sums.items(), key=lambda each: -each[1])[:SHOWN]:
                terminalreporter.line(f"{seconds:8.2f} s {name}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", action="store_true", help="print the CPU time of the tests that take most")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("cpu"):
        config.pluginmanager.register(CpuTimes())


def read_cpu_seconds() -> float:
    """CPU seconds of this process and of all below it, those that have ended included."""
    ticks, left = 0, [os.getpid()]
    while left:
        folder = Path(f"/proc/{left.pop()}")
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
            for thread in (folder / "task").iterdir():
                left += map(int, (thread / "children").read_text().split())
        except OSError:  # it has ended
            continue
    return ticks / _TICKS
