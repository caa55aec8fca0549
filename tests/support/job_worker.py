"""A worker of jobs in the test's own process, as the product runs one."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from core.config.settings import Settings
from core.observability.metrics import Metrics
from server.wiring.jobs import run_job_worker
from tests.support.product import Node, Product, over_http


@contextlib.asynccontextmanager
async def run_jobs(product: Product, node: Node, **settings: Any) -> AsyncIterator[None]:
    """Run the jobs of a product with the handlers of one of its gateways, for as long as the block. Where gateways
    reach their broker over HTTP, it is with those of a worker beside them, which has these `settings`."""
    async with contextlib.AsyncExitStack() as stack:
        if over_http():
            node = await stack.enter_async_context(product.gateway(as_worker=True, **settings))
        deployment, metrics = product.deployment, Metrics()
        handlers = node.gateway.job_handlers
        await stack.enter_async_context(run_job_worker(Settings(home=deployment.home), deployment, handlers, metrics))
        yield
