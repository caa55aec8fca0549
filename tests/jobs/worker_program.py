"""A worker in a process of its own, for tests that kill it: it writes each run into the ledger of the test's database.

    python -m tests.jobs.worker_program DATABASE_URL

A job with the arguments `hold` runs until the process ends; `kill` kills the process.
"""

import asyncio
import os
import signal
import sys

from core.database_url import DatabaseAddress
from core.db import Database
from core.sealed_records import RecordSealer
from core.secret import Secret
from jobs.handler import JobOutcome, JobReport
from jobs.job import Job
from jobs.worker import JobWorker, WorkerTiming
from jobs.worker_store import WorkerStore
from tests.jobs.harness import KEY, write_run
from tests.support.postgres import PASSWORDS

TIMING = WorkerTiming(lease=1.2, poll=0.1, rest=0.1)


class Handler:
    """Writes the run down, then does what the arguments say."""

    def __init__(self, admin: DatabaseAddress) -> None:
        self._admin = admin

    async def run(self, job: Job, arguments: bytes, report: JobReport) -> JobOutcome:
        await write_run(self._admin, job, arguments)
        report.report_progress(job.attempt)
        if arguments == b"kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if arguments == b"hold":
            await asyncio.Event().wait()
        return JobOutcome(b"%d" % os.getpid())


async def main(url: str) -> None:
    """Run jobs until the process is ended."""
    admin = DatabaseAddress(Secret(url))
    address = admin.as_role("mcpist_worker", PASSWORDS["mcpist_worker"])
    database = Database(address)
    await database.open()
    worker = JobWorker(address, WorkerStore(database), RecordSealer(KEY), {"call": Handler(admin)}, timing=TIMING)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    running = asyncio.create_task(worker.run())
    await stop.wait()
    await worker.drain(0)
    running.cancel()
    await asyncio.wait([running])
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
