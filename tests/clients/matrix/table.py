"""The table of docs/clients.md: what each client could do with MCPist when it was last tried."""

import datetime
import fcntl
import re
from collections.abc import Mapping
from pathlib import Path

from tests.clients.matrix.plan import ABSENT, CHECKS, META, NO, UNSUPPORTED, UNTRIED, Cell

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "clients.md"
BEGIN = "<!-- written by make test-long T=tests/clients: begin -->"
END = "<!-- written by make test-long T=tests/clients: end -->"
HEAD = ["client", "version", "tried", "by", *CHECKS, "remarks"]
MOST_REMARK = 200
Views = Mapping[str, Mapping[str, Cell]]
"""By view and check."""


def build_row(name: str, version: str, day: datetime.date, auth: str, views: Views) -> list[str]:
    """A client's row for one way of being known; what holds in all views is said once."""
    return [name, version, day.isoformat(), auth, *(_combine(views, check) for check in CHECKS), _remark(views)]


def build_skipped_row(name: str, version: str, day: datetime.date, auth: str, why: str) -> list[str]:
    """The row of a client that could not be installed."""
    return [name, version, day.isoformat(), auth, *("skipped" for _ in CHECKS), _escape(why)]


def write_rows(rows: list[list[str]], order: list[str], page: Path = PAGE) -> None:
    """Put rows into the table, in place of those of the same client and way; the other rows stay."""
    with page.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = file.read()
        before, _, rest = text.partition(BEGIN)
        old, _, after = rest.partition(END)
        kept = {(row[0], row[3]): row for row in _read_rows(old)} | {(row[0], row[3]): row for row in rows}
        known = [row for key, row in kept.items() if key[0] in order]
        known.sort(key=lambda row: (order.index(row[0]), row[3] != "token"))
        lines = [HEAD, ["---"] * len(HEAD), *known]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        file.seek(0)
        file.truncate()
        file.write(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")


def _read_rows(table: str) -> list[list[str]]:
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def _combine(views: Views, check: str) -> str:
    words = {view: cells[check].result for view, cells in views.items() if cells[check].result != ABSENT}
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    plain = {word for view, word in words.items() if view != META}
    if len(plain) == 1:
        return f"meta {words[META]}, plain {plain.pop()}"
    return ", ".join(f"{view} {word}" for view, word in words.items())


def _remark(views: Views) -> str:
    """Why something is not `yes`, each reason once."""
    reasons: dict[str, list[str]] = {}
    for cells in views.values():
        for check, cell in cells.items():
            if cell.result in (NO, UNSUPPORTED, UNTRIED) and cell.why:
                found = reasons.setdefault(_cut_reason(cell.why) if cell.result == NO else cell.why, [])
                found += [] if check in found else [check]
    said = [why if len(checks) == len(CHECKS) else f"{', '.join(checks)}: {why}" for why, checks in reasons.items()]
    return _escape("; ".join(said))


def _cut_reason(why: str) -> str:
    """The beginning of a reason, without the messages that a model was sent."""
    return why.partition("[{")[0].strip()[:MOST_REMARK] or "the model was not told of it"


def _escape(text: str) -> str:
    return " ".join(text.replace(str(ROOT), "").split()).replace("|", "\\|").replace("<", "&lt;")


def is_good(views: Views) -> bool:
    """Whether nothing is a `no`."""
    return all(cell.result != NO for cells in views.values() for cell in cells.values())
