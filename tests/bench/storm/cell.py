"""One cell of the matrix: a way to serialise, a vendor, a fault; how many connections are dead at its end."""

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from broker.connections.account_snapshot import AccessToken, TokenUnavailable
from broker.oauth_client.types import TokenResponse
from core.secret import Secret
from tests.bench.storm.others import OTHERS, TABLE
from tests.broker.refresh.refresh_app import RefreshApp, app_on
from tests.broker.refresh.vendor import Vendor
from tests.support.postgres import DatabaseServer

ROOT = Path(__file__).resolve().parents[3]
PROCESSES = 4
LIFE = 2
SLOW_MS = 700
SLOW_MS_AT_A_CRASH = 300
KILLS, CRASHES, LOST = 5, 3, 10
AFTER = (0, 40, 45, 450, 900)
"""By how much the clock is put forward until each connection has had its chance: past leases and backoff."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A line of the table."""

    serialisation: str
    vendor_profile: str
    fault: str
    connections: int
    dead: int
    labelled_lost_rotation: int
    vendor_calls: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


async def measured(
    server: DatabaseServer, vendor: Vendor, folder: Path, *, way: str, fault: str, connections: int, seconds: float
) -> Cell:
    """Run one cell."""
    folder = folder / f"{way}-{vendor.profile}-{fault}"
    folder.mkdir()
    slow = SLOW_MS_AT_A_CRASH if fault == "postgres_crash" else SLOW_MS
    await vendor.reset()
    async with server.database() as scratch, app_on(scratch, folder, [vendor.provider], [vendor.host]) as app:
        await vendor.server.control({"set": {"accessTokenTtl": LIFE}})
        ids = await _connected(app, vendor, way, connections)
        await vendor.server.control({"reset_counters": True, "faults": _faults(fault, slow)})
        settings = _settings(app, vendor, way, ids)
        async with _fleet(settings, folder) as fleet:
            await _disturb(fleet, app, fault, seconds)
        calls = await vendor.calls()
        await vendor.server.control({"faults": [], "set": {"accessTokenTtl": 3600}})
        dead, labelled = await (_dead_of_others if way in OTHERS else _dead_of_ours)(app, vendor, ids, fleet)
    return Cell(way, vendor.profile, fault, connections, dead, labelled, calls)


def _faults(fault: str, slow: int) -> list[dict[str, Any]]:
    delay = {"grant": "refresh_token", "kind": "delay_after", "ms": slow, "times": 1_000_000}
    lost = {"grant": "refresh_token", "kind": "hang_up_after", "times": LOST}
    few = {**delay, "times": 20}
    return [few, lost, delay] if fault == "lost_answer" else [delay]


async def _connected(app: RefreshApp, vendor: Vendor, way: str, count: int) -> list[UUID]:
    turns = asyncio.Semaphore(8)

    async def granted(number: int) -> Any:
        async with turns:
            return await vendor.grant(f"person{number}")

    grants = await asyncio.gather(*(granted(number) for number in range(count)))
    if way not in OTHERS:
        return [await app.link(vendor.provider, vendor.client, tokens) for tokens in grants]
    ids = [uuid4() for _ in grants]
    rows = [(one, tokens.refresh_token.reveal()) for one, tokens in zip(ids, grants, strict=True)]
    async with app.scratch.admin_connection() as admin:
        await admin.execute(TABLE)
        await admin.executemany("INSERT INTO storm.connections (id, refresh, ends) VALUES ($1, $2, 0)", rows)
    return ids


def _settings(app: RefreshApp, vendor: Vendor, way: str, ids: list[UUID]) -> dict[str, Any]:
    return {
        "serialisation": way,
        "database": app.scratch.as_role("mcpist_broker").url.reveal(),
        "host": vendor.host,
        "provider": vendor.document,
        "client_id": vendor.server.client_id,
        "client_secret": vendor.server.client_secret,
        "tenant": str(app.tenant.id),
        "connections": [str(one) for one in ids],
        "spool": str(app.spool),
    }


class Fleet:
    """The broker processes; all of one machine, so with one spool."""

    def __init__(self, settings: Path, log: Any) -> None:
        self._settings = settings
        self._log = log
        self._processes: list[asyncio.subprocess.Process] = []

    async def start(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.bench.storm.worker", str(self._settings), cwd=ROOT,
            env={"PATH": os.defpath}, stdout=asyncio.subprocess.PIPE, stderr=self._log, start_new_session=True,
        )  # fmt: skip
        self._processes.append(process)
        assert process.stdout is not None
        async with asyncio.timeout(60):
            await process.stdout.readline()

    async def kill_one(self) -> None:
        process = self._processes.pop(random.randrange(len(self._processes)))
        process.kill()
        await process.wait()
        await self.start()

    async def end(self) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                async with asyncio.timeout(30):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


@contextlib.asynccontextmanager
async def _fleet(settings: dict[str, Any], folder: Path) -> AsyncIterator[Fleet]:
    path = folder / "settings.json"
    path.write_text(json.dumps(settings))
    path.chmod(0o600)
    with (folder / "log").open("wb") as log:
        fleet = Fleet(path, log)
        try:
            await asyncio.gather(*(fleet.start() for _ in range(PROCESSES)))
            yield fleet
        finally:
            await fleet.end()


async def _disturb(fleet: Fleet, app: RefreshApp, fault: str, seconds: float) -> None:
    times = {"kill_9": KILLS, "postgres_crash": CRASHES}.get(fault, 1)
    for number in range(times):
        await asyncio.sleep(seconds / times)
        if fault == "kill_9" and number < times:
            await fleet.kill_one()
        elif fault == "postgres_crash":
            await crash(app)


async def crash(app: RefreshApp) -> None:
    """Kill one server process: PostgreSQL ends all others and recovers from its log."""
    with contextlib.suppress(OSError):
        async with app.scratch.admin_connection() as admin:
            os.kill(await admin.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)


async def _dead_of_others(app: RefreshApp, vendor: Vendor, ids: list[UUID], fleet: Fleet) -> tuple[int, int]:
    """Those whose stored refresh token the vendor takes no more."""
    async with app.scratch.admin_connection() as admin:
        rows = await admin.fetch("SELECT refresh FROM storm.connections")
    endpoint = app.tools.endpoint
    answers = [await endpoint.refresh(vendor.provider, vendor.client, Secret(row["refresh"])) for row in rows]
    return sum(not isinstance(answer, TokenResponse) for answer in answers), 0


async def _dead_of_ours(app: RefreshApp, vendor: Vendor, ids: list[UUID], fleet: Fleet) -> tuple[int, int]:
    """Those whose owner has to come back; and how many of them know that it was our loss. Every other one has to get
    a token that works at the vendor."""
    answers: dict[UUID, AccessToken | TokenUnavailable] = {}
    await app.accounts.replay_spool()
    for ahead in AFTER:
        await app.ahead(ahead)
        for one in ids:
            answers[one] = await _working(app, vendor, one)
    dead = [answer for answer in answers.values() if isinstance(answer, TokenUnavailable)]
    return len(dead), sum(answer.cause == "lost_rotation" for answer in dead)


async def _working(app: RefreshApp, vendor: Vendor, account: UUID) -> AccessToken | TokenUnavailable:
    answer = await app.fresh(account, need_seconds=30)
    if isinstance(answer, AccessToken) and not await vendor.takes(answer.token):
        return await app.fresh(account, need_seconds=30, rejected_version=answer.version)
    return answer
