"""The check-up's look at the vault: its keys, and how each stored credential stands."""

import shlex
from collections.abc import AsyncGenerator, Mapping, Sequence
from uuid import UUID

from broker.connections.connection_health import ConnectionHealth
from broker.connections.connection_status import HealthState, ResponsibleParty
from broker.connections.stored_credentials import StoredCredential, UnconnectedModule
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.vault.deployment_guard import DEPLOYMENT_ID_FILE, get_adoption_state
from core.bilingual_text import BilingualText, join_names, say
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
from server.tool_catalogue import load_module_titles
from server.vault_keys import get_id_file_path

MAX_SHOWN_CREDENTIALS = 50
PAGE_SIZE = 500
NOT_CONNECTED_TEXT = say("no account is connected yet", "まだアカウントが接続されていません")


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
        return Finding(
            "deployment",
            "warning",
            say(
                "never started; the first start assigns its id",
                "まだ起動していません。最初の起動時に ID が割り当てられます",
            ),
        )
    if is_adopted:
        return Finding(
            "deployment",
            "ok",
            say("the original: requests to vendors are allowed", "オリジナルです。ベンダーへの要求は許可されています"),
        )
    message = say(
        "a copy of another deployment's database: it sends no requests to vendors and hands out no tokens. Once the "
        "original is stopped for good: mcpist adopt; on a second machine of the same deployment, "
        "copy {file} from the first one's data folder",
        "別のデプロイのデータベースのコピーです。ベンダーへの要求もトークンの発行も行いません。"
        "オリジナルを完全に停止したら "
        "mcpist adopt を実行してください。同じデプロイの 2 台目のマシンなら、1 台目のデータフォルダーから {file} を"
        "コピーしてください",
        file=DEPLOYMENT_ID_FILE,
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
            Finding(
                "vault keys",
                "error",
                say(
                    "the key {key}, {need}, is {state}",
                    "鍵 {key}（{need}）：{state}",
                    key=key.kek_id,
                    need=_describe_need(key),
                    state=key.message,
                ),
            )
            for key in unhealthy
        ]
    return [_summarize_keys(keys)]


def _summarize_keys(keys: VaultKeys) -> Finding:
    active = next((key for key in keys.keys if key.active), None)
    if active is None:
        return Finding(
            "vault keys",
            "warning",
            say("none yet; the first start makes one", "まだありません。最初の起動時に作成されます"),
        )
    needed = sum(key.in_use for key in keys.keys)
    location = str(keys.file) if keys.key_providers == ("file",) else ", ".join(keys.key_providers)
    message = say(
        "{count} in {location}, {active} active, {needed} needed and available; not part of backups",
        "{location} に {count} 個、現在の鍵は {active}、必要な {needed} 個はそろっています。"
        "バックアップには含まれません",
        count=len(keys.keys),
        location=location,
        active=active.kek_id,
        needed=needed,
    )
    return Finding("vault keys", "ok", message)


def _describe_need(key: KeyReport) -> BilingualText:
    """Describe what cannot be decrypted without the key."""
    if key.tenants:
        one, more = "needed by one tenant", "needed by {count} tenants"
        return say(one if key.tenants == 1 else more, "{count} テナントに必要", count=key.tenants)
    if not key.signing_keys:
        return say("needed to start", "起動に必要")
    return say(
        "needed by the keys that sign access tokens, or by settings of the deployment",
        "アクセストークンの署名鍵、またはデプロイの設定に必要",
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
    titles = load_module_titles(catalogue)
    findings = [_check_credential(tenant, status, enabled, titles, public_url) for status in statuses]
    if user_id is None:
        unconnected = enabled & {manifest.name for manifest in manifests} - {status.module for status in statuses}
        findings += _check_unconnected(tenant, [titles[module] for module in unconnected], public_url)
    return findings


def limit_credential_findings(findings: list[Finding]) -> list[Finding]:
    """Keep the first fifty findings, those that need action first and unconnected services last; count the others."""
    findings = sorted(findings, key=lambda finding: (NOT_CONNECTED_TEXT in finding.message, finding.state == "ok"))
    if len(findings) > MAX_SHOWN_CREDENTIALS:
        omitted = len(findings) - MAX_SHOWN_CREDENTIALS
        message = say(
            "and {count} more; `mcpist credential list --tenant SLUG` shows them all",
            "ほかに {count} 件あります。`mcpist credential list --tenant SLUG` ですべて表示できます",
            count=omitted,
        )
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


def _check_unconnected(tenant: Tenant, services: Sequence[BilingualText], public_url: str) -> list[Finding]:
    """Report the services with a vendor that have no connected account, in one finding."""
    message = say(
        "{tenant}: {text} for {names}; connect one at {url}/connect",
        "{tenant}：{names} には{text}（接続：{url}/connect）",
        tenant=tenant.slug,
        text=NOT_CONNECTED_TEXT,
        names=join_names(services),
        url=public_url,
    )
    return [Finding("credential", "warning", message)] if services else []


def _check_credential(
    tenant: Tenant,
    status: StoredCredential | UnconnectedModule,
    enabled: set[str],
    titles: Mapping[str, BilingualText],
    public_url: str,
) -> Finding:
    service = titles.get(status.module) or BilingualText(status.module, status.module)
    if isinstance(status, UnconnectedModule):
        message = say(
            "{of} is not connected; its owner connects it at {url}",
            "{of}は接続されていません。所有者が {url} で接続します",
            of=_name_credential(tenant, service, status.owner),
            url=f"{public_url}{status.link}",
        )
        return Finding("credential", "warning", message)
    of = _name_credential(tenant, service, status.owner, shared=status.kind == "shared")
    if status.state is not HealthState.CONNECTED:
        message = say(
            "{of} {state}{meaning}{remedy}",
            "{of}{state}{meaning}{remedy}",
            of=of,
            state=_STATE_TEXTS[status.state],
            meaning=_format_meaning(status),
            remedy=_format_remedy(tenant, status, public_url),
        )
        return Finding("credential", "warning", message)
    if status.module not in titles:
        message = say(
            "{of} is not used: the module is not installed",
            "{of}は使われていません。モジュールがインストールされていません",
            of=of,
        )
        return Finding("credential", "warning", message)
    if status.module not in enabled:
        message = say(
            "{of} is not used: mcpist service enable {module} --tenant {tenant}",
            "{of}は使われていません：mcpist service enable {module} --tenant {tenant}",
            of=of,
            module=status.module,
            tenant=tenant.slug,
        )
        return Finding("credential", "warning", message)
    if not status.account:
        return Finding("credential", "ok", say("{of} is connected", "{of}は接続済みです", of=of))
    message = say(
        "{of} is connected as {account}", "{of}は {account} として接続済みです", of=of, account=status.account
    )
    return Finding("credential", "ok", message)


def _name_credential(tenant: Tenant, service: BilingualText, owner: str, *, shared: bool = False) -> BilingualText:
    if shared:
        return say(
            "{tenant}: {service} of role {owner}",
            "{tenant}：ロール {owner} の {service} ",
            tenant=tenant.slug,
            service=service,
            owner=owner,
        )
    return say(
        "{tenant}: {service} of {owner}",
        "{tenant}：{owner} の {service} ",
        tenant=tenant.slug,
        service=service,
        owner=owner,
    )


def _format_meaning(status: StoredCredential) -> BilingualText:
    return say(", {meaning}", "（{meaning}）", meaning=status.message) if status.message else say("", "")


def _format_remedy(tenant: Tenant, status: StoredCredential, public_url: str) -> BilingualText:
    if status.state is HealthState.NEEDS_RECONNECT and not status.provider:
        option = "--role" if status.kind == "shared" else "--user"
        command = f"mcpist credential set {status.module} {option} {shlex.quote(status.owner)} --tenant {tenant.slug}"
        return say("; make a new one there, then: {command}", "。新しいキーを作成して実行：{command}", command=command)
    if status.state is HealthState.NEEDS_RECONNECT:
        administers = status.responsible is ResponsibleParty.ADMINISTRATOR
        return say(
            "; {who} connects it again at {url}",
            "。{who}が {url} で再接続します",
            who=say("an administrator", "管理者") if administers else say("its owner", "所有者"),
            url=f"{public_url}{status.link}",
        )
    if status.state is HealthState.SERVICE_MISCONFIGURED:
        return say(
            "; an administrator looks at it: mcpist oauth-client list --tenant {tenant}",
            "。管理者が確認します：mcpist oauth-client list --tenant {tenant}",
            tenant=tenant.slug,
        )
    if status.next_retry_at is None:
        return say("", "")
    return say("; asked again at {at:%Y-%m-%d %H:%M %Z}", "。再試行：{at:%Y-%m-%d %H:%M %Z}", at=status.next_retry_at)


_STATE_TEXTS = {
    HealthState.REFRESHING: say("is being renewed", "は更新中です"),
    HealthState.NEEDS_RECONNECT: say("is broken", "は使えません"),
    HealthState.SERVICE_MISCONFIGURED: say(
        "waits: the vendor refuses the OAuth client", "は待機中です：ベンダーが OAuth クライアントを拒否しています"
    ),
    HealthState.REFUSED: say("waits", "は待機中です"),
    HealthState.VENDOR_DOWN: say("waits", "は待機中です"),
    HealthState.DISABLED: say("is switched off", "は停止しています"),
}
