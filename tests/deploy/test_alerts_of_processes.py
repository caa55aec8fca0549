"""Each alert about processes, brought about on a running deployment and ended as docs/runbook.md says: process, broker,
database, listener, audit log, limits."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.rpc.gateway_keys import make_key_pair
from tests.broker.audit_streams.collector_server import SECRET, CollectorServer
from tests.deploy.watched_deployment import get_readiness, repeated, watched
from tests.process.vendor_accounts import add_person
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy
from tests.support.prometheus_server import PrometheusServer
from tests.support.split import Split, add_worker, run_operator_command, running
from tests.support.valkey import running_valkey

pytestmark = pytest.mark.timeout(300)

SLOW_RECORDS = """
CREATE FUNCTION audit.dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.8); RETURN NEW; END $$;
CREATE TRIGGER dawdle BEFORE INSERT ON audit.incoming FOR EACH STATEMENT EXECUTE FUNCTION audit.dawdle();
"""
BLOCKERS = """SELECT pg_terminate_backend(blocker) FROM (SELECT DISTINCT unnest(pg_blocking_pids(pid)) AS blocker
    FROM pg_stat_activity WHERE usename = 'mcpist_gateway' AND datname = current_database()) found"""
WAITING_JOB = """INSERT INTO jobs.jobs (tenant_id, id, user_id, kind, module, tool, title, client, arguments,
    is_repeatable, retries_left, lifetime, expires_at, updated_at)
    VALUES ($1, gen_random_uuid(), $2, 'unknown', 'shop', 'look', 'Look', '', '', true, 0, '1 hour',
        now() + interval '1 hour', now() - interval '20 minutes')"""
# The events of the log cannot be changed, so time is: as if they had been sealed long ago.
AGE_BACKUPS = """SET session_replication_role = replica;
    UPDATE audit.events SET at = at - interval '3 days' WHERE kind = 'operator.backup'"""
AGE_EVENTS = """SELECT audit.prepare_month(now() - interval '20 minutes'); SET session_replication_role = replica;
    UPDATE audit.events SET sealed_at = sealed_at - interval '20 minutes'"""


@contextlib.asynccontextmanager
async def behind_proxy(
    database: ScratchDatabase, folder: Path, **options: Any
) -> AsyncIterator[tuple[Split, PrometheusServer, PostgresProxy]]:
    """A watched deployment whose way to the database can be cut."""
    async with postgres_proxy(database.admin) as proxy:
        through = replace(database, admin=proxy.address)
        async with watched(through, folder, **options) as (deployment, prometheus):
            try:
                yield deployment, prometheus, proxy
            finally:
                proxy.withholds_announcements = False
                proxy.resume()


async def test_a_broker_that_has_ended(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistProcessDown, McpistBrokerDown, McpistServerErrors: starting it again ends all of them."""
    async with watched(database, tmp_path) as (deployment, prometheus):
        bob = await add_person(deployment, "bob")
        await deployment.broker.kill()
        async with repeated(lambda: deployment.call(bob, "shop", "look", what="tea")):  # whom no gateway knows
            await prometheus.begins("McpistProcessDown", instance="broker")
            await prometheus.begins("McpistBrokerDown", instance="gateway")
            await prometheus.begins("McpistServerErrors")
            assert (await get_readiness(deployment.gateways[0]))["broker"].startswith("degraded: ")
            await deployment.broker.start()
            await prometheus.ends("McpistProcessDown")
            await prometheus.ends("McpistBrokerDown")
            await prometheus.ends("McpistServerErrors")


@pytest.mark.long
async def test_a_gateway_that_its_broker_refuses(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistBrokerDown: /readyz names the key, and the broker's file gets it."""
    async with watched(database, tmp_path) as (deployment, prometheus):
        [gateway] = deployment.gateways
        make_key_pair(tmp_path / "new.pem", tmp_path / "new-public.pem")
        gateway.variables["MCPIST_GATEWAY_KEY"] = str(tmp_path / "new.pem")
        await gateway.end()
        await gateway.start()
        await prometheus.begins("McpistBrokerDown", instance="gateway")
        assert (await get_readiness(gateway))["broker"].startswith("refused: 401: is this process's public key in")
        known = Path(deployment.broker.variables["MCPIST_BROKER_GATEWAYS"])
        known.write_bytes(known.read_bytes() + (tmp_path / "new-public.pem").read_bytes())
        await prometheus.ends("McpistBrokerDown")


@pytest.mark.long
async def test_a_database_that_is_away(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistDatabaseDown, at every process kind, without a call; when it is back, no process has to be restarted."""
    async with behind_proxy(database, tmp_path, console=True) as (deployment, prometheus, proxy):
        proxy.hang_up()
        for instance in ("broker", "gateway", "console"):
            await prometheus.begins("McpistDatabaseDown", instance=instance)
        assert (await get_readiness(deployment.broker))["database"] == "down"
        proxy.resume()
        await prometheus.ends("McpistDatabaseDown")
        ada = await add_person(deployment, "ada")
        assert await deployment.said(ada, "look") == "ada@acme.test: tea"


@pytest.mark.long
async def test_a_database_that_is_silent(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistDatabaseDown where the server's machine hangs: it takes connections, and nobody calls meanwhile."""
    async with behind_proxy(database, tmp_path, slow=True) as (deployment, prometheus, proxy):
        proxy.silence()
        await prometheus.begins("McpistDatabaseDown", instance="broker")
        await prometheus.begins("McpistDatabaseDown", instance="gateway")
        assert (await get_readiness(deployment.broker))["database"] == "slow"
        proxy.resume()
        await prometheus.ends("McpistDatabaseDown")


@pytest.mark.long
async def test_announcements_that_do_not_arrive(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistChangesPolled: it ends by itself, half a minute after they arrive again."""
    async with behind_proxy(database, tmp_path) as (deployment, prometheus, proxy):
        ada = await add_person(deployment, "ada")
        async with repeated(lambda: deployment.call(ada, "shop", "look", what="tea")):
            proxy.withholds_announcements = True
            await prometheus.begins("McpistChangesPolled", instance="gateway")
            proxy.withholds_announcements = False
            await prometheus.ends("McpistChangesPolled", 120)


@pytest.mark.long
async def test_an_audit_log_that_is_slow(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistAuditBehind: the database needs long for each record."""
    async with watched(database, tmp_path) as (deployment, prometheus), database.admin_connection() as admin:
        ada = await add_person(deployment, "ada")
        async with repeated(lambda: deployment.call(ada, "shop", "look", what="tea")):
            await admin.execute(SLOW_RECORDS)
            await prometheus.begins("McpistAuditBehind", instance="gateway")
            await admin.execute("DROP FUNCTION audit.dawdle CASCADE")
            await prometheus.ends("McpistAuditBehind")


@pytest.mark.long
async def test_an_audit_log_that_nobody_seals(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistBackgroundTaskFailing and, a minute later, McpistAuditSealingBehind: the log names the error, a right."""
    async with (
        watched(database, tmp_path, console=True) as (deployment, prometheus),
        database.admin_connection() as admin,
    ):
        await admin.execute("REVOKE EXECUTE ON FUNCTION audit.take(integer) FROM mcpist_console")
        await prometheus.begins("McpistBackgroundTaskFailing", instance="console")
        await prometheus.begins("McpistAuditSealingBehind", instance="console")
        log = (tmp_path / "console" / "log").read_text()
        assert '"event":"audit_sealing_failed"' in log
        assert "InsufficientPrivilegeError" in log
        await admin.execute("GRANT EXECUTE ON FUNCTION audit.take(integer) TO mcpist_console")
        await prometheus.ends("McpistBackgroundTaskFailing")
        await prometheus.ends("McpistAuditSealingBehind")
        assert deployment.broker.running is not None


@pytest.mark.long
async def test_a_backup_that_nobody_has_made_again(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistBackupOld: there is no age before the first backup, and the next one ends it."""
    async with (
        watched(database, tmp_path / "d", console=True) as (deployment, prometheus),
        database.admin_connection() as admin,
    ):
        assert await prometheus.query("mcpist_backup_age_seconds") == []
        await run_operator_command(deployment, "backup", str(tmp_path / "first.dump"))
        await within(60, lambda: has_backup(admin))
        await admin.execute(AGE_BACKUPS)
        await prometheus.begins("McpistBackupOld")
        await run_operator_command(deployment, "backup", str(tmp_path / "second.dump"))
        await prometheus.ends("McpistBackupOld")


async def has_backup(admin: Any) -> bool:
    return await admin.fetchval("SELECT EXISTS (SELECT FROM audit.events WHERE kind = 'operator.backup')")


@pytest.mark.long
async def test_jobs_that_no_worker_runs(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistJobsWaiting: the control plane shows how long they have waited, and a worker ends it."""
    async with (
        watched(database, tmp_path, console=True) as (deployment, prometheus),
        database.admin_connection() as admin,
    ):
        ada = await add_person(deployment, "ada")
        await admin.execute(WAITING_JOB, ada.tenant.id, ada.id)
        await prometheus.begins("McpistJobsWaiting")
        assert (await get_readiness(deployment.gateways[0]))["jobs"] == "degraded: no worker"
        async with running([add_worker(deployment, tmp_path, MCPIST_METRICS_PORT="0")]):
            await prometheus.ends("McpistJobsWaiting")


@pytest.mark.long
async def test_a_collector_that_takes_no_audit_records(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistAuditStreamLate: `mcpist audit stream show` has its error; when it takes records again, it ends."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    async with CollectorServer() as collector:
        hosts = [f"127.0.0.1:{collector.port}"]
        async with (
            watched(database, tmp_path / "d", console=True, hosts=hosts) as (deployment, prometheus),
            database.admin_connection() as admin,
        ):
            ada = await add_person(deployment, "ada")
            tenant = ("--tenant", ada.tenant.slug)
            await run_operator_command(
                deployment, "audit", "stream", "set", collector.url, "--from-file", str(secret), *tenant
            )
            collector.status = 503
            await deployment.said(ada, "look")

            async def is_refused() -> bool:
                stand = await run_operator_command(deployment, "audit", "stream", "show", *tenant)
                return bool(stand["pending"] and stand["last_error"])

            await within(60, is_refused)
            await admin.execute(AGE_EVENTS)
            await prometheus.begins("McpistAuditStreamLate")
            collector.status = 200
            await prometheus.ends("McpistAuditStreamLate", 120)
            assert collector.taken


@pytest.mark.long
async def test_a_query_that_keeps_all_connections(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistDatabaseConnectionsExhausted: pg_stat_activity names what blocks, and ending that ends it."""
    async with (
        watched(database, tmp_path, slow=True) as (deployment, prometheus),
        database.admin_connection() as admin,
        database.admin_connection() as other,
        contextlib.AsyncExitStack() as stack,
    ):
        ada = await add_person(deployment, "ada")
        await deployment.said(ada, "look")
        await admin.execute("BEGIN; LOCK TABLE modules.kg_graphs IN ACCESS EXCLUSIVE MODE")
        for _ in range(24):
            await stack.enter_async_context(repeated(lambda: deployment.call(ada, "knowledge_graph", "read_graph")))
        await prometheus.begins("McpistDatabaseConnectionsExhausted", instance="gateway")

        async def is_found() -> bool:
            return bool(await other.fetch(BLOCKERS))

        await within(10, is_found)  # for a moment nothing waits: when the time of all queries is over
        await prometheus.ends("McpistDatabaseConnectionsExhausted")


@pytest.mark.long
async def test_a_valkey_that_hangs(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistLimitsNotShared: calls go on, and it ends when the server answers."""
    async with running_valkey() as valkey:
        variables = {"MCPIST_REDIS_URL": valkey.url}
        async with watched(database, tmp_path, variables=variables) as (deployment, prometheus):
            ada = await add_person(deployment, "ada")
            with valkey.frozen():
                await prometheus.begins("McpistLimitsNotShared", instance="gateway")
                assert (await get_readiness(deployment.gateways[0]))["limits"].startswith("degraded: ")
                assert await deployment.said(ada, "look") == "ada@acme.test: tea"
            await prometheus.ends("McpistLimitsNotShared")


@pytest.mark.long
async def test_a_log_collector_that_has_ended(database: ScratchDatabase, tmp_path: Path) -> None:
    """McpistLogLinesDropped: with a reader again, lines arrive, and no process was restarted."""
    async with watched(database, tmp_path) as (deployment, prometheus):
        [gateway] = deployment.gateways
        ada = await add_person(deployment, "ada")
        await gateway.end()
        log = gateway.home / "log"
        log.unlink()
        os.mkfifo(log)
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        try:
            await gateway.start()
            async with repeated(lambda: deployment.call(ada, "shop", "look", what="tea")):
                await prometheus.ends("McpistProcessDown")
                os.close(reader)
                await prometheus.begins("McpistLogLinesDropped", instance="gateway")
                reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
                draining = asyncio.get_running_loop()
                draining.add_reader(reader, lambda: os.read(reader, 65_536))
                await prometheus.ends("McpistLogLinesDropped")
                draining.remove_reader(reader)
            await gateway.end()
        finally:
            os.close(reader)
            log.unlink()
            log.touch()
