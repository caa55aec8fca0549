"""Look at everything that can be wrong with a data folder and its database. Nothing is changed or created."""

import contextlib
import socket
import stat
from collections.abc import AsyncGenerator
from datetime import datetime

import asyncpg

from core.audit.query import list_anchors
from core.audit.verification import verify_chain
from core.config.settings import Settings
from core.db import Database, connect
from core.directory.services import list_services
from core.directory.tenants import Tenant, list_tenants
from core.disk_errors import MIN_FREE_BYTES, explain_full_disk, get_free_bytes, is_read_only
from core.errors import Invalid, MCPistError, Unavailable
from core.migrations import LOGIN_ROLES, get_current_revision, get_head_revision, list_revisions
from gateway.catalogue import load_installed_modules
from gateway.observability.metrics_server import open_metrics_socket
from server.data_folder import attach_database
from server.deployment import DIGEST_KEY_FILE, KEYS_FOLDER, PASSWORDS_FILE, Deployment
from server.diagnostics.finding import Finding
from server.diagnostics.stream_checks import check_audit_streams
from server.diagnostics.vault_checks import check_credentials, check_vault
from server.endpoint_file import find_running_server, is_answering
from server.listen_port import build_port_error
from server.postgres.errors import PostgresError
from server.postgres.login_errors import explain_refused_login
from server.role_database import CONSOLE_ROLE, get_utc_now, open_role_database
from server.start_files import list_start_files

LOW_FREE_BYTES = 512 * 1024 * 1024
MAX_UNSEALED_EVENTS = 10_000
MAX_CLOCK_SKEW = 5.0
_REQUIRED_CHECKS = frozenset({"data folder", "keys"})
"""What the database cannot be opened without."""


async def diagnose(settings: Settings) -> list[Finding]:
    """Run all checks, in the order in which one depends on another."""
    base = [_check_folder(settings), *_check_keys(settings)]
    findings = [*base, *_check_files(settings), await _check_port(settings), *_check_metrics(settings)]
    if not settings.home.is_dir() or any(
        finding.state == "error" and finding.check in _REQUIRED_CHECKS for finding in findings
    ):
        return findings
    try:
        async with attach_database(settings, _ignore_progress) as deployment:
            return findings + [finding async for finding in _diagnose_database(deployment, settings.public_url)]
    except (PostgresError, MCPistError) as error:
        return [*findings, Finding("database", "error", str(error))]
    except asyncpg.InvalidPasswordError as error:
        return [*findings, Finding("database", "error", explain_refused_login(error))]
    except (OSError, asyncpg.PostgresError) as error:
        return [*findings, Finding("database", "error", f"it cannot be reached ({type(error).__name__})")]


def _check_folder(settings: Settings) -> Finding:
    home = settings.home
    if not home.is_dir():
        return Finding("data folder", "error", f"{home} does not exist; `mcpist up` makes it")
    if home.stat().st_mode & 0o022:
        return Finding("data folder", "error", f"others can write to {home}; run: chmod go-w '{home}'")
    if is_read_only(home):
        message = f"{home} is on a read-only file system: make it writable, or choose another MCPIST_HOME"
        return Finding("data folder", "error", message)
    free = get_free_bytes(home)
    if free < MIN_FREE_BYTES:
        return Finding("data folder", "error", explain_full_disk(home))
    if free < LOW_FREE_BYTES:
        return Finding("data folder", "error", f"{home} has only {free >> 20} MiB of free space left")
    return Finding("data folder", "ok", f"{home}, {free >> 30} GiB free")


def _check_keys(settings: Settings) -> list[Finding]:
    """Check the keys' folder; its files that a start reads have findings of their own."""
    home, folder = settings.home, settings.home / KEYS_FOLDER
    if not folder.is_dir():
        if not (home / "postgres" / "data").exists():
            return [Finding("keys", "warning", "none yet; the first start makes them")]
        return [Finding("keys", "error", f"{folder} is missing; restore it from your copy")]
    paths = {folder, *folder.iterdir()} - {file.path for file in list_start_files(settings)}
    open_to_all = sorted(path for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077)
    if open_to_all:
        return [
            Finding("keys", "error", f"{path} can be read by others; run: chmod go= '{path}'") for path in open_to_all
        ]
    missing = [name for name in (PASSWORDS_FILE, DIGEST_KEY_FILE) if not (folder / name).exists()]
    if missing:
        return [Finding("keys", "error", f"{', '.join(missing)} missing in {folder}; restore it from your copy")]
    return [Finding("keys", "ok", f"{folder}, readable by its owner only; not part of backups")]


def _check_files(settings: Settings) -> list[Finding]:
    """Check the files that a start reads, each as the start reads it."""
    findings: list[Finding] = []
    for file in list_start_files(settings):
        try:
            file.read()
        except Invalid as error:
            findings.append(Finding(file.check, "error", str(error)))
        else:
            findings.append(Finding(file.check, "ok", f"{file.path} can be used"))
    return findings


def _check_metrics(settings: Settings) -> list[Finding]:
    if not settings.metrics_port or find_running_server(settings.home) is not None:
        return []
    try:
        with contextlib.closing(open_metrics_socket(settings.metrics_host, settings.metrics_port)):
            return [Finding("metrics", "ok", f"port {settings.metrics_port} is free")]
    except Unavailable as error:
        return [Finding("metrics", "error", str(error))]


async def _check_port(settings: Settings) -> Finding:
    server = find_running_server(settings.home)
    if server is not None:
        if await is_answering(server.mcp_url, "/readyz"):
            return Finding("product", "ok", f"running and ready: {server.mcp_url}")
        return Finding(
            "product", "error", f"process {server.pid} runs and is not ready at {server.mcp_url}; see its log"
        )
    try:
        with socket.create_server((settings.host, settings.port)):
            return Finding("product", "warning", f"not running; port {settings.port} is free for `mcpist up`")
    except OSError as error:
        return Finding("product", "error", f"not running, and {build_port_error(settings, error)}")


async def diagnose_deployment(settings: Settings, deployment: Deployment) -> list[Finding]:
    """Check what belongs to no tenant, for a deployment that is in use. The audit log's chains are not verified."""
    findings = [_check_folder(settings), *_check_keys(settings), *_check_files(settings)]
    findings += [finding async for finding in _diagnose_server(deployment)]
    if any(finding.check == "schema" and finding.state != "ok" for finding in findings):
        return findings
    async with open_role_database(deployment, CONSOLE_ROLE, max_connections=2) as console:
        findings += [
            _check_sealer_lag(await _count_unsealed_events(deployment)),
            *await check_vault(deployment, console),
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
        yield Finding("database", "ok", f"PostgreSQL {release}")
        yield _check_clock(await connection.fetchval("SELECT clock_timestamp()"))
        schema = _check_schema(await get_current_revision(connection))
        yield schema
        if schema.state != "ok":
            return
        if not deployment.peppers.exists():
            yield _check_peppers(deployment, await connection.fetchval("SELECT count(*) FROM auth.api_tokens"))
    finally:
        await connection.close()
    for role in LOGIN_ROLES:
        yield await _check_role(deployment, role)


async def _count_unsealed_events(deployment: Deployment) -> int:
    connection = await connect(deployment.admin)
    try:
        return await connection.fetchval("SELECT count(*) FROM audit.incoming")
    finally:
        await connection.close()


def _check_peppers(deployment: Deployment, tokens: int) -> Finding:
    if tokens:
        message = f"{deployment.peppers} is missing, and no API token works without it; restore it from your copy"
        return Finding("token keys", "error", message)
    return Finding("token keys", "warning", "none yet; the first token makes them")


def _check_clock(database_time: datetime) -> Finding:
    skew = abs((get_utc_now() - database_time).total_seconds())
    if skew > MAX_CLOCK_SKEW:
        return Finding(
            "clock", "error", f"the database's differs from this machine's by {skew:.0f} s; set up time sync"
        )
    return Finding("clock", "ok", f"{get_utc_now().astimezone().isoformat(sep=' ', timespec='seconds')}")


def _check_schema(current: str | None) -> Finding:
    if current == get_head_revision():
        return Finding("schema", "ok", f"{current}, the newest")
    if current is None:
        return Finding("schema", "error", "the database is empty; run `mcpist up` or `mcpist migrate`")
    if current in list_revisions():
        return Finding(
            "schema", "error", f"{current}, and this version needs {get_head_revision()}; run `mcpist migrate`"
        )
    return Finding("schema", "error", f"{current}, newer than this MCPist knows; start the newer version")


async def _check_role(deployment: Deployment, role: str) -> Finding:
    try:
        async with open_role_database(deployment, role, max_connections=1) as database:
            await database.call("SELECT true")
    except asyncpg.InvalidPasswordError as error:
        return Finding(f"role {role}", "error", explain_refused_login(error))
    except (MCPistError, asyncpg.PostgresError, OSError) as error:
        return Finding(f"role {role}", "error", f"cannot log in ({type(error).__name__})")
    return Finding(f"role {role}", "ok", "can log in")


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
    message = f"{unsealed} records wait to be sealed"
    if unsealed > MAX_UNSEALED_EVENTS:
        return Finding("audit log", "error", f"{message}: the sealer does not keep up; see the log of `mcpist up`")
    return Finding("audit log", "ok", message)


def _check_installed_modules() -> Finding:
    names = [module.name for module in load_installed_modules().modules]
    return Finding("modules", "ok", f"installed: {', '.join(names) or 'none'}")


async def check_services(console: Database, tenant: Tenant) -> list[Finding]:
    """Report the services of a tenant whose module is not installed."""
    names = {module.name for module in load_installed_modules().modules}
    services = await list_services(console, tenant.id)
    missing = [service.module for service in services if service.enabled and service.module not in names]
    if not missing:
        return []
    return [Finding("modules", "warning", f"{tenant.slug} has {', '.join(missing)} enabled, but not installed")]


async def _check_tenants(console: Database) -> Finding:
    tenants = await list_tenants(console)
    if not tenants:
        return Finding("tenants", "warning", "none yet; `mcpist up` makes the first one")
    suspended = [tenant.slug for tenant in tenants if tenant.status != "active"]
    return Finding("tenants", "ok", f"{len(tenants)}" + (f", suspended: {', '.join(suspended)}" if suspended else ""))


def _ignore_progress(_line: str) -> None:
    """Ignore progress: the findings are the output."""
