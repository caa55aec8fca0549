"""Who loses connections, and how many: refreshing under load, by the way that processes are kept apart.

    python -m tests.bench.refresh_storm [--json] [--seconds 8] [--connections 40] [--only mcpist,row_lock]
                                        [--profiles strict,grace] [--faults none,kill_9,postgres_crash,lost_answer]

Four broker processes of twelve callers each keep 40 connections fresh at a real OAuth server whose access tokens live
2 s and whose answers come 0.7 s after it has rotated. `none`: nothing else happens. `kill_9`: five processes are
killed, and started anew. `postgres_crash`: the database crashes three times (answers take 0.3 s then). `lost_answer`:
the vendor hangs up ten times after it has rotated. `dead` counts the connections that no process can use any more at
the end; `labelled_lost_rotation` those of them that say themselves that it was our loss and not their owner's doing.

Single runs on a shared machine: read the zeros and the order of magnitude, not the digits.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.bench.storm.cell import Cell, measured
from tests.broker.refresh.vendor import vendor_of
from tests.support.postgres import own_server

WAYS = ("none", "ttl_lock", "row_lock", "lease_without_retried_write", "mcpist")
PROFILES = ("strict", "grace")
FAULTS = ("none", "kill_9", "postgres_crash", "lost_answer")
SECONDS = 8.0
CONNECTIONS = 40


def main() -> int:
    options = _options()
    cells = asyncio.run(_matrix(options))
    if options.json:
        print(json.dumps([cell.as_json() for cell in cells], indent=2))
    else:
        print(table(cells))
    return 0


def table(cells: list[Cell]) -> str:
    """A line a way, a column a fault: dead connections, and in brackets those that are labelled."""
    columns = list(dict.fromkeys((cell.vendor_profile, cell.fault) for cell in cells))
    found = {(cell.serialisation, cell.vendor_profile, cell.fault): cell for cell in cells}
    lines = ["| serialisation | " + " | ".join(f"{profile}, {fault}" for profile, fault in columns) + " |"]
    lines.append("| --- |" + " --- |" * len(columns))
    for way in dict.fromkeys(cell.serialisation for cell in cells):
        told = [_told(found.get((way, *column))) for column in columns]
        lines.append(f"| {way} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def _told(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    labelled = f" ({cell.labelled_lost_rotation} labelled)" if cell.labelled_lost_rotation else ""
    return f"{cell.dead}{labelled}"


async def _matrix(options: argparse.Namespace) -> list[Cell]:
    cells: list[Cell] = []
    with tempfile.TemporaryDirectory() as name, own_server() as server:
        for profile in options.profiles.split(","):
            for fault in options.faults.split(","):
                for way in options.only.split(","):
                    async with vendor_of(Path(name), profile) as vendor:
                        cell = await measured(
                            server, vendor, Path(name), way=way, fault=fault, connections=options.connections,
                            seconds=options.seconds,
                        )  # fmt: skip
                    cells.append(cell)
                    print(f"{way}, {profile}, {fault}: {cell.dead} dead, {cell.vendor_calls} calls", file=sys.stderr)
    return cells


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Refreshing under faults, beside other ways to serialise it.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--profiles", default=",".join(PROFILES))
    parser.add_argument("--faults", default=",".join(FAULTS))
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
