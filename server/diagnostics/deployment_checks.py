"""Look at everything that can be wrong with a data folder and its database. Nothing is changed or created."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Any

import asyncpg

from broker.identity.peppers import find_pepper_problem
from core.audit.digest_key_check import find_digest_key_problem
from core.audit.query import list_anchors
from core.audit.verification import verify_chain
from core.bilingual_text import BilingualText, join_names, say
from core.config.settings import Settings
from core.database_login import LoginRefused
from core.db import Database, connect
from core.directory.audit_retention import AuditRetention, AuditRetentionStore
from core.directory.services import list_services
from core.directory.tenants import Tenant, list_tenants
from core.errors import Invalid, MCPistError, Unavailable
from core.migrations import LOGIN_ROLES, get_current_revision, get_head_revision, is_compatible, list_revisions
from core.search_schema import PGVECTOR_QUERY, has_search_schema, is_pgvector_usable
from gateway.catalogue import load_installed_modules
from server.data_folder import attach_database
from server.deployment import Deployment
from server.diagnostics.finding import Finding
from server.diagnostics.folder_checks import check_files, check_folder, check_keys
from server.diagnostics.stream_checks import check_audit_streams
from server.diagnostics.vault_checks import check_credentials, check_vault
from server.endpoint_file import find_running_server, find_unready_reason
from server.listen_port import build_port_error
from server.metrics_server import open_metrics_socket
from server.postgres.errors import PostgresError
from server.postgres.login_errors import explain_refused_login
from server.role_database import BROKER_ROLE, CONSOLE_ROLE, get_utc_now, open_role_database
from server.stream_memory import find_stream_memory_problem
from server.tool_catalogue import load_module_titles

MAX_UNSEALED_EVENTS = 10_000
MAX_CLOCK_SKEW = 5.0
READY_LOOKS, READY_PAUSE_SECONDS = 3, 1.2
"""The product looks at its parts once a second at most."""
_TAKE_ROOM = """CREATE TABLE pg_temp.mcpist_room (content text);
    ALTER TABLE pg_temp.mcpist_room ALTER content SET STORAGE PLAIN;
    INSERT INTO pg_temp.mcpist_room SELECT repeat('x', 7000) FROM generate_series(1, 128)"""
"""A mebibyte."""
_REQUIRED_CHECKS = frozenset({"data folder", "keys"})
"""What the database cannot be opened without."""


async def diagnose(settings: Settings) -> list[Finding]:
    """Run all checks, in the order in which one depends on another."""
    base = [check_folder(settings), *check_keys(settings)]
    findings = [*base, *check_files(settings), await _check_port(settings), *_check_metrics(settings)]
    findings += _check_streams(settings)
    findings.append(await _check_limits(settings))
    if not settings.home.is_dir() or any(
        finding.state == "error" and finding.check in _REQUIRED_CHECKS for finding in findings
    ):
        return findings
    try:
        async with attach_database(settings, _ignore_progress) as deployment:
            return findings + [finding async for finding in _diagnose_database(deployment, settings.public_url)]
    except LoginRefused as error:
        return [*findings, Finding("database", "error", explain_refused_login(error.__cause__ or error))]
    except (PostgresError, MCPistError) as error:
        return [*findings, Finding("database", "error", str(error))]
    except asyncpg.InvalidPasswordError as error:
        return [*findings, Finding("database", "error", explain_refused_login(error))]
    except (OSError, asyncpg.PostgresError) as error:
        return [*findings, Finding("database", "error", f"it cannot be reached ({type(error).__name__})")]


def _check_streams(settings: Settings) -> list[Finding]:
    problem = find_stream_memory_problem(settings)
    return [] if problem is None else [Finding("streams", "warning", problem)]


def _check_metrics(settings: Settings) -> list[Finding]:
    if not settings.metrics_port or find_running_server(settings.home) is not None:
        return []
    try:
        with contextlib.closing(open_metrics_socket(settings.metrics_host, settings.metrics_port)):
            return [Finding("metrics", "ok", f"port {settings.metrics_port} is free")]
    except Unavailable as error:
        return [Finding("metrics", "error", str(error))]


async def _check_limits(settings: Settings) -> Finding:
    """Check whether several replicas would count a user's calls together."""
    if settings.redis_url is None:
        text = "each host counts a user's calls for itself: with several gateways a user may do as much at each of them"
        return Finding("limits", "ok", f"{text}; MCPIST_REDIS_URL has them count together")
    from server.valkey_limits import find_limit_store_problem

    try:
        problem = await find_limit_store_problem(settings)
    except Invalid as error:
        return Finding("limits", "error", str(error))
    if problem:
        return Finding("limits", "warning", f"{problem}; until then each process counts its share of them")
    return Finding("limits", "ok", "all processes count a user's calls together, through MCPIST_REDIS_URL")


async def _find_lasting_reason(mcp_url: str) -> str:
    """Find why the product is not ready, for some seconds: on a busy machine a part is slow for a moment."""
    for _ in range(READY_LOOKS - 1):
        if not (reason := await find_unready_reason(mcp_url)):
            return reason
        await asyncio.sleep(READY_PAUSE_SECONDS)
    return await find_unready_reason(mcp_url)


async def _check_port(settings: Settings) -> Finding:
    server = find_running_server(settings.home)
    if server is not None:
        reason = await _find_lasting_reason(server.mcp_url)
        if not reason:
            return Finding("product", "ok", f"running and ready: {server.mcp_url}")
        text = f"process {server.pid} runs and is not ready at {server.mcp_url} ({reason}); `mcpist logs` shows its log"
        return Finding("product", "error", text)
    try:
        with socket.create_server((settings.host, settings.port)):
            return Finding("product", "warning", f"not running; port {settings.port} is free for `mcpist up`")
    except OSError as error:
        return Finding("product", "error", f"not running, and {build_port_error(settings, error)}")


async def diagnose_deployment(settings: Settings, deployment: Deployment) -> list[Finding]:
    """Check what belongs to no tenant, for a deployment that is in use. The audit log's chains are not verified."""
    findings = [check_folder(settings), *check_keys(settings), *check_files(settings)]
    findings += [finding async for finding in _diagnose_server(deployment)]
    if any(finding.check == "schema" and finding.state != "ok" for finding in findings):
        return findings
    async with open_role_database(deployment, CONSOLE_ROLE, max_connections=2) as console:
        findings += [
            _check_sealer_lag(await _count_unsealed_events(deployment)),
            _describe_retention(await AuditRetentionStore(console, settings.audit_keep_months).fetch()),
            *await check_vault(deployment, console),
            await _check_jobs(console),
            await _check_tenants(console),
        ]
    return findings


async def _diagnose_database(deployment: Deployment, public_url: str) -> AsyncGenerator[Finding]:
    async for finding in _diagnose_server(deployment):
        yield finding
        if finding.check == "schema" and finding.state != "ok":
            return
    unsealed = await _count_unsealed_events(deployment)
    # Not as `opened` does it: that makes missing keys.
    async with open_role_database(deployment, CONSOLE_ROLE, max_connections=2) as console:
        yield await _check_audit(console, unsealed)
        yield _check_installed_modules()
        yield await _check_jobs(console)
        for tenant in await list_tenants(console):
            for finding in await check_services(console, tenant):
                yield finding
        for finding in await check_vault(deployment, console):
            yield finding
        for finding in await check_credentials(deployment, console, load_installed_modules(), public_url):
            yield finding
        for finding in await check_audit_streams(deployment, console, get_utc_now()):
            yield finding
        yield await _check_tenants(console)


async def _diagnose_server(deployment: Deployment) -> AsyncGenerator[Finding]:
    """Check the database server, and the schema's version."""
    connection = await connect(deployment.admin)
    try:
        release: str = await connection.fetchval("SHOW server_version")
        yield Finding("database", "ok", say("PostgreSQL {release}", "PostgreSQL {release} を使用中", release=release))
        yield _check_clock(await connection.fetchval("SELECT clock_timestamp()"))
        current = await get_current_revision(connection)
        if (disk := await _check_database_disk(connection)) is not None:
            yield disk
        schema = _check_schema(current, is_served=current is not None and await is_compatible(connection, current))
        yield schema
        if schema.state == "error":
            return
        yield await _check_search(connection)
    finally:
        await connection.close()
    for role in LOGIN_ROLES:
        yield await _check_role(deployment, role)
    for finding in await _check_peppers(deployment):
        yield finding
    if (finding := await _check_digest_key(deployment)) is not None:
        yield finding


async def _check_database_disk(connection: Any) -> Finding | None:
    """Look for room by a table that is rolled back: PostgreSQL has no function that tells how full its disk is."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(_TAKE_ROOM)
    except asyncpg.DiskFullError:
        text = say(
            "the disk of the database server is full: free space there, or enlarge it; nothing has to be restarted",
            "データベースサーバーのディスクに空きがありません。空きを作るか拡張してください。再起動は不要です",
        )
        return Finding("database disk", "error", text)
    except asyncpg.PostgresError:
        return None  # no right to make tables, or a limit: calls tell when there is no room
    finally:
        await transaction.rollback()
    return None


async def _count_unsealed_events(deployment: Deployment) -> int:
    connection = await connect(deployment.admin)
    try:
        return await connection.fetchval("SELECT count(*) FROM audit.incoming")
    finally:
        await connection.close()


async def _check_peppers(deployment: Deployment) -> list[Finding]:
    try:
        async with open_role_database(deployment, BROKER_ROLE, max_connections=1) as database:
            problem = await find_pepper_problem(database, deployment.peppers)
    except (MCPistError, asyncpg.PostgresError, OSError):
        return []  # the check of that role, or of its files, says why
    if problem:
        return [Finding("token keys", "error", problem)]
    if deployment.peppers.exists():
        return []
    none_yet = say("none yet; the first token makes them", "まだありません。最初のトークンとともに作成されます")
    return [Finding("token keys", "warning", none_yet)]


async def _check_digest_key(deployment: Deployment) -> Finding | None:
    try:
        async with open_role_database(deployment, CONSOLE_ROLE, max_connections=1) as database:
            problem = await find_digest_key_problem(database, deployment.digest_key, deployment.digest_key_path)
    except (MCPistError, asyncpg.PostgresError, OSError):
        return None  # the check of that role says why
    return None if problem is None else Finding("digest key", "error", problem)


def _check_clock(database_time: datetime) -> Finding:
    skew = abs((get_utc_now() - database_time).total_seconds())
    if skew > MAX_CLOCK_SKEW:
        return Finding(
            "clock",
            "error",
            say(
                "the database's differs from this machine's by {skew:.0f} s; set up time sync",
                "データベースの時計がこのマシンと {skew:.0f} 秒ずれています。時刻同期を設定してください",
                skew=skew,
            ),
        )
    return Finding("clock", "ok", f"{get_utc_now().astimezone().isoformat(sep=' ', timespec='seconds')}")


def _check_schema(current: str | None, *, is_served: bool) -> Finding:
    if is_served:
        return Finding(
            "schema",
            "warning",
            say(
                "{current}, of a newer MCPist, which this version ({head}) can serve; upgrade the rest soon",
                "{current} は新しい MCPist のものです。このバージョン（{head}）でも動作します。早めに更新してください",
                current=current,
                head=get_head_revision(),
            ),
        )
    if current == get_head_revision():
        return Finding("schema", "ok", say("{current}, the newest", "{current}（最新）", current=current))
    if current is None:
        return Finding(
            "schema",
            "error",
            say(
                "the database is empty; run `mcpist up` or `mcpist migrate`",
                "データベースが空です。`mcpist up` または `mcpist migrate` を実行してください",
            ),
        )
    if current in list_revisions():
        return Finding(
            "schema",
            "error",
            say(
                "{current}, and this version needs {head}; run `mcpist migrate`",
                "{current} です。このバージョンには {head} が必要です。`mcpist migrate` を実行してください",
                current=current,
                head=get_head_revision(),
            ),
        )
    return Finding(
        "schema",
        "error",
        say(
            "{current}, newer than this MCPist knows; start the newer version",
            "{current} は、この MCPist より新しいものです。新しいバージョンを起動してください",
            current=current,
        ),
    )


async def _check_search(connection: Any) -> Finding:
    """Report where documents cannot be searched, for want of pgvector or of the tables that need it."""
    version: str | None = await connection.fetchval(PGVECTOR_QUERY)
    if await has_search_schema(connection):
        return Finding("search", "ok", say("pgvector {version}", "pgvector {version} を使用中", version=version or ""))
    if is_pgvector_usable(version):
        text = say(
            "pgvector is there, and its tables are not yet: run `mcpist migrate`",
            "pgvector はありますが、検索用のテーブルがまだありません。`mcpist migrate` を実行してください",
        )
    else:
        text = say(
            "documents and memos are off: the database has no pgvector 0.8 or newer. As a superuser, run "
            "CREATE EXTENSION vector there, then `mcpist migrate`",
            "ドキュメントとメモは使用できません。データベースに pgvector 0.8 以降がありません。スーパーユーザーで "
            "CREATE EXTENSION vector を実行し、その後 `mcpist migrate` を実行してください",
        )
    return Finding("search", "warning", text)


async def _check_role(deployment: Deployment, role: str) -> Finding:
    try:
        async with open_role_database(deployment, role, max_connections=1) as database:
            await database.ping()
    except LoginRefused as error:
        return Finding(f"role {role}", "error", explain_refused_login(error.__cause__ or error))
    except (MCPistError, asyncpg.PostgresError, OSError) as error:
        return Finding(
            f"role {role}",
            "error",
            say("cannot log in ({name})", "ログインできません（{name}）", name=type(error).__name__),
        )
    return Finding(f"role {role}", "ok", say("can log in", "ログインできます"))


async def _check_audit(console: Database, unsealed: int) -> Finding:
    heads = await list_anchors(console)
    broken_chains = [
        verification
        for verification in [await verify_chain(console, head.tenant_id) for head in heads]
        if not verification.ok
    ]
    if broken_chains:
        message = f"{len(broken_chains)} of {len(heads)} chains are broken; `mcpist audit verify` names the events"
        return Finding("audit log", "error", message)
    lag = _check_sealer_lag(unsealed)
    if lag.state != "ok":
        return lag
    message = f"{sum(head.seq for head in heads)} events in {len(heads)} whole chains; {lag.message}"
    return Finding("audit log", "ok", message)


def _check_sealer_lag(unsealed: int) -> Finding:
    message = say("{count} records wait to be sealed", "封印待ちの記録 {count} 件", count=unsealed)
    if unsealed > MAX_UNSEALED_EVENTS:
        return Finding(
            "audit log",
            "error",
            say(
                "{waiting}: the sealer does not keep up; see the log of `mcpist up`",
                "{waiting}。封印が追いついていません。`mcpist up` のログを確認してください",
                waiting=message,
            ),
        )
    return Finding("audit log", "ok", message)


def _describe_retention(retention: AuditRetention) -> Finding:
    """Tell how long the audit log is kept: a decision of the operator, and never wrong by itself."""
    if retention.keep_months is None:
        text = say(
            "everything is kept; `mcpist audit retention set` or MCPIST_AUDIT_KEEP_MONTHS sets after how many months "
            "the product deletes it",
            "すべて保存しています。削除までの月数は `mcpist audit retention set` か MCPIST_AUDIT_KEEP_MONTHS で"
            "設定できます",
        )
        return Finding("audit log retention", "ok", text)
    text = say(
        "older than {months} whole months is deleted ({source})",
        "{months} か月より前の記録は削除されます（{source}）",
        months=retention.keep_months,
        source="MCPIST_AUDIT_KEEP_MONTHS" if retention.is_default else "`mcpist audit retention`",
    )
    return Finding("audit log retention", "ok", text)


def _check_installed_modules() -> Finding:
    titles = load_module_titles(load_installed_modules()).values()
    text = say("installed: {names}", "インストール済み：{names}", names=join_names(titles))
    return Finding("modules", "ok", text if titles else say("none is installed", "インストールされていません"))


async def check_services(console: Database, tenant: Tenant) -> list[Finding]:
    """Report the services of a tenant whose module is not installed."""
    names = {module.name for module in load_installed_modules().modules}
    services = await list_services(console, tenant.id)
    missing = [service.module for service in services if service.enabled and service.module not in names]
    if not missing:
        return []
    return [
        Finding(
            "modules",
            "warning",
            say(
                "{tenant} has {names} enabled, but not installed",
                "{tenant} で有効な {names} がインストールされていません",
                tenant=tenant.slug,
                names=", ".join(missing),
            ),
        )
    ]


async def _check_jobs(console: Database) -> Finding:
    """Report jobs that wait while no worker runs: they would wait for ever, and nothing fails."""
    if await console.call("SELECT jobs.lacks_worker()"):
        text = say(
            "jobs wait, and no worker runs: start `mcpist up` or `mcpist worker`, with MCPIST_JOBS_AT_ONCE above 0",
            "待機中のジョブがありますが、実行するワーカーがありません。MCPIST_JOBS_AT_ONCE を 1 以上にして "
            "`mcpist up` か `mcpist worker` を起動してください",
        )
        return Finding("jobs", "warning", text)
    if await console.call("SELECT jobs.has_worker()"):
        return Finding("jobs", "ok", say("a worker runs", "ワーカーが動作中です"))
    return Finding(
        "jobs", "ok", say("no worker runs, and no job waits", "ワーカーは停止中で、待機中のジョブはありません")
    )


async def _check_tenants(console: Database) -> Finding:
    tenants = await list_tenants(console)
    if not tenants:
        return Finding(
            "tenants",
            "warning",
            say(
                "none yet; `mcpist up` makes the first one", "まだありません。`mcpist up` が最初のテナントを作成します"
            ),
        )
    suspended = [tenant.slug for tenant in tenants if tenant.status != "active"]
    return Finding("tenants", "ok", _describe_tenants(len(tenants), suspended))


def _describe_tenants(count: int, suspended: list[str]) -> BilingualText:
    if not suspended:
        return say("{count}", "{count}", count=count)
    return say("{count}, suspended: {names}", "{count}、停止中：{names}", count=count, names=", ".join(suspended))


def _ignore_progress(_line: str) -> None:
    """Ignore progress: the findings are the output."""
