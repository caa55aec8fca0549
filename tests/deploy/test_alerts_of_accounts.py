"""Each alert about connected accounts, brought about on a running deployment and ended as docs/runbook.md says."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from broker.notifications.settings import SETTINGS_FILE
from broker.oauth_client.types import OAuthClientConfig
from core.secret import Secret
from tests.broker.refresh.vendor import Vendor, vendor_of
from tests.deploy.watched_deployment import repeated, watched
from tests.process.vendor_accounts import add_person, connect_account, has_refreshed, make_due
from tests.support.eventually import within
from tests.support.mail_server import mail_server
from tests.support.postgres import ScratchDatabase
from tests.support.postgres_proxy import postgres_proxy
from tests.support.product import Person
from tests.support.prometheus_server import PrometheusServer
from tests.support.split import Split, run_operator_command

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]

OVERDUE = """UPDATE vault.accounts SET refresh_at = vault.clock() - interval '20 minutes',
    last_used_at = vault.clock() WHERE id = $1"""
# The pauses between attempts are not shortened as the rules are.
TRY_NOW = """UPDATE vault.accounts SET refresh_at = vault.clock(), next_try_at = NULL WHERE status = 'active';
    UPDATE vault.oauth_clients SET breaker_until = NULL"""
AGE_NOTICES = """UPDATE vault.notices SET created_at = created_at - interval '20 minutes',
    due_at = due_at - interval '20 minutes'"""
# As people connect them: an account stands behind a module.
USE_ACCOUNTS = """DELETE FROM vault.credentials; INSERT INTO vault.credentials
    (tenant_id, id, module, user_id, type, version, account_id, created_at, updated_at)
    SELECT tenant_id, gen_random_uuid(), 'shop', user_id, 'B', 1, id, now(), now() FROM vault.accounts"""
LEAVING, STAYING = 6, 28
"""Of a fifth at once, the vendor's mistake would be suspected."""


async def add_accounts(deployment: Split, vendor: Vendor, count: int) -> tuple[Person, list[UUID]]:
    """The first of so many people of one tenant, and their accounts."""
    first = await add_person(deployment, "ada")
    people = [first] + [
        await deployment.product.person(first.tenant, f"person{number}@acme.test") for number in range(1, count)
    ]
    return first, [await connect_account(deployment, person, vendor) for person in people]


async def has_status(prometheus: PrometheusServer, status: str, number: int) -> bool:
    return any(
        one["value"][1] == str(number) for one in await prometheus.query(f'mcpist_accounts{{status="{status}"}}')
    )


async def test_a_vendor_that_is_away(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistRefreshesFailing: accounts stay connected, and it ends with the vendor's outage."""
    async with (
        vendor_of(tmp_path, "strict") as vendor,
        watched(database, tmp_path / "d", hosts=[vendor.host]) as (deployment, prometheus),
        database.admin_connection() as admin,
    ):
        await add_accounts(deployment, vendor, 6)
        await vendor.fault("status", times=100_000, status=503, headers={"Retry-After": "120"})
        async with repeated(lambda: admin.execute(TRY_NOW)):
            await prometheus.begins("McpistRefreshesFailing")
            await vendor.reset()
            await prometheus.ends("McpistRefreshesFailing")
        await within(30, lambda: has_status(prometheus, "active", 6))


async def test_a_broker_that_refreshes_nothing(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistAccountsOverdue: a broker that is started again refreshes what is due."""
    async with (
        vendor_of(tmp_path, "strict") as vendor,
        watched(database, tmp_path / "d", hosts=[vendor.host], variables={"SWEEP_EVERY": "3600"}) as (
            deployment,
            prometheus,
        ),
        database.admin_connection() as admin,
    ):
        _, [account] = await add_accounts(deployment, vendor, 1)
        await admin.execute(OVERDUE, account)
        await prometheus.begins("McpistAccountsOverdue")
        deployment.broker.variables["SWEEP_EVERY"] = "0.3"
        await deployment.broker.end()
        await deployment.broker.start()
        await within(60, lambda: has_refreshed(vendor, 1))
        await prometheus.ends("McpistAccountsOverdue")


async def test_people_who_remove_the_app_at_the_vendor(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistAccountsEnded: `mcpist connection count` says whose; it is over an hour later."""
    async with (
        vendor_of(tmp_path, "strict") as vendor,
        watched(database, tmp_path / "d", hosts=[vendor.host]) as (deployment, prometheus),
        database.admin_connection() as admin,
    ):
        ada, accounts = await add_accounts(deployment, vendor, LEAVING + STAYING)
        await admin.execute(USE_ACCOUNTS)
        await make_due(database, *accounts)
        await within(60, lambda: has_refreshed(vendor, len(accounts)))
        before = 'mcpist_accounts{status="needs_reauth"} offset 24s'
        await within(60, lambda: _has_samples(prometheus, before))
        for number in range(1, LEAVING + 1):
            await vendor.server.control({"revoke_account": f"person{number}@acme.test"})
        await make_due(database, *accounts)
        await prometheus.begins("McpistAccountsEnded")
        counted = await run_operator_command(deployment, "connection", "count", "--tenant", ada.tenant.slug)
        assert str(LEAVING) in str(counted)
        assert await has_status(prometheus, "needs_reauth", LEAVING)
        await prometheus.ends("McpistAccountsEnded")


async def _has_samples(prometheus: PrometheusServer, expression: str) -> bool:
    return bool(await prometheus.query(expression))


async def test_an_oauth_client_with_a_wrong_secret(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistOauthClientRejected: `mcpist oauth-client set` with the right one, and the next refresh proves it."""
    async with (
        vendor_of(tmp_path, "strict") as vendor,
        watched(database, tmp_path / "d", hosts=[vendor.host]) as (deployment, prometheus),
    ):
        ada = await add_person(deployment, "ada")
        wrong = OAuthClientConfig(vendor.server.client_id, Secret("a secret that has expired"))
        account = await connect_account(deployment, ada, vendor, wrong)
        await make_due(database, account)
        await prometheus.begins("McpistOauthClientRejected")
        tenant = ("--tenant", ada.tenant.slug)
        [listed] = await run_operator_command(deployment, "oauth-client", "list", *tenant)
        assert listed["provider"] == vendor.id
        assert "misconfigured" in str(listed)
        await run_operator_command(
            deployment, "oauth-client", "set", vendor.id, "--client-id", vendor.server.client_id, "--stdin", *tenant,
            given=vendor.server.client_secret,
        )  # fmt: skip
        await make_due(database, account)
        await prometheus.ends("McpistOauthClientRejected", 120)
        assert await has_refreshed(vendor, 1)


async def test_a_vendor_s_answer_that_finds_no_database(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistRefreshAnswersSpooled: when the database is back, it is stored without a restart."""
    async with postgres_proxy(database.admin) as proxy, vendor_of(tmp_path, "strict") as vendor:
        through = replace(database, admin=proxy.address)
        async with watched(through, tmp_path / "d", hosts=[vendor.host]) as (deployment, prometheus):
            _, [account] = await add_accounts(deployment, vendor, 1)
            await vendor.fault("delay_after", ms=2_000)
            await make_due(database, account)

            async def is_asked() -> bool:
                return await vendor.calls() == 1

            await within(30, is_asked)
            proxy.hang_up()
            await prometheus.begins("McpistRefreshAnswersSpooled", instance="broker")
            assert list((deployment.broker.home / "answers").glob("*.answer"))
            proxy.resume()
            await prometheus.ends("McpistRefreshAnswersSpooled")
            assert await vendor.reuses() == 0


async def test_a_mail_server_that_takes_nothing(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistNoticesWaiting: with a mail server that works, owners are told at the next attempt."""
    with mail_server() as mail:
        async with (
            vendor_of(tmp_path, "strict") as vendor,
            watched(database, tmp_path / "d", hosts=[vendor.host, f"127.0.0.1:{mail.port}"]) as (
                deployment,
                prometheus,
            ),
            database.admin_connection() as admin,
        ):
            mail.away = True
            notices = deployment.broker.home / SETTINGS_FILE
            notices.touch(0o600)
            notices.write_text(
                f'[mail]\nserver = "127.0.0.1"\nport = {mail.port}\nsecurity = "none"\n'
                'sender = "MCPist <mcpist@acme.test>"\n'
            )
            await deployment.broker.end()
            await deployment.broker.start()
            ada, [account] = await add_accounts(deployment, vendor, 1)
            await vendor.server.control({"revoke_account": ada.email})
            await make_due(database, account)
            await within(60, lambda: has_status(prometheus, "needs_reauth", 1))
            await admin.execute(AGE_NOTICES)
            await prometheus.begins("McpistNoticesWaiting")
            mail.away = False
            await admin.execute(AGE_NOTICES)
            await prometheus.ends("McpistNoticesWaiting", 120)
            assert mail.to(ada.email)


async def test_a_database_without_its_deployment_id(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistIsACopy: the file is lost, so nobody can say that this is the original; `mcpist adopt` does."""
    async with watched(database, tmp_path) as (deployment, prometheus):
        await deployment.broker.end()
        (deployment.broker.home / "deployment-id").unlink()
        await deployment.broker.start()
        await prometheus.begins("McpistIsACopy", instance="broker")
        assert "deployment_not_adopted" in deployment.broker.log()
        await run_operator_command(deployment, "adopt")
        await prometheus.ends("McpistIsACopy")
