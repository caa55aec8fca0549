"""The storm's smallest cells: it runs, it counts, and what is dead of ours is labelled."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.bench.refresh_storm import FAULTS, WAYS, table
from tests.bench.storm.cell import Cell, measured
from tests.broker.refresh.vendor import vendor_of
from tests.support.node import require_node_packages
from tests.support.postgres import own_server

ROOT = Path(__file__).resolve().parents[2]
FIELDS = [
    "serialisation", "vendor_profile", "fault", "connections", "dead", "labelled_lost_rotation", "vendor_calls",
]  # fmt: skip


@pytest.mark.guarantee("G4")
@pytest.mark.long
@pytest.mark.reuse("what others do; and after a kill the rule of recovery")
@pytest.mark.parametrize(("way", "fault"), [("mcpist", "none"), ("mcpist", "kill_9"), ("none", "none")])
async def test_a_small_storm(tmp_path: Path, way: str, fault: str) -> None:
    with own_server() as server:
        async with vendor_of(tmp_path, "strict") as vendor:
            cell = await measured(server, vendor, tmp_path, way=way, fault=fault, connections=6, seconds=5)
    assert cell.vendor_calls > 6
    if way == "none":
        assert cell.dead > 0
    else:
        assert cell.dead == cell.labelled_lost_rotation
        assert fault != "none" or cell.dead == 0


@pytest.mark.long
async def test_what_the_script_prints() -> None:
    require_node_packages()
    few = ("--only", "mcpist", "--profiles", "grace", "--faults", "none", "--connections", "2", "--seconds", "3")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.refresh_storm", "--json", *few, cwd=ROOT,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2000:]
    [cell] = json.loads(out)
    assert list(cell) == FIELDS
    assert cell.pop("vendor_calls") >= 2
    assert list(cell.values()) == ["mcpist", "grace", "none", 2, 0, 0]


def test_the_faults_and_ways_of_a_whole_run() -> None:
    assert FAULTS == ("none", "kill_9", "postgres_crash", "lost_answer")
    assert "mcpist" in WAYS


def test_the_table_has_a_line_a_way() -> None:
    cells = [Cell("mcpist", "strict", "kill_9", 40, 6, 6, 198), Cell("none", "strict", "kill_9", 40, 40, 0, 1111)]
    assert table(cells).splitlines() == [
        "| serialisation | strict, kill_9 |",
        "| --- | --- |",
        "| mcpist | 6 (6 labelled) |",
        "| none | 40 |",
    ]
