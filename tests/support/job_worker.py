"""A worker of jobs in the test's own process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from core.sealed_records import RecordSealer
from jobs.worker import JobWorker
from jobs.worker_store import WorkerStore
from server.role_database import WORKER_ROLE, open_role_database
from tests.support.product import Node, Product


@contextlib.asynccontextmanager
async def run_job_worker(product: Product, node: Node) -> AsyncIterator[JobWorker]:
    """Run the jobs of a product with the handlers of one of its gateways, for as long as the block."""
    deployment = product.deployment
    async with open_role_database(deployment, WORKER_ROLE, max_connections=4) as database:
        worker = JobWorker(
            deployment.get_role_address(WORKER_ROLE),
            WorkerStore(database),
            RecordSealer(deployment.digest_key),
            node.gateway.job_handlers,
        )
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            await worker.drain(5)
            running.cancel()
            await asyncio.wait([running])
