"""``python -m tests.bench.exposure``: measure, and write the table of docs/tool-exposure.md."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from tests.bench.exposure.comparison import SIZES, Attempt, compare, load_tasks
from tests.bench.exposure.tools import load_pool

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tool-exposure.md"
BEGIN, END = "<!-- made by python -m tests.bench.exposure -->\n", "<!-- end -->"


def main() -> None:
    pool, tasks = load_pool(), load_tasks()
    rows = ["| tools | exposure | tokens at start | tokens read until the call | turns | right tool |"]
    rows.append("|--:|---|--:|--:|--:|--:|")
    for size in SIZES:
        rows += [_render(size, name, attempts) for name, attempts in compare(pool, size, tasks).items()]
    table = f"{BEGIN}\n{len(tasks)} tasks.\n\n" + "\n".join(rows) + f"\n\n{END}"
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    PAGE.write_text(head + table + rest.partition(END)[2])
    print(table)


def _render(size: int, name: str, attempts: Sequence[Attempt]) -> str:
    start, read, turns = (
        statistics.mean(getattr(one, field) for one in attempts) for field in ("start", "read", "turns")
    )
    right = 100 * sum(one.right for one in attempts) / len(attempts)
    return f"| {size} | {name} | {start:,.0f} | {read:,.0f} | {turns:.2f} | {right:.0f} % |"


if __name__ == "__main__":
    main()
