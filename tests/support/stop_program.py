"""The program of :mod:`tests.support.shop_program` with two asynchronous tools more, which stops itself (SIGSTOP) at a
step of a job.

The file `STOPS/<step>` arms a step for its next time; it is gone when the process has stopped. LEASE is the length of a
worker's lease in seconds. The steps are methods of the product, so that a job pays nothing for them.
"""

import inspect
import os
import runpy
import signal
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

import jobs.job_run
import jobs.queue
import server.wiring.jobs
import tests.support.toy_vendor
from gateway.tasks.job_execution import CallJobHandler
from gateway.tasks.job_starter import JobStarter
from jobs.job_run import JobRun
from jobs.queue import JobQueue
from jobs.schedule_runner import ScheduleRunner
from jobs.worker import JobWorker, WorkerTiming
from jobs.worker_store import WorkerStore
from modules.kit import Context, Execution, Module, tool
from tests.support.toy_vendor import READS, WRITES, Seen, shop_module

STEPS: dict[str, tuple[Any, str, bool]] = {
    "mandate made": (JobStarter, "_enqueue", False),
    "job inserted": (jobs.queue, "read_job", True),
    "job added": (JobQueue, "enqueue", True),
    "queued": (JobWorker, "_claim", False),
    "claimed": (JobWorker, "_begin", False),
    "begun": (CallJobHandler, "run", False),
    "progress": (WorkerStore, "report_progress", False),
    "cancelling": (JobRun, "stop", False),
    "finishing": (WorkerStore, "finish", False),
    "finished": (WorkerStore, "finish", True),
    "schedule due": (ScheduleRunner, "_start_job", False),
    "schedule run": (ScheduleRunner, "_start_job", True),
}
"""What has been done last: class or module, function, and whether the process stops after it or before it."""


@tool(hints=WRITES, scopes=["shop:write"], execution=Execution.ASYNC)
async def order(context: Context, what: Annotated[str, Field(description="What to order", max_length=100)]) -> Seen:
    """Order something, which is not to be done twice."""
    answer = await context.vendor.request("POST", f"/order/{what}")
    await context.report_progress(1, 2, "ordered")
    await context.vendor.request("GET", "/me")
    return Seen(said=answer.json()["name"])


@tool(hints=READS, scopes=["shop:read"], execution=Execution.ASYNC)
async def survey(context: Context, what: Annotated[str, Field(description="What to survey", max_length=100)]) -> Seen:
    """Look through something, as often as need be."""
    answer = await context.vendor.request("GET", f"/survey/{what}")
    await context.report_progress(1, 2, "looked")
    await context.vendor.request("GET", "/me")
    return Seen(said=answer.json()["name"])


def build_module(base_url: str) -> Module:
    """Build the shop with both tools."""
    shop = shop_module(base_url)
    return Module(
        shop.name, shop.title, shop.description, shop.scopes, (*shop.tools, order, survey), vendor=shop.vendor
    )


def stop_at(step: str, folder: Path) -> None:
    """Have the process stop at the step whenever it is armed."""
    owner, name, is_after = STEPS[step]
    function, armed = getattr(owner, name), folder / step

    def pass_by(is_here: bool) -> None:
        if is_here and armed.exists():
            armed.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)

    async def run(*given: Any, **named: Any) -> Any:
        pass_by(not is_after)
        result = await function(*given, **named)
        pass_by(is_after)
        return result

    def call(*given: Any, **named: Any) -> Any:
        pass_by(not is_after)
        result = function(*given, **named)
        pass_by(is_after)
        return result

    setattr(owner, name, run if inspect.iscoroutinefunction(function) else call)


def main() -> None:
    """Run the program."""
    for step in STEPS:
        stop_at(step, Path(os.environ["STOPS"]))
    timing = WorkerTiming(lease=float(os.environ["LEASE"]), poll=0.2, rest=1.0)
    server.wiring.jobs.JobWorker = partial(JobWorker, timing=timing)  # type: ignore[assignment]
    jobs.job_run.GRACE_SECONDS = 0.2  # type: ignore[misc]
    tests.support.toy_vendor.shop_module = build_module
    runpy.run_module("tests.support.shop_program", run_name="__main__")


if __name__ == "__main__":
    main()
