"""Runs in the peer's own environment: procrastinate as its documentation has it, worker and queue in one process.

python procrastinate_jobs.py DATABASE_URL STARTS JOBS IDLE_SECONDS

Prints one JSON object: seconds from deferring a job until it begins, for each of STARTS; jobs added and run a second,
of JOBS by 16 at once; CPU seconds of this process in IDLE_SECONDS of rest.
"""

import asyncio
import json
import sys
import time
from typing import Any

import procrastinate  # pyright: ignore[reportMissingImports]

AT_ONCE = 16
ARGUMENTS = "x" * 200


async def main() -> None:
    url, starts, jobs, idle = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    app: Any = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, min_size=4, max_size=20))
    begun: dict[int, float] = {}
    news = asyncio.Event()

    @app.task(name="echo")
    async def echo(number: int, text: str) -> str:
        begun[number] = time.perf_counter()
        news.set()
        return text

    async def wait_for(count: int) -> None:
        while len(begun) < count:
            news.clear()
            await news.wait()

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        options = {"concurrency": AT_ONCE, "install_signal_handlers": False, "delete_jobs": "never"}
        worker = asyncio.create_task(app.run_worker_async(**options))
        await echo.defer_async(number=-1, text=ARGUMENTS)
        await wait_for(1)
        seconds: list[float] = []
        for number in range(starts):
            asked_at = time.perf_counter()
            await echo.defer_async(number=number, text=ARGUMENTS)
            await wait_for(number + 2)
            seconds.append(begun[number] - asked_at)
        started_at, places = time.perf_counter(), asyncio.Semaphore(AT_ONCE)

        async def add(number: int) -> None:
            async with places:
                await echo.defer_async(number=number, text=ARGUMENTS)

        await asyncio.gather(*(add(starts + number) for number in range(jobs)))
        added_at = time.perf_counter()
        await wait_for(1 + starts + jobs)
        ended_at = time.perf_counter()
        await asyncio.sleep(2)
        cpu = time.process_time()
        await asyncio.sleep(idle)
        cpu = time.process_time() - cpu
        worker.cancel()
        await asyncio.wait([worker])
    found = {
        "starts": seconds,
        "added": jobs / (added_at - started_at),
        "run": jobs / (ended_at - started_at),
        "idle": cpu,
    }
    print(json.dumps(found))


asyncio.run(main())
