"""The check-up's look at the vault: its keys, and how each stored credential stands."""

import shlex
from collections.abc import AsyncGenerator
from uuid import UUID

from broker.connections.connection_health import ConnectionHealth
from broker.connections.connection_status import HealthState, ResponsibleParty
from broker.connections.stored_credentials import StoredCredential, UnconnectedModule
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.vault.deployment_guard import DEPLOYMENT_ID_FILE, get_adoption_state
from core.db import Database
from core.directory.services import list_services
from core.directory.tenants import Tenant, list_tenants
from core.errors import Invalid
from core.module_manifest import list_vendor_manifests
from gateway.catalogue import Catalogue
from gateway.module_manifests import build_module_manifests
from server.deployment import Deployment
from server.diagnostics.finding import Finding
from server.diagnostics.vault_key_report import KeyReport, VaultKeys, inspect_vault_keys
from server.role_database import BROKER_ROLE, open_role_database
from server.vault_keys import get_id_file_path

MAX_SHOWN_CREDENTIALS = 50
PAGE_SIZE = 500
NOT_CONNECTED_TEXT = "no account is connected yet"


async def check_vault(deployment: Deployment, console: Database) -> list[Finding]:
    """Check that every key that stored credentials need is available, and that this deployment is the original."""
    return [await _check_original(deployment), *await _check_vault_keys(deployment, console)]


async def _check_original(deployment: Deployment) -> Finding:
    """Check whether outgoing requests to services are allowed; no deployment id is assigned here."""
    try:
        async with open_role_database(deployment, BROKER_ROLE, max_connections=1) as broker:
            is_adopted = await get_adoption_state(broker, get_id_file_path(deployment))
    except Invalid as error:
        return Finding("deployment", "error", str(error))
    if is_adopted is None:
        return Finding("deployment", "warning", "never started; the first start assigns its id")
    if is_adopted:
        return Finding("deployment", "ok", "the original: requests to vendors are allowed")
    message = (
        "a copy of another deployment's database: it sends no requests to vendors and hands out no tokens. Once the "
        "original is stopped for good: mcpist adopt; on a second machine of the same deployment, "
        f"copy {DEPLOYMENT_ID_FILE} from the first one's data folder"
    )
    return Finding("deployment", "error", message)


async def _check_vault_keys(deployment: Deployment, console: Database) -> list[Finding]:
    try:
        keys = await inspect_vault_keys(deployment, console)
    except Invalid as error:
        return [Finding("vault keys", "error", str(error))]
    if keys.error:
        return [Finding("vault keys", "error", f"{', '.join(keys.key_providers)}: {keys.error}")]
    unhealthy = [key for key in keys.keys if not key.healthy]
    if unhealthy:
        return [
            Finding("vault keys", "error", f"the key {key.kek_id}, {_describe_need(key)}, is {key.message}")
            for key in unhealthy
        ]
    return [_summarize_keys(keys)]


def _summarize_keys(keys: VaultKeys) -> Finding:
    active = next((key for key in keys.keys if key.active), None)
    if active is None:
        return Finding("vault keys", "warning", "none yet; the first start makes one")
    needed = sum(key.in_use for key in keys.keys)
    location = str(keys.file) if keys.key_providers == ("file",) else ", ".join(keys.key_providers)
    message = (
        f"{len(keys.keys)} in {location}, {active.kek_id} active, {needed} needed and available; not part of backups"
    )
    return Finding("vault keys", "ok", message)


def _describe_need(key: KeyReport) -> str:
    """Describe what cannot be decrypted without the key."""
    if key.tenants:
        return "needed by one tenant" if key.tenants == 1 else f"needed by {key.tenants} tenants"
    return (
        "needed by the keys that sign access tokens, or by settings of the deployment"
        if key.signing_keys
        else "needed to start"
    )


async def check_credentials(
    deployment: Deployment, console: Database, catalogue: Catalogue, public_url: str
) -> list[Finding]:
    """Report the status of each credential, those that need attention first; those beyond the first fifty are
    counted."""
    findings: list[Finding] = []
    async with open_role_database(deployment, BROKER_ROLE, max_connections=1) as broker:
        for tenant in await list_tenants(console):
            findings += await check_tenant_credentials(broker, console, tenant, catalogue, public_url)
    return limit_credential_findings(findings)


async def check_tenant_credentials(
    broker: Database,
    console: Database,
    tenant: Tenant,
    catalogue: Catalogue,
    public_url: str,
    user_id: UUID | None = None,
) -> list[Finding]:
    """Report the status of each credential of a tenant and the services without a connected account, or only those that
    a user may use."""
    manifests = list_vendor_manifests(build_module_manifests(catalogue))
    doctor = ConnectionHealth(ProviderRegistry(load_builtin_providers()), manifests)
    statuses = [status async for status in _iterate_statuses(broker, doctor, tenant.id, user_id)]
    enabled = {service.module for service in await list_services(console, tenant.id) if service.enabled}
    findings = [_check_credential(tenant, status, enabled, catalogue, public_url) for status in statuses]
    if user_id is None:
        findings += _check_unconnected(tenant, enabled - {status.module for status in statuses}, catalogue, public_url)
    return findings


def limit_credential_findings(findings: list[Finding]) -> list[Finding]:
    """Keep the first fifty findings, those that need action first and unconnected services last; count the others."""
    findings = sorted(findings, key=lambda finding: (NOT_CONNECTED_TEXT in finding.message, finding.state == "ok"))
    if len(findings) > MAX_SHOWN_CREDENTIALS:
        omitted = len(findings) - MAX_SHOWN_CREDENTIALS
        message = f"and {omitted} more; `mcpist credential list --tenant SLUG` shows them all"
        findings[MAX_SHOWN_CREDENTIALS:] = [Finding("credential", "warning", message)]
    return findings


async def _iterate_statuses(
    broker: Database, doctor: ConnectionHealth, tenant_id: UUID, user_id: UUID | None
) -> AsyncGenerator[StoredCredential | UnconnectedModule]:
    """Yield all statuses of a tenant, however many: one that needs attention may be anywhere in the list."""
    after = None
    while True:
        async with broker.tenant(tenant_id) as work:
            if user_id is None:
                page = await doctor.list_for_tenant(work, after=after, limit=PAGE_SIZE)
            else:
                page = await doctor.list_for_user(work, user_id)
        for status in page:
            yield status
        if user_id is not None or len(page) < PAGE_SIZE:
            return
        after = page[-1].sort_key


def _check_unconnected(tenant: Tenant, modules: set[str], catalogue: Catalogue, public_url: str) -> list[Finding]:
    """Report the services with a vendor that have no connected account, in one finding."""
    unconnected = sorted(
        module.name for module in catalogue.modules if module.vendor is not None and module.name in modules
    )
    message = f"{tenant.slug}: {NOT_CONNECTED_TEXT} for {', '.join(unconnected)}; at {public_url}/connect"
    return [Finding("credential", "warning", message)] if unconnected else []


def _check_credential(
    tenant: Tenant,
    status: StoredCredential | UnconnectedModule,
    enabled: set[str],
    catalogue: Catalogue,
    public_url: str,
) -> Finding:
    if isinstance(status, UnconnectedModule):
        credential = f"{tenant.slug}: {status.module} of {status.owner}"
        message = f"{credential} is not connected; its owner connects it at {public_url}{status.link}"
        return Finding("credential", "warning", message)
    credential = f"{tenant.slug}: {status.module} of {'role ' if status.kind == 'shared' else ''}{status.owner}"
    if status.state is not HealthState.CONNECTED:
        return Finding(
            "credential",
            "warning",
            f"{credential} {_STATE_TEXTS[status.state]}{_format_meaning(status)}"
            f"{_format_remedy(tenant, status, public_url)}",
        )
    if status.module not in catalogue.tools:
        return Finding("credential", "warning", f"{credential} is not used: the module is not installed")
    if status.module not in enabled:
        message = f"{credential} is not used: mcpist service enable {status.module} --tenant {tenant.slug}"
        return Finding("credential", "warning", message)
    return Finding("credential", "ok", f"{credential} is connected{f' as {status.account}' if status.account else ''}")


def _format_meaning(status: StoredCredential) -> str:
    return f", {status.message}" if status.message else ""


def _format_remedy(tenant: Tenant, status: StoredCredential, public_url: str) -> str:
    if status.state is HealthState.NEEDS_RECONNECT and not status.provider:
        option = "--role" if status.kind == "shared" else "--user"
        command = f"mcpist credential set {status.module} {option} {shlex.quote(status.owner)} --tenant {tenant.slug}"
        return f"; make a new one there, then: {command}"
    if status.state is HealthState.NEEDS_RECONNECT:
        responsible = "an administrator" if status.responsible is ResponsibleParty.ADMINISTRATOR else "its owner"
        return f"; {responsible} connects it again at {public_url}{status.link}"
    if status.state is HealthState.SERVICE_MISCONFIGURED:
        return f"; an administrator looks at it: mcpist oauth-client list --tenant {tenant.slug}"
    return f"; asked again at {status.next_retry_at:%Y-%m-%d %H:%M %Z}" if status.next_retry_at else ""


_STATE_TEXTS = {
    HealthState.REFRESHING: "is being renewed",
    HealthState.NEEDS_RECONNECT: "is broken",
    HealthState.SERVICE_MISCONFIGURED: "waits: the vendor refuses the OAuth client",
    HealthState.REFUSED: "waits",
    HealthState.VENDOR_DOWN: "waits",
    HealthState.DISABLED: "is switched off",
}
