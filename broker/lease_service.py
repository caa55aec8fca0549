"""Leases: whose credential a tool uses, decided and opened by the broker (threat-model.md §3.3).

The caller's own credential is verified here, and the sieve's function is applied here once more: a gateway that is
taken over gets nothing for users who are away, and nothing beyond the roles of those who are there.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from broker.connections.account_snapshot import AccessToken, TokenUnavailable
from broker.connections.connection_status import HealthState, classify
from broker.connections.credential_selection import (
    MAX_LEASE_SECONDS,
    READING_ONLY,
    build_connection,
    build_no_credential,
    compute_lease_ttl,
    get_credential_kind,
    restrict_by_scopes,
    select_credential,
)
from broker.connections.stored_credentials import load_credentials
from broker.interface import (
    CredentialRefusal,
    Lease,
    LeaseRequest,
    MandateReference,
    NoCredential,
    RefusalReason,
    Verifier,
)
from broker.mandates.mandate_records import PERMISSION_LOST, end_mandate
from broker.mandates.mandate_service import MandateService
from broker.oauth_client.vendor_scopes import covers_module
from broker.providers.catalogue import get_api_endpoint_key
from broker.providers.error_reasons import SCOPE
from broker.providers.schema import Provider
from broker.rejections.report import IN_DOUBT, RejectionTiming, get_hold_seconds, report_rejection
from broker.user_policy import ToolHints, UserPolicy, build_denied_event, is_allowed, is_permitted, load_user_policy
from broker.vault.credential_store import UNREADABLE, decode_scheme, decrypt_credential, mark_broken
from broker.vault.envelope import DecryptionError
from broker.vault.origin_policy import NO_HOSTS, ORIGIN_CHANGED, OriginPolicy, read_attributes
from broker.vault.vault import Vault
from core.audit.transactional import append_in_transaction
from core.caller import Credential
from core.connection_state import ModuleConnection
from core.db import Database, Row, UnitOfWork
from core.http.origins import get_origin
from core.secret import Secret

log = logging.getLogger(__name__)


class AccessTokenSource(Protocol):
    """Access tokens of connected accounts: :class:`broker.refresh.token_service.AccountTokenService`."""

    async def get_access_token(
        self, tenant_id: UUID, account_id: UUID, *, rejected_version: int | None = None
    ) -> AccessToken | TokenUnavailable: ...

    async def find_provider(self, work: UnitOfWork, provider: str, /) -> Provider | None: ...


class LeaseService:
    """Implements `status` and `lease` of :class:`broker.interface.Broker` on the broker's own database role.
    `tool_hints` has every tool of every module that has a vendor."""

    def __init__(
        self,
        verifier: Verifier,
        database: Database,
        vault: Vault,
        tool_hints: ToolHints,
        *,
        base_urls: Mapping[str, str],
        clock: Callable[[], datetime],
        accounts: AccessTokenSource,
        mandates: MandateService,
        rejections: RejectionTiming | None = None,
        hosts: Mapping[str, Sequence[str]] = NO_HOSTS,
    ) -> None:
        self._verifier = verifier
        self._database = database
        self._vault = vault
        self._tools = _group_by_module(tool_hints)
        self._clock = clock
        self._accounts = accounts
        self._mandates = mandates
        self._bounds, self._base_urls = OriginPolicy(base_urls, hosts), base_urls
        self._rejections = rejections or RejectionTiming()

    async def get_connections(self, subject: Secret) -> Mapping[str, ModuleConnection] | CredentialRefusal:
        """See :meth:`broker.interface.Broker.get_connections`."""
        caller = await self._verifier.verify(subject)
        if isinstance(caller, CredentialRefusal):
            return caller
        async with self._database.tenant(caller.tenant_id) as work:
            access = await load_user_policy(work, caller.user_id)
            usable = self._list_usable_modules(access, caller)
            role_ids = [role_id for role_id, _ in access.roles]
            rows = await load_credentials(
                work, modules=list(usable), user_id=caller.user_id, role_ids=role_ids, limit=None
            )
            counting = {module: select_credential(rows, module, roles) for module, roles in usable.items()}
            lacks = {
                module: await self._find_missing_kinds(work, row, self._list_tool_kinds(access, caller, module))
                for module, row in counting.items()
                if row
            }
        connections = {module: build_connection(module, row, self._bounds) for module, row in counting.items()}
        return {
            module: restrict_by_scopes(connection, lacks.get(module, ())) for module, connection in connections.items()
        }

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        """See :meth:`broker.interface.Broker.lease`."""
        caller = await self._verify_subject(request)
        if isinstance(caller, CredentialRefusal):
            return caller
        async with self._database.tenant(caller.tenant_id) as work:
            access = await load_user_policy(work, caller.user_id)
            read_only = self._tools.get(request.module, {}).get(request.tool)
            if read_only is None or not is_allowed(access, caller, request.module, request.tool, read_only):
                await append_in_transaction(work, build_denied_event(caller, request.module, request.tool))
                if isinstance(request.subject, MandateReference) and read_only is not None:
                    await end_mandate(work, request.subject.mandate_id, PERMISSION_LOST, self._clock())
                return CredentialRefusal(RefusalReason.FORBIDDEN, caller.tenant_id, caller.user_id, caller.id)
            roles = access.list_permitting_roles(request.module, {request.tool: read_only})
            rows = await load_credentials(
                work, modules=[request.module], user_id=caller.user_id, role_ids=roles, with_secrets=True
            )
            row = select_credential(rows, request.module, roles)
            if row is None:
                return NoCredential(request.module, "missing")
            state, cause = classify(row, self._bounds)
            if state is HealthState.NEEDS_RECONNECT and (row["type"] == "A" or cause == ORIGIN_CHANGED):
                return NoCredential(request.module, "broken", get_credential_kind(row), cause)
            if _is_fixed(row):
                hold_seconds = await self._find_hold_seconds(work, access, request, row)
                if hold_seconds is not None:
                    return NoCredential(request.module, "broken", get_credential_kind(row), IN_DOUBT, hold_seconds)
                await self._record_use(work, access, row)
            if row["type"] == "A":
                return await self._lease_stored_key(work, access, row)
            if await self._find_missing_kinds(work, row, [read_only]):
                return NoCredential(
                    request.module, "broken", get_credential_kind(row), SCOPE if read_only else READING_ONLY
                )
        return await self._lease_account_token(caller.tenant_id, access, request, row)

    async def _verify_subject(self, request: LeaseRequest) -> Credential | CredentialRefusal:
        if isinstance(request.subject, MandateReference):
            return await self._mandates.verify_for_tool(request.subject, request.module, request.tool)
        return await self._verifier.verify(request.subject)

    async def _lease_account_token(
        self, tenant_id: UUID, access: UserPolicy, request: LeaseRequest, row: Row
    ) -> Lease | NoCredential:
        """Of type B, outside of any transaction: the token may have to be refreshed first."""
        rejected = None if _is_fixed(row) else request.rejected_version
        answer = await self._accounts.get_access_token(tenant_id, row["account_id"], rejected_version=rejected)
        if isinstance(answer, TokenUnavailable):
            return build_no_credential(request.module, row, answer)
        token, version = answer.token, answer.version
        return self._build_lease(access, row, token, version, compute_lease_ttl(answer), renewable=answer.renewable)

    async def _find_missing_kinds(self, work: UnitOfWork, row: Row, kinds: Iterable[bool]) -> list[bool]:
        """For which kinds of tools the account was granted nothing: True for those that read, False for those that
        change something."""
        if row["type"] == "A" or row["status"] != "active":
            return []  # what is wrong then is told in other words
        provider = await self._accounts.find_provider(work, row["provider"])
        if provider is None:
            return []
        return [reads for reads in kinds if not covers_module(provider, row["module"], row["scopes"], reading=reads)]

    def _list_tool_kinds(self, access: UserPolicy, caller: Credential, module: str) -> set[bool]:
        """Those of the caller's tools."""
        return {
            reads for tool, reads in self._tools[module].items() if is_permitted(access, caller, module, tool, reads)
        }

    async def _find_hold_seconds(
        self, work: UnitOfWork, access: UserPolicy, request: LeaseRequest, row: Row
    ) -> float | None:
        """For how many seconds nothing is sent with a credential that the vendor has refused, and that nobody can
        renew; None where it may be."""
        version = row["version"] if row["type"] == "A" else row["account_version"]
        hold_seconds = get_hold_seconds(row, version, self._rejections)
        if hold_seconds is not None or request.rejected_version != version:
            return hold_seconds
        return await report_rejection(
            work, row["id"], version, self._get_origin(access, row["module"]), self._rejections
        )

    def _get_origin(self, access: UserPolicy, module: str) -> str:
        """Where the service's requests go."""
        return get_origin(access.get_service_settings(module).get("base_url") or self._base_urls[module])

    async def _lease_stored_key(self, work: UnitOfWork, access: UserPolicy, row: Row) -> Lease | NoCredential:
        try:
            token = await decrypt_credential(self._vault, work, row)
        except DecryptionError:
            log.error("a stored credential was changed in the database", extra={"row": str(row["id"])})
            return await self._mark_broken(work, row, UNREADABLE)
        return self._build_lease(access, row, token, row["version"], MAX_LEASE_SECONDS, renewable=False)

    def _build_lease(
        self, access: UserPolicy, row: Row, token: Secret, version: int, expires_in: float, *, renewable: bool
    ) -> Lease:
        module = row["module"]
        return Lease(
            token,
            version,
            expires_in,
            get_credential_kind(row),
            row["id"],
            access.get_service_settings(module),
            renewable,
            self._bounds.list_permitted_origins(module, row["origins"]),
            read_attributes(row["details"]),
            decode_scheme(row["scheme"]),
            _compute_grant_key(row),
        )

    async def _mark_broken(self, work: UnitOfWork, row: Row, cause: str) -> NoCredential:
        await mark_broken(work, row["id"], row["version"], cause, self._clock())
        return NoCredential(row["module"], "broken", get_credential_kind(row), cause)

    async def _record_use(self, work: UnitOfWork, access: UserPolicy, row: Row) -> None:
        if row["stale_use"]:
            endpoint = get_api_endpoint_key(work.tenant_id, self._get_origin(access, row["module"]))
            await work.execute(_USED, row["id"], endpoint)

    def _list_usable_modules(self, access: UserPolicy, caller: Credential) -> dict[str, list[UUID]]:
        """The modules of which the caller may use a tool, each with the roles that give it, the highest first."""
        usable: dict[str, list[UUID]] = {}
        for module, tools in self._tools.items():
            permitted = {
                tool: reads for tool, reads in tools.items() if is_permitted(access, caller, module, tool, reads)
            }
            if permitted:
                usable[module] = access.list_permitting_roles(module, permitted)
        return usable


def _compute_grant_key(row: Row) -> str:
    """What the vendor counts requests for: a pasted key, or an account since its person connected it last."""
    since = row["granted_at"]
    return f"{row['id']}.{row['version']}" if since is None else f"{row['account_id']}.{since.timestamp()}"


def _is_fixed(row: Row) -> bool:
    """Whether there is no other token to be had in its place: a pasted key, or an account without a refresh token."""
    return row["type"] == "A" or (row["status"] == "active" and row["unrenewable"])


def _group_by_module(hints: ToolHints) -> dict[str, dict[str, bool]]:
    modules: dict[str, dict[str, bool]] = defaultdict(dict)
    for (module, tool), read_only in sorted(hints.items()):
        modules[module][tool] = read_only
    return dict(modules)


_USED = "UPDATE vault.credentials SET last_used_at = vault.clock(), endpoint = $3 WHERE tenant_id = $1 AND id = $2"
