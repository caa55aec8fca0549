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
NOT_CONNECTED_TEXT = "nobody has connected an account yet"


async def check_vault(deployment: Deployment, console: Database) -> list[Finding]:
    """Check that every key that stored credentials need is available, and that this deployment is the original."""
    return [await _check_original(deployment), *await _check_vault_keys(deployment, console)]


async def _check_original(deployment: Deployment) -> Finding:
    """Check whether outgoing requests to services are allowed; no deployment id is assigned here."""
    try:
        async with open_role_database(deployment, BROKER_ROLE, most=1) as broker:
            standing = await get_adoption_state(broker, get_id_file_path(deployment))
    except Invalid as error:
        return Finding("deployment", "error", str(error))
    if standing is None:
        return Finding("deployment", "warning", "never started; the first start assigns its id")
    if standing:
        return Finding("deployment", "ok", "the original: requests to vendors are allowed")
    told = (
        "a copy of another deployment's database: it sends no requests to vendors and hands out no tokens. Once the "
        "original is stopped for good: mcpist adopt; on a second machine of the same deployment, "
        f"copy {DEPLOYMENT_ID_FILE} from the first one's data folder"
    )
    return Finding("deployment", "error", told)


async def _check_vault_keys(deployment: Deployment, console: Database) -> list[Finding]:
    try:
        found = await inspect_vault_keys(deployment, console)
    except Invalid as error:
        return [Finding("vault keys", "error", str(error))]
    if found.error:
        return [Finding("vault keys", "error", f"{', '.join(found.key_providers)}: {found.error}")]
    wrong = [key for key in found.keys if not key.healthy]
    if wrong:
        return [
            Finding("vault keys", "error", f"the key {key.kek_id}, {_describe_need(key)}, is {key.message}")
            for key in wrong
        ]
    return [_summarize_keys(found)]


def _summarize_keys(found: VaultKeys) -> Finding:
    active = next((key for key in found.keys if key.active), None)
    if active is None:
        return Finding("vault keys", "warning", "none yet; the first start makes one")
    needed = sum(key.in_use for key in found.keys)
    where = str(found.file) if found.key_providers == ("file",) else ", ".join(found.key_providers)
    told = f"{len(found.keys)} in {where}, {active.kek_id} active, {needed} needed and available; not part of backups"
    return Finding("vault keys", "ok", told)


def _describe_need(key: KeyReport) -> str:
    """Describe what cannot be decrypted without the key."""
    if key.tenants:
        return "needed by one tenant" if key.tenants == 1 else f"needed by {key.tenants} tenants"
    return "needed by the keys that sign access tokens" if key.signing_keys else "needed to start"


async def check_credentials(
    deployment: Deployment, console: Database, catalogue: Catalogue, public_url: str
) -> list[Finding]:
    """Report the status of each credential, those that need attention first; those beyond the first fifty are
    counted."""
    found: list[Finding] = []
    async with open_role_database(deployment, BROKER_ROLE, most=1) as broker:
        for tenant in await list_tenants(console):
            found += await check_tenant_credentials(broker, console, tenant, catalogue, public_url)
    return limit_credential_findings(found)


async def check_tenant_credentials(
    broker: Database,
    console: Database,
    tenant: Tenant,
    catalogue: Catalogue,
    public_url: str,
    user_id: UUID | None = None,
) -> list[Finding]:
    """Report the status of each credential of a tenant and the services that nobody has connected, or only those that a
    user may use."""
    manifests = list_vendor_manifests(build_module_manifests(catalogue))
    doctor = ConnectionHealth(ProviderRegistry(load_builtin_providers()), manifests)
    listed = [one async for one in _iterate_statuses(broker, doctor, tenant.id, user_id)]
    enabled = {one.module for one in await list_services(console, tenant.id) if one.enabled}
    found = [_check_credential(tenant, one, enabled, catalogue, public_url) for one in listed]
    if user_id is None:
        found += _check_unconnected(tenant, enabled - {one.module for one in listed}, catalogue, public_url)
    return found


def limit_credential_findings(found: list[Finding]) -> list[Finding]:
    """The first fifty of credentials, what needs somebody first, what nobody has begun with last; the others are
    counted."""
    found = sorted(found, key=lambda finding: (NOT_CONNECTED_TEXT in finding.message, finding.state == "ok"))
    if len(found) > MAX_SHOWN_CREDENTIALS:
        rest = len(found) - MAX_SHOWN_CREDENTIALS
        told = f"and {rest} more; `mcpist credential list --tenant SLUG` shows them all"
        found[MAX_SHOWN_CREDENTIALS:] = [Finding("credential", "warning", told)]
    return found


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
        for one in page:
            yield one
        if user_id is not None or len(page) < PAGE_SIZE:
            return
        after = page[-1].sort_key


def _check_unconnected(tenant: Tenant, modules: set[str], catalogue: Catalogue, public_url: str) -> list[Finding]:
    """Services with a vendor that nobody has connected an account for, in one line."""
    wanting = sorted(one.name for one in catalogue.modules if one.vendor is not None and one.name in modules)
    told = f"{tenant.slug}: {NOT_CONNECTED_TEXT} for {', '.join(wanting)}; at {public_url}/connect"
    return [Finding("credential", "warning", told)] if wanting else []


def _check_credential(
    tenant: Tenant, one: StoredCredential | UnconnectedModule, enabled: set[str], catalogue: Catalogue, public_url: str
) -> Finding:
    if isinstance(one, UnconnectedModule):
        who = f"{tenant.slug}: {one.module} of {one.owner}"
        told = f"{who} is not connected; its owner connects it at {public_url}{one.link}"
        return Finding("credential", "warning", told)
    who = f"{tenant.slug}: {one.module} of {'role ' if one.kind == 'shared' else ''}{one.owner}"
    if one.state is not HealthState.CONNECTED:
        return Finding(
            "credential",
            "warning",
            f"{who} {_STATE_TEXTS[one.state]}{_format_meaning(one)}{_format_remedy(tenant, one, public_url)}",
        )
    if one.module not in catalogue.tools:
        return Finding("credential", "warning", f"{who} is not used: the module is not installed")
    if one.module not in enabled:
        told = f"{who} is not used: mcpist service enable {one.module} --tenant {tenant.slug}"
        return Finding("credential", "warning", told)
    return Finding("credential", "ok", f"{who} is connected{f' as {one.account}' if one.account else ''}")


def _format_meaning(one: StoredCredential) -> str:
    return f", {one.message}" if one.message else ""


def _format_remedy(tenant: Tenant, one: StoredCredential, public_url: str) -> str:
    if one.state is HealthState.NEEDS_RECONNECT and not one.provider:
        option = "--role" if one.kind == "shared" else "--user"
        mend = f"mcpist credential set {one.module} {option} {shlex.quote(one.owner)} --tenant {tenant.slug}"
        return f"; make a new one there, then: {mend}"
    if one.state is HealthState.NEEDS_RECONNECT:
        mender = "an administrator" if one.responsible is ResponsibleParty.ADMINISTRATOR else "its owner"
        return f"; {mender} connects it again at {public_url}{one.link}"
    if one.state is HealthState.SERVICE_MISCONFIGURED:
        return f"; an administrator looks at it: mcpist oauth-client list --tenant {tenant.slug}"
    return f"; asked again at {one.next_retry_at:%Y-%m-%d %H:%M %Z}" if one.next_retry_at else ""


_STATE_TEXTS = {
    HealthState.REFRESHING: "is being renewed",
    HealthState.NEEDS_RECONNECT: "is broken",
    HealthState.SERVICE_MISCONFIGURED: "waits: the vendor refuses the OAuth client",
    HealthState.REFUSED: "waits",
    HealthState.VENDOR_DOWN: "waits",
    HealthState.DISABLED: "is switched off",
}
