"""A broker of its own shows what it does, and how the deployment's accounts are, at its metrics port."""

from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.broker.refresh.vendor import vendor_of
from tests.process.vendor_accounts import add_person, connect_account, has_refreshed, make_due
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.split import show_metrics, split_on

pytestmark = pytest.mark.timeout(180)
HURRY = {"SWEEP_EVERY": "0.3", "FIGURES_EVERY": "0.3"}


async def scrape(port: int) -> dict[tuple[str, ...], float]:
    async with httpx2.AsyncClient() as http:
        text = (await http.get(f"http://127.0.0.1:{port}/metrics")).text
    samples = (one for family in text_string_to_metric_families(text) for one in family.samples)
    return {(one.name, *one.labels.values()): one.value for one in samples}


async def test_a_broker_shows_its_metrics(database: ScratchDatabase, tmp_path: Path) -> None:
    async with (
        vendor_of(tmp_path, "strict") as vendor,
        split_on(
            database, tmp_path / "d", gateways=1, variables=HURRY, hosts=[vendor.host], prepare=show_metrics
        ) as deployment,
    ):
        ada = await add_person(deployment, "ada")
        account = await connect_account(deployment, ada, vendor)
        port = deployment.broker.metrics_port
        await within(60, lambda: has_read_figures(port))
        found = await scrape(port)
        assert (found["mcpist_accounts", "active"], found["mcpist_accounts", "needs_reauth"]) == (1, 0)
        assert found["mcpist_deployment_is_copy",] == 0
        assert found["mcpist_database_up",] == 1
        assert found["mcpist_database_connections", "most"] > 0
        refused, refreshes = "mcpist_auth_refused_total", "mcpist_refreshes_total"
        assert [found[refused, reason] for reason in ("unknown", "revoked")] == [0, 0], "a rate sees the first"
        assert [found[refreshes, outcome] for outcome in ("granted", "permanent", "not_sent")] == [0, 0, 0]
        gateway = await scrape(deployment.gateways[0].metrics_port)
        assert gateway["mcpist_http_responses_total", "503"] == gateway["mcpist_limited_total", "caller"] == 0
        assert gateway["mcpist_denied_total", "unknown_tool"] == 0
        assert (refreshes, "granted") not in gateway, "it refreshes nothing"
        await make_due(database, account)
        await within(60, lambda: has_refreshed(vendor, 1))
        await within(60, lambda: has_counted_refresh(port))
        text = str(sorted(found))
        assert ada.email not in text
        assert str(ada.tenant.id) not in text


async def has_read_figures(port: int) -> bool:
    return (await scrape(port)).get(("mcpist_accounts", "active")) == 1


async def has_counted_refresh(port: int) -> bool:
    return (await scrape(port)).get(("mcpist_refreshes_total", "granted")) == 1
