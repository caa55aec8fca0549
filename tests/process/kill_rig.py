"""A split deployment whose processes stop at a step of a job, to be killed there: one of them, or the database."""

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from broker.mandates.mandates import Mandates
from core.database_url import DatabaseAddress
from core.directory.audit_trail import Actor
from core.secret import Secret
from server.role_database import get_utc_now
from tests.support.eventually import within
from tests.support.postgres import DatabaseServer, ScratchDatabase
from tests.support.postgres_pair import PairedServer
from tests.support.postgres_process import find_programs, initialize_data, server_folder, server_user
from tests.support.product import Person
from tests.support.split import Process, Split, add_worker, running, split_on

PROGRAM = (sys.executable, "-m", "tests.support.stop_program")
GATEWAY_STATES = ("mandate made", "job inserted", "job added")
SCHEDULE_STATES = ("schedule due", "schedule run")
VENDOR_HOLDS = ("vendor asked", "cancelling")
ORDER, SURVEY = "order", "survey"
_NUMBERS = itertools.count(1)
_COUNT_LIVE_MANDATES = "SELECT count(*) FROM auth.mandates WHERE purpose_id = $1 AND ended_at IS NULL"
_FINAL = ("succeeded", "failed", "cancelled", "unknown")


@dataclass
class Row:
    """What became of one job. `asked`: how often the vendor was asked for it."""

    state: str
    asked: int
    attempts: int
    told: str = ""

    def __str__(self) -> str:
        return f"{self.state}, asked {self.asked}"


@dataclass
class KillRig:
    """One gateway, one broker and one worker, and a person who orders."""

    deployment: Split
    worker: Process
    spare: Process
    """A second worker, which is not started."""

    ada: Person
    stops: Path
    server: PairedServer | None = None
    """The PostgreSQL, where it may be killed."""

    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def gateway(self) -> Process:
        return self.deployment.gateways[0]

    @contextlib.asynccontextmanager
    async def admin(self) -> AsyncIterator[Any]:
        async with self.deployment.product.database.admin_connection() as connection:
            yield connection

    async def play(self, tool: str, state: str, victim: str) -> Row:
        """Have a job reach the state, kill the victim there, let all go on, and return what became of the job, after
        every promise about it has been looked at."""
        shop = self.deployment.shop
        what = f"{tool}-{next(_NUMBERS)}"
        path = f"/{tool}/{what}"
        async with self.admin() as admin:
            before = await admin.fetchval("SELECT coalesce(max(number), 0) FROM jobs.jobs")
        shop.resume = asyncio.Event() if state in VENDOR_HOLDS else None
        if state not in VENDOR_HOLDS:
            (self.stops / state).touch()
        starting = asyncio.create_task(self._start(tool, what, is_scheduled=state in SCHEDULE_STATES))
        self.tasks.add(starting)
        held = self.gateway if state in GATEWAY_STATES else self.worker
        if state in VENDOR_HOLDS:
            await within(20, lambda: self._was_asked(path))
            if state == "cancelling":
                (self.stops / state).touch()
                (job,) = await self._list_jobs(before)
                await self._call_jobs("cancel_job", job_id=str(job["id"]))
            else:
                held.send(signal.SIGSTOP)
        await within(20, lambda: self._is_stopped(held))
        await getattr(self, f"_kill_{victim}")(held, before)
        if shop.resume is not None and not (state == "cancelling" and tool == SURVEY):
            shop.resume.set()
        await asyncio.wait([starting], timeout=20)
        task_id = None if starting.exception() else starting.result()
        ended = await self._wait_for_end(before, must_be=task_id is not None or state in SCHEDULE_STATES)
        assert task_id is None or str(ended["id"]) == task_id
        if victim == "frozen":
            await self._resume_frozen(ended)
        if shop.resume is not None:
            shop.resume.set()
        row = await self._check(ended, path, victim)
        # Only what was never acknowledged may be lost, and then nothing was done.
        assert ended is not None or (task_id is None and row.asked == 0), (tool, state, victim)
        return row

    async def _start(self, tool: str, what: str, *, is_scheduled: bool) -> str | None:
        """Ask for the job; its id, where it was acknowledged."""
        params = {"module": "shop", "tool_name": tool, "params": {"what": what}}
        if not is_scheduled:
            answer = await self._post({"name": "call", "arguments": params, "task": {}})
            return answer["result"]["task"]["taskId"]
        await self._call_jobs("create_schedule", title=what, every_seconds=3600, **params)
        mandates = Mandates(self.deployment.operator, clock=get_utc_now)
        (waiting,) = [
            one
            for one in await mandates.list_page(self.ada.tenant.id, self.ada.id, None, 100)
            if one.consented_at is None
        ]
        actor = Actor(self.ada.email, self.ada.id)
        await mandates.consent(actor, self.ada.tenant.id, waiting.id, user_id=self.ada.id)
        async with self.admin() as admin:
            await admin.execute("UPDATE jobs.schedules SET next_run_at = clock_timestamp() WHERE title = $1", what)
            await admin.execute("SELECT pg_notify('mcpist_schedule', '')")
        return None

    async def _call_jobs(self, tool: str, /, **params: Any) -> dict[str, Any]:
        answer = await self._post(
            {"name": "call", "arguments": {"module": "jobs", "tool_name": tool, "params": params}}
        )
        result = answer["result"]
        assert not result["isError"], result
        return json.loads(result["content"][0]["text"])

    async def _post(self, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Authorization": f"Bearer {self.ada.token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
            "Host": urlsplit(self.deployment.public_url).netloc,
        }
        url = f"http://127.0.0.1:{self.gateway.port}/mcp"
        async with self.deployment.http.post(url, json=message, headers=headers) as response:
            return json.loads(await response.read())

    async def _was_asked(self, path: str) -> bool:
        return any(request.endswith(path) for _, request in self.deployment.shop.asked)

    async def _is_stopped(self, process: Process) -> bool:
        assert process.running is not None
        status = Path(f"/proc/{process.running.pid}/stat").read_text()
        return status.rpartition(")")[2].split()[0] == "T"

    async def _list_jobs(self, before: int) -> list[Any]:
        async with self.admin() as admin:
            return await admin.fetch("SELECT * FROM jobs.jobs WHERE number > $1", before)

    async def _wait_for_end(self, before: int, *, must_be: bool) -> Any:
        """The job, if there is one: how it ended."""
        found: list[Any] = []

        async def has_ended() -> bool:
            found[:] = await self._list_jobs(before)
            return all(job["state"] in _FINAL for job in found) and (bool(found) or not must_be)

        await within(60, has_ended)
        if not found:
            return None
        (job,) = found  # one, also of a schedule
        return job

    async def _check(self, job: Any, path: str, victim: str) -> Row:
        """Look at every promise: asked by one at a time, no change twice, mandate ended, result or its loss told."""
        shop = self.deployment.shop
        asked = sum(request.endswith(path) for _, request in shop.asked)
        assert shop.together[path] <= (2 if victim == "frozen" and path.startswith("/survey") else 1)
        if path.startswith("/order"):
            assert asked <= 1
        if job is None:
            return Row("no job", asked, 0)
        async with self.admin() as admin:
            assert await admin.fetchval(_COUNT_LIVE_MANDATES, job["id"]) == 0
            assert await admin.fetchval("SELECT count(*) FROM jobs.jobs WHERE state = 'running'") == 0
        told = await self._call_jobs("get_job", job_id=str(job["id"]))
        assert told["state"] == job["state"]
        if job["state"] == "succeeded":
            assert told["result"]["said"] == self.ada.email
        else:
            assert told["is_error"]
            assert told["text"]
        return Row(job["state"], asked, job["attempt"], told.get("text", ""))

    async def _kill_worker(self, held: Process, before: int) -> None:
        await self.worker.kill()
        if held is self.gateway:
            held.send(signal.SIGCONT)
        await self.worker.start()

    async def _kill_gateway(self, held: Process, before: int) -> None:
        await self.gateway.kill()
        if held is self.worker:
            held.send(signal.SIGCONT)
        await self.gateway.start()

    async def _kill_frozen(self, held: Process, before: int) -> None:
        """Nobody is killed: another worker takes over from one that stands still."""
        await self.spare.start()

    async def _resume_frozen(self, ended: Any) -> None:
        """Let the worker that stood still go on; it changes nothing of a job that is no longer its own."""
        self.worker.send(signal.SIGCONT)
        assert await self.worker.end() == 0
        async with self.admin() as admin:
            now = await admin.fetchrow("SELECT * FROM jobs.jobs WHERE id = $1", ended["id"])
        assert dict(now) == dict(ended)
        self.worker, self.spare = self.spare, self.worker

    async def _kill_sessions(self, held: Process, before: int) -> None:
        """Every session of the product is ended, and what it had not committed is undone."""
        async with self.admin() as admin:
            await admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND usename LIKE 'mcpist\\_%'"
            )
        held.send(signal.SIGCONT)

    async def _kill_backend(self, held: Process, before: int) -> None:
        """One backend is killed: PostgreSQL ends all others and recovers."""
        async with self.admin() as admin:
            ended = asyncio.Event()
            admin.add_termination_listener(lambda _connection: ended.set())
            pid = await admin.fetchval("SELECT min(pid) FROM pg_stat_activity WHERE usename = 'mcpist_worker'")
            os.kill(pid, signal.SIGKILL)
            await asyncio.wait_for(ended.wait(), 20)
        await within(20, self._has_recovered)
        held.send(signal.SIGCONT)

    async def _kill_server(self, held: Process, before: int) -> None:
        assert self.server is not None
        self.server.kill()
        (self.server.data / "postmaster.pid").unlink()  # it would say that it is ready
        self.server.start()
        held.send(signal.SIGCONT)

    async def _has_recovered(self) -> bool:
        with contextlib.suppress(OSError, asyncpg.PostgresError):
            async with self.admin() as admin:
                return await admin.fetchval("SELECT true")
        return False


@contextlib.asynccontextmanager
async def open_rig(
    database: ScratchDatabase, folder: Path, *, lease: float, server: PairedServer | None = None
) -> AsyncIterator[KillRig]:
    """The deployment, with a worker whose lease has this length (seconds)."""
    stops = folder / "stops"
    stops.mkdir()
    variables = {"STOPS": str(stops), "LEASE": str(lease)}
    async with split_on(database, folder, gateways=1, program=PROGRAM, variables=variables) as deployment:
        worker = add_worker(deployment, folder)
        home = folder / "spare"
        shutil.copytree(worker.home, home)
        spare = Process("worker", home, worker.port + 1, dict(worker.variables), program=PROGRAM)
        async with running([worker]):
            try:
                product = deployment.product
                tenant = await product.tenant("acme", services=["shop"])
                ada = await product.person(tenant, "ada@acme.test", allow=["*"])
                await deployment.add(ada, "adas-token-0123456789")
                yield KillRig(deployment, worker, spare, ada, stops, server)
            finally:
                if spare.running is not None:
                    with contextlib.suppress(ProcessLookupError):
                        spare.send(signal.SIGCONT)
                    await spare.end()
                deployment.gateways[0].send(signal.SIGCONT)


@contextlib.contextmanager
def mortal_server() -> Iterator[tuple[PairedServer, DatabaseServer]]:
    """A PostgreSQL that a test may kill."""
    with server_folder() as folder:
        programs, password = find_programs(folder), secrets.token_urlsafe(16)
        own = folder / "server"
        own.mkdir(mode=0o755)
        if user := server_user():
            os.chown(own, user.pw_uid, user.pw_gid)
        server = PairedServer(programs, own, password, "127.0.0.1")
        initialize_data(programs, server.data, password, folder / "log")
        server.start()
        try:
            with contextlib.closing(DatabaseServer(DatabaseAddress(Secret(server.url)))) as databases:
                yield server, databases
        finally:
            server.kill()
