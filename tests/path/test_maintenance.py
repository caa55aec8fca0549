"""Of several workers the first one sweeps, refreshes ahead of time and notifies; the others serve only."""

import asyncio
import contextlib
from collections import Counter

import pytest

from core.config.settings import Settings
from gateway.module_manifests import build_module_manifests
from server.wiring.broker import open_broker_runtime
from server.wiring.web import open_web_application
from server.workers.worker import Worker
from tests.support.product import Product

MAINTENANCE = {
    "refreshing tokens",
    "deleting expired rows of identity",
    "sending notifications",
    "ending abandoned accounts",
    "ending mandates",
    "rechecking rejected credentials",
}


@pytest.mark.parametrize(("number", "expected"), [(1, MAINTENANCE), (2, set[str]())])
async def test_the_first_worker_runs_all_maintenance(product: Product, number: int, expected: set[str]) -> None:
    settings = Settings(home=product.deployment.home, public_url="http://127.0.0.1:8080")
    manifests, worker = build_module_manifests(product.catalogue), Worker(number)
    # The gateway of the test has a broker of its own, whose refresher is no concern here.
    async with product.gateway() as node, contextlib.AsyncExitStack() as stack:
        before = _list_maintenance()
        zone = await stack.enter_async_context(
            open_broker_runtime(product.deployment, settings, manifests, worker=worker)
        )
        await stack.enter_async_context(
            open_web_application(zone, settings, node.gateway.refusals, manifests, worker=worker)
        )
        assert _list_maintenance() - before == Counter(expected)


def _list_maintenance() -> Counter[str]:
    return Counter(task.get_name() for task in asyncio.all_tasks() if task.get_name() in MAINTENANCE)
