"""Kill -9 of a worker, a gateway or PostgreSQL in each state of a job, by real processes that stop there.

What has to come of each is in TABLE, and in docs/dev/tests.md. Beside that :meth:`KillRig.play` looks at every promise:
no acknowledged job is lost, none is run by two at once, no change is made twice, the result or its loss is told, the
mandate has ended, and a worker that was frozen meanwhile changes nothing.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.process.kill_rig import ORDER, SCHEDULE_STATES, SURVEY, KillRig, mortal_server, open_rig
from tests.support.postgres import ScratchDatabase

pytestmark = pytest.mark.timeout(900)

SHORT_LEASE = 3.0
"""Seconds; a worker that is lost is found after five sixths of it."""
LONG_LEASE = 60.0
"""Longer than anything takes that the worker has to survive."""
WORKER, GATEWAY, POSTGRES = "worker", "gateway", "postgres"
KINDS = {
    "worker": WORKER,
    "frozen": WORKER,
    "gateway": GATEWAY,
    "sessions": POSTGRES,
    "backend": POSTGRES,
    "server": POSTGRES,
}
"""Whom each way of killing concerns."""

DONE, NO_JOB, NOTHING = "succeeded, asked 1", "no job, asked 0", "-"
PERHAPS = f"{NO_JOB} or {DONE}"
TOLD_OR_DONE = f"{DONE} or failed, asked 0"
"""Where it failed, it ran while PostgreSQL was away, and its result says so."""
Ends = tuple[str, str]
"""How a job ends that changes something, and one that may be repeated; how often the vendor was asked."""

FINE: Ends = (DONE, DONE)
CANCELLED: Ends = (DONE, "cancelled, asked 1")
TABLE: Mapping[str, tuple[Ends | None, Ends, Ends]] = {
    # state: worker killed or frozen; gateway killed; PostgreSQL killed
    "mandate made": (None, (NO_JOB, NO_JOB), (PERHAPS, PERHAPS)),
    "job inserted": (None, (NO_JOB, NO_JOB), (NO_JOB, NO_JOB)),
    "job added": (None, FINE, (TOLD_OR_DONE, TOLD_OR_DONE)),
    "queued": (FINE, FINE, FINE),
    "claimed": (("unknown, asked 0", DONE), FINE, FINE),
    "begun": (("unknown, asked 0", DONE), FINE, FINE),
    "vendor asked": (("unknown, asked 1", "succeeded, asked 2"), FINE, FINE),
    "progress": (("unknown, asked 1", "succeeded, asked 2"), FINE, FINE),
    "cancelling": (("unknown, asked 1", "cancelled, asked 1"), CANCELLED, CANCELLED),
    "finishing": (("unknown, asked 1", "succeeded, asked 2"), FINE, FINE),
    "finished": (FINE, FINE, FINE),
    "schedule due": ((NOTHING, DONE), (NOTHING, DONE), (NOTHING, DONE)),
    "schedule run": ((NOTHING, DONE), (NOTHING, DONE), (NOTHING, DONE)),
}


async def play(rig: KillRig, victim: str, state: str, tool: str) -> None:
    """Play a row of the table, and compare."""
    ends = TABLE[state][[WORKER, GATEWAY, POSTGRES].index(KINDS[victim])]
    assert ends is not None
    row = await rig.play(tool, state, victim)
    print(f"{victim} in {state}, {tool}: {row}, attempt {row.attempts}")
    assert str(row) in ends[tool == SURVEY].split(" or "), (victim, state, tool, row)


async def play_all(rig: KillRig, victim: str) -> None:
    column = [WORKER, GATEWAY, POSTGRES].index(KINDS[victim])
    for state, row in TABLE.items():
        if row[column] is None or (victim == "frozen" and state in SCHEDULE_STATES):
            continue
        for tool in (SURVEY,) if state in SCHEDULE_STATES else (ORDER, SURVEY):
            await play(rig, victim, state, tool)


async def test_killed_in_six_states(database: ScratchDatabase, tmp_path: Path) -> None:
    async with open_rig(database, tmp_path, lease=SHORT_LEASE) as rig:
        await play(rig, "worker", "claimed", ORDER)
        await play(rig, "worker", "vendor asked", SURVEY)
        await play(rig, "worker", "finishing", ORDER)
        await play(rig, "frozen", "vendor asked", ORDER)
        await play(rig, "gateway", "job inserted", ORDER)
        await play(rig, "sessions", "finishing", ORDER)


@pytest.mark.long
@pytest.mark.parametrize("victim", ["worker", "frozen", "gateway", "sessions"])
async def test_killed_in_each_state(database: ScratchDatabase, tmp_path: Path, victim: str) -> None:
    lease = SHORT_LEASE if KINDS[victim] == WORKER else LONG_LEASE
    async with open_rig(database, tmp_path, lease=lease) as rig:
        await play_all(rig, victim)


@pytest.mark.long
@pytest.mark.parametrize("victim", ["backend", "server"])
async def test_the_database_killed_in_each_state(tmp_path: Path, victim: str) -> None:
    """One backend, after which PostgreSQL ends all others and recovers; or all of it, started anew."""
    with mortal_server() as (server, databases):
        async with (
            databases.database() as database,
            open_rig(database, tmp_path, lease=LONG_LEASE, server=server) as rig,
        ):
            await play_all(rig, victim)


def test_the_table_is_that_of_the_document() -> None:
    document = Path("docs/dev/tests.md").read_text()
    for state, row in TABLE.items():
        cells = (NOTHING if ends is None else "; ".join(ends) for ends in row)
        assert f"| {state} | {' | '.join(cells)} |" in document
