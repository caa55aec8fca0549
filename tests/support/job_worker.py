"""A worker of jobs in the test's own process, as the product runs one."""

import contextlib
from collections.abc import AsyncIterator

from core.config.settings import Settings
from core.observability.metrics import Metrics
from server.wiring.jobs import run_job_worker
from tests.support.product import Node, Product


@contextlib.asynccontextmanager
async def run_jobs(product: Product, node: Node) -> AsyncIterator[None]:
    """Run the jobs of a product with the handlers of one of its gateways, for as long as the block."""
    deployment = product.deployment
    gateway, settings = node.gateway, Settings(home=deployment.home)
    async with run_job_worker(settings, deployment, gateway.job_handlers, gateway.verify_mandate, Metrics()):
        yield
