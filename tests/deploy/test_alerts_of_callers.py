"""Each alert about callers, brought about on a running deployment and ended as docs/runbook.md says: slow calls,
refused credentials, limits."""

import asyncio
import contextlib
import itertools
from pathlib import Path

import pytest

from core.token_format import generate_token
from tests.deploy.watched_deployment import repeated, watched
from tests.process.vendor_accounts import add_person
from tests.support.postgres import ScratchDatabase
from tests.support.split import run_operator_command

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]


async def test_a_vendor_that_takes_long(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistCallsSlow: the calls of one module take more than 10 seconds; it ends with the vendor's trouble."""
    async with (
        watched(database, tmp_path, variables={"MCPIST_CALL_TIMEOUT": "60"}) as (deployment, prometheus),
        contextlib.AsyncExitStack() as stack,
    ):
        ada = await add_person(deployment, "ada")
        await deployment.said(ada, "look")
        deployment.shop.delay = 11.0
        for _ in range(40):
            await stack.enter_async_context(repeated(lambda: deployment.call(ada, "shop", "look", what="tea")))
            await asyncio.sleep(0.25)
        await prometheus.begins("McpistCallsSlow", module="shop")
        deployment.shop.delay = 0.0
        await prometheus.ends("McpistCallsSlow")


@pytest.mark.no_canary("tries tokens that are none")
async def test_credentials_from_everywhere(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistCredentialsRefused: many addresses try tokens; it ends when the proxy lets them through no more."""
    addresses = itertools.count()
    async with watched(database, tmp_path, variables={"MCPIST_TRUSTED_PROXIES": "127.0.0.1"}) as (
        deployment,
        prometheus,
    ):
        url = f"http://127.0.0.1:{deployment.gateways[0].port}/mcp"

        async def guess() -> None:
            number = next(addresses)
            headers = {
                "Authorization": f"Bearer {generate_token()[1].reveal()}",
                "Host": deployment.public_url.removeprefix("http://"),
                "X-Forwarded-For": f"198.51.{number // 250 % 250}.{number % 250 + 1}",
            }
            async with deployment.http.post(url, json={}, headers=headers) as answer:
                assert answer.status == 401

        async with repeated(guess):
            await prometheus.begins("McpistCredentialsRefused")
        await prometheus.ends("McpistCredentialsRefused")


async def test_an_agent_that_runs_away(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistCallersLimited: `mcpist user suspend` ends it."""
    limits = {"MCPIST_RATE_PER_SECOND": "1", "MCPIST_RATE_BURST": "1"}
    async with watched(database, tmp_path, variables=limits) as (deployment, prometheus):
        ada = await add_person(deployment, "ada")
        async with repeated(lambda: deployment.call(ada, "shop", "look", what="tea")):
            await prometheus.begins("McpistCallersLimited", limit="caller")
            await run_operator_command(deployment, "user", "suspend", ada.email, "--tenant", ada.tenant.slug)
            await prometheus.ends("McpistCallersLimited")
            assert (await deployment.call(ada, "shop", "look", what="tea")).status in (401, 429)
