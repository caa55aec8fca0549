"""The check-up's look at the vault: its keys, and how each stored credential stands."""

import shlex
from collections.abc import AsyncGenerator
from uuid import UUID

from broker.accounts.standing import Standing, State, Who
from broker.connect.doctor import Doctor
from broker.connect.provider_book import ProviderBook
from broker.providers.catalogue import own_providers
from broker.vault.deployment_guard import FILE, standing_of
from core.db import Database
from core.directory.services import list_services
from core.directory.tenants import Tenant, list_tenants
from core.errors import Invalid
from gateway.catalogue import Catalogue
from gateway.deployment import Deployment
from gateway.single.connecting import offered
from gateway.single.finding import Finding
from gateway.single.operator import BROKER, connected
from gateway.single.vault_access import id_file
from gateway.single.vault_keys import KeyReport, VaultKeys, vault_keys

MOST_SHOWN = 50
PAGE = 500
NOBODY = "nobody has connected an account yet"


async def vault_findings(deployment: Deployment, console: Database) -> list[Finding]:
    """Whether every key that stored credentials need is at hand, and whether this is the original."""
    return [await _original(deployment), *await _key_findings(deployment, console)]


async def _original(deployment: Deployment) -> Finding:
    """Whether services may be asked. Nothing is given an id here."""
    try:
        async with connected(deployment, BROKER, most=1) as broker:
            standing = await standing_of(broker, id_file(deployment))
    except Invalid as error:
        return Finding("deployment", "bad", str(error))
    if standing is None:
        return Finding("deployment", "note", "never started; the first start gives it its id")
    if standing:
        return Finding("deployment", "ok", "the original: services are asked")
    told = (
        "a copy of another's database: no service is asked, no token handed out. When the original runs no more: "
        f"mcpist adopt; on a second machine of the same deployment, copy {FILE} from the first one's data folder"
    )
    return Finding("deployment", "bad", told)


async def _key_findings(deployment: Deployment, console: Database) -> list[Finding]:
    try:
        found = await vault_keys(deployment, console)
    except Invalid as error:
        return [Finding("vault keys", "bad", str(error))]
    if found.trouble:
        return [Finding("vault keys", "bad", f"{', '.join(found.keepers)}: {found.trouble}")]
    wrong = [key for key in found.keys if not key.healthy]
    if wrong:
        return [Finding("vault keys", "bad", f"the key {key.kek_id}, {_need(key)}, is {key.told}") for key in wrong]
    return [_keys(found)]


def _keys(found: VaultKeys) -> Finding:
    active = next((key for key in found.keys if key.active), None)
    if active is None:
        return Finding("vault keys", "note", "none yet; the first start makes one")
    needed = sum(key.needed for key in found.keys)
    where = str(found.file) if found.keepers == ("file",) else ", ".join(found.keepers)
    told = f"{len(found.keys)} in {where}, {active.kek_id} active, {needed} needed and at hand; backups hold none"
    return Finding("vault keys", "ok", told)


def _need(key: KeyReport) -> str:
    """What cannot be opened without it."""
    if key.tenants:
        return "needed by one tenant" if key.tenants == 1 else f"needed by {key.tenants} tenants"
    return "needed by the keys that sign access tokens" if key.signing_keys else "needed to start"


async def credential_findings(
    deployment: Deployment, console: Database, catalogue: Catalogue, public_url: str
) -> list[Finding]:
    """How each credential stands, what needs somebody first; those beyond the first fifty are counted."""
    found: list[Finding] = []
    async with connected(deployment, BROKER, most=1) as broker:
        for tenant in await list_tenants(console):
            found += await credentials_of(broker, console, tenant, catalogue, public_url)
    return first_of(found)


async def credentials_of(
    broker: Database,
    console: Database,
    tenant: Tenant,
    catalogue: Catalogue,
    public_url: str,
    user_id: UUID | None = None,
) -> list[Finding]:
    """How each credential of a tenant stands and which services nobody has connected, or only what a user may use."""
    doctor = Doctor(ProviderBook(own_providers()), offered(catalogue))
    listed = [one async for one in _standings(broker, doctor, tenant.id, user_id)]
    enabled = {one.module for one in await list_services(console, tenant.id) if one.enabled}
    found = [_credential(tenant, one, enabled, catalogue, public_url) for one in listed]
    if user_id is None:
        found += _unconnected(tenant, enabled - {one.module for one in listed}, catalogue, public_url)
    return found


def first_of(found: list[Finding]) -> list[Finding]:
    """The first fifty of credentials, what needs somebody first, what nobody has begun with last; the others are
    counted."""
    found = sorted(found, key=lambda finding: (NOBODY in finding.told, finding.state == "ok"))
    if len(found) > MOST_SHOWN:
        rest = len(found) - MOST_SHOWN
        told = f"and {rest} more; `mcpist credential list --tenant SLUG` shows them all"
        found[MOST_SHOWN:] = [Finding("credential", "note", told)]
    return found


async def _standings(
    broker: Database, doctor: Doctor, tenant_id: UUID, user_id: UUID | None
) -> AsyncGenerator[Standing]:
    """All of a tenant's, however many: one that needs somebody is not passed over for its place in the list."""
    after = None
    while True:
        async with broker.tenant(tenant_id) as work:
            if user_id is None:
                page = await doctor.of_everyone(work, after=after, limit=PAGE)
            else:
                page = await doctor.of_person(work, user_id)
        for one in page:
            yield one
        if user_id is not None or len(page) < PAGE:
            return
        after = page[-1].key


def _unconnected(tenant: Tenant, modules: set[str], catalogue: Catalogue, public_url: str) -> list[Finding]:
    """Services with a vendor that nobody has connected an account for, in one line."""
    wanting = sorted(one.name for one in catalogue.modules if one.vendor is not None and one.name in modules)
    told = f"{tenant.slug}: {NOBODY} for {', '.join(wanting)}; at {public_url}/connect"
    return [Finding("credential", "note", told)] if wanting else []


def _credential(tenant: Tenant, one: Standing, enabled: set[str], catalogue: Catalogue, public_url: str) -> Finding:
    who = f"{tenant.slug}: {one.module} of {'role ' if one.kind == 'shared' else ''}{one.owner}"
    if one.state is not State.CONNECTED:
        return Finding("credential", "note", f"{who} {_TOLD[one.state]}{_why(one)}{_remedy(tenant, one, public_url)}")
    if one.module not in catalogue.tools:
        return Finding("credential", "note", f"{who} is not used: the module is not installed")
    if one.module not in enabled:
        told = f"{who} is not used: mcpist service enable {one.module} --tenant {tenant.slug}"
        return Finding("credential", "note", told)
    return Finding("credential", "ok", f"{who} is connected{f' as {one.account}' if one.account else ''}")


def _why(one: Standing) -> str:
    return f", {one.meaning}" if one.meaning else ""


def _remedy(tenant: Tenant, one: Standing, public_url: str) -> str:
    if one.state is State.NEEDS_RECONNECT and not one.provider:
        option = "--role" if one.kind == "shared" else "--user"
        mend = f"mcpist credential set {one.module} {option} {shlex.quote(one.owner)} --tenant {tenant.slug}"
        return f"; make a new one there, then: {mend}"
    if one.state is State.NEEDS_CONNECT:
        return f"; its owner connects it at {public_url}{one.link}"
    if one.state is State.NEEDS_RECONNECT:
        mender = "an administrator" if one.who is Who.ADMINISTRATOR else "its owner"
        return f"; {mender} connects it again at {public_url}{one.link}"
    if one.state is State.SERVICE_MISCONFIGURED:
        return f"; an administrator looks at it: mcpist oauth-client list --tenant {tenant.slug}"
    return f"; asked again at {one.again_at:%Y-%m-%d %H:%M %Z}" if one.again_at else ""


_TOLD = {
    State.NEEDS_CONNECT: "is not connected",
    State.REFRESHING: "is being renewed",
    State.NEEDS_RECONNECT: "is broken",
    State.SERVICE_MISCONFIGURED: "waits: the vendor refuses the OAuth client",
    State.REFUSED: "waits",
    State.VENDOR_DOWN: "waits",
    State.DISABLED: "is switched off",
}
