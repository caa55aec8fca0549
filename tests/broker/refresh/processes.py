"""Broker processes that a test starts, holds at a point, stops and kills."""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import Vendor
from tests.support.eventually import within
from tests.support.fork_server import create_forked_process, read_once

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 30


class BrokerProcess:
    """One of them; its folder holds its spool, its log, and the points that it has reached."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self._process = process
        self.folder = folder
        self._number = 0

    async def told(self) -> dict[str, Any]:
        """Its next line."""
        assert self._process.stdout is not None
        async with asyncio.timeout(SECONDS):
            line = await self._process.stdout.readline()
        assert line, (self.folder / "log").read_text()[-2000:]
        return json.loads(line)

    async def order(self, do: str, **more: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
        await self._process.stdin.drain()

    async def fresh(self, app: RefreshApp, account: UUID, **more: Any) -> None:
        """Ask for a token; :meth:`told` has the answer."""
        self._number += 1
        await self.order("fresh", number=self._number, tenant=str(app.tenant.id), account=str(account), **more)

    async def reaches(self, point: str) -> None:
        """Wait until it is held there."""

        async def reached() -> bool:
            return (self.folder / f"{point}.reached").exists()

        await within(SECONDS, reached)

    def release(self, point: str) -> None:
        (self.folder / f"{point}.go").touch()

    def sleeps(self, seconds: float) -> None:
        """Its clock shows, from now on, that the machine has slept."""
        (self.folder / "asleep").write_text(str(seconds))

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def ended(self) -> int:
        async with asyncio.timeout(SECONDS):
            return await self._process.wait()

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.signal(signal.SIGCONT)
        await self.ended()


@contextlib.asynccontextmanager
async def broker_process(
    app: RefreshApp, vendors: Iterable[Vendor], folder: Path, *points: str, **timing: float
) -> AsyncIterator[BrokerProcess]:
    """Run one until the block is left; it is held at `points`."""
    folder = folder / f"broker-{secrets.token_hex(3)}"
    folder.mkdir(mode=0o700)
    vendors = list(vendors)
    settings = {
        "database": app.scratch.as_role("mcpist_broker").url.reveal(),
        "providers": [one.document for one in vendors],
        "hosts": [one.host for one in vendors],
        "folder": str(folder),
        "names": points,
        "timing": timing,
    }
    path = folder / "settings.json"
    path.write_text(json.dumps(settings))
    with (folder / "log").open("wb") as log:
        process = await create_forked_process(
            sys.executable, "-m", "tests.broker.refresh.driver", str(path), cwd=ROOT,
            env={**read_once(os.environ), "PATH": os.defpath, "HOME": str(folder)},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log, start_new_session=True,
        )  # fmt: skip
    running = BrokerProcess(process, folder)
    try:
        assert (await running.told())["ready"]
        yield running
    finally:
        await running.kill()
