"""Results: one row a number, as a table for people and as JSON for programs."""

import json
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from tests.bench.wrk import Sample


@dataclass(frozen=True, slots=True)
class Row:
    """One number of budgets.md, measured `len(values)` times; `must` and `aim` are the budget's, None without one."""

    budget: str
    what: str
    unit: str
    values: tuple[float, ...]
    must: float | None = None
    aim: float | None = None
    more_is_better: bool = True

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def verdict(self) -> str:
        """How the median stands to the budget."""
        if self.must is None:
            return ""
        if self.aim is not None and self._reaches(self.aim):
            return "aim"
        return "must" if self._reaches(self.must) else "MISSED"

    def _reaches(self, wanted: float) -> bool:
        return self.median >= wanted if self.more_is_better else self.median <= wanted


@dataclass(frozen=True, slots=True)
class Result:
    """What one measurement gives: its rows, and the samples behind them."""

    rows: tuple[Row, ...]
    samples: tuple[Sample, ...] = ()


def environment() -> dict[str, str]:
    """Where and when it was measured."""
    return {
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "cores": str(os.cpu_count()),
        "load": " ".join(f"{value:.1f}" for value in os.getloadavg()),
    }


def table(rows: Iterable[Row]) -> str:
    """A Markdown table."""
    lines = ["| # | what | median | min to max | must | aim | reached |", "|---|---|--:|---|--:|--:|---|"]
    for row in rows:
        spread = f"{_number(min(row.values))} to {_number(max(row.values))}" if len(row.values) > 1 else ""
        value = f"{_number(row.median)} {row.unit}"
        budget = f"{_budget(row.must)} | {_budget(row.aim)}"
        lines.append(f"| {row.budget} | {row.what} | {value} | {spread} | {budget} | {row.verdict} |")
    return "\n".join(lines)


def loads(samples: Sequence[Sample]) -> str:
    """The loaded runs behind the ratios, as medians for each target and number of connections."""
    lines = ["| target | connections | calls/s | p50 ms | p99 ms | CPU µs a call | foreign cores |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|")
    for label, connections in dict.fromkeys((one.label, one.connections) for one in samples):
        group = [one for one in samples if (one.label, one.connections) == (label, connections)]
        rate, p50, p99, cpu, foreign = (
            statistics.median(getattr(one, name) for one in group)
            for name in ("rate", "p50_ms", "p99_ms", "cpu_us", "foreign")
        )
        lines.append(f"| {label} | {connections} | {rate:.0f} | {p50:.2f} | {p99:.1f} | {cpu:.0f} | {foreign:.2f} |")
    return "\n".join(lines)


def shown(where: dict[str, str], results: Sequence[Result], *, as_json: bool) -> str:
    """All of it, as it is printed."""
    if as_json:
        return json.dumps(document(where, results))
    about = ", ".join(f"{name} {value}" for name, value in where.items())
    rows = table(row for result in results for row in result.rows)
    return "\n\n".join((about, rows, loads([one for result in results for one in result.samples])))


def document(where: dict[str, str], results: Sequence[Result]) -> dict[str, Any]:
    """Everything, for a program."""
    rows = [{**asdict(row), "median": row.median, "reached": row.verdict} for one in results for row in one.rows]
    return {"environment": where, "rows": rows, "samples": [asdict(s) for one in results for s in one.samples]}


def _number(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= 100 or value == int(value) else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def _budget(value: float | None) -> str:
    return "" if value is None else _number(value)
