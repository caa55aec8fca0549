"""Disconnecting accounts: revoke the grant at the vendor and delete everything that leads to it.

It is an intent first: the account is marked as ending and committed, so that nothing uses it any more and a process
that dies leaves it to the next (:class:`broker.disconnect.bulk_revocation.GrantReaper`). A vendor that cannot be told
stops nothing; whoever asked is told, and the audit log keeps it.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from broker.connect.account_writer import AccountWriter, StoredGrant
from broker.connections.oauth_client_store import OAuthClientStore
from broker.connections.stored_credentials import StoredCredential
from broker.disconnect.account_deletion import EndingAccount, delete_account, is_shared_grant, mark_account_ending
from broker.oauth_client.types import OAuthClientConfig, TokenEndpointClient
from broker.providers.catalogue import ProviderRegistry
from broker.providers.schema import Provider
from broker.providers.templates import fill_url, resolve_settings
from broker.vault.credential_store import CredentialStore
from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Invalid, MCPistError, NotFound
from core.secret import Secret

DisconnectCause = Literal[
    "asked", "replaced", "declined", "unanswered", "interrupted", "owner_removed", "client_removed"
]
RevocationOutcome = Literal[
    "revoked", "shared_grant", "unsupported", "unreachable", "tokens_unreadable", "timed_out", "api_key"
]
"""revoked: the vendor knows the grant no more. shared_grant: another account of the tenant is the same grant, so it was
left. unsupported: the vendor has no revocation. unreachable: it was asked and did not say yes. tokens_unreadable: the
tokens are lost here. timed_out: there were too many to wait for. api_key: it was pasted, and its owner revokes it where
it was made."""


@dataclass(frozen=True, slots=True)
class DisconnectResult:
    """Disconnected account. Where revocation failed, `manage_url` is the vendor's page for revoking it by hand, if it
    has one.
    """

    modules: tuple[str, ...]
    outcome: RevocationOutcome
    manage_url: str = ""
    provider: str = ""
    account: str = ""

    @property
    def revoked(self) -> bool:
        """Check whether the grant is revoked at the vendor."""
        return self.outcome == "revoked"

    @property
    def still_active(self) -> bool:
        """Check whether the person should revoke the grant at the vendor by hand."""
        return self.outcome not in ("revoked", "shared_grant")


log = logging.getLogger(__name__)


class DisconnectService:
    """Service that disconnects accounts and deletes pasted keys, for all tenants."""

    def __init__(
        self,
        database: Database,
        rows: AccountWriter,
        clients: OAuthClientStore,
        book: ProviderRegistry,
        endpoint: TokenEndpointClient,
        credentials: CredentialStore,
    ) -> None:
        self._database = database
        self._rows = rows
        self._clients = clients
        self._book = book
        self._endpoint = endpoint
        self._credentials = credentials

    def require_adopted(self) -> None:
        """Raises:
        broker.vault.vault.NotAdopted: this is a copy of the deployment, which tells no vendor anything.
        """
        self._rows.require_adopted()

    async def disconnect(self, actor: Actor, tenant_id: UUID, credential: StoredCredential) -> DisconnectResult:
        """Disconnect a credential; of type B the account behind it, and so every module's that uses it.

        Raises:
            NotFound: it is gone already.
            broker.vault.vault.NotAdopted: this is a copy of the deployment: the original goes on.
        """
        self.require_adopted()
        if credential.account_id is None:
            await self._credentials.remove(actor, tenant_id, credential.module, credential.holder)
            return DisconnectResult((credential.module,), "api_key", account=credential.account)
        ended = await self.end_account(actor, tenant_id, credential.account_id, "asked")
        if ended is None:
            raise NotFound("this account is already disconnected")
        return ended

    async def end_account(
        self,
        actor: Actor,
        tenant_id: UUID,
        account_id: UUID,
        cause: DisconnectCause,
        *,
        with_others: Sequence[UUID] = (),
        only: str | None = None,
    ) -> DisconnectResult | None:
        """End one account; None where it is gone already. `with_others` end at the same time, so that a grant that
        they have in common is nobody's any more; `only` ends it if that is its reason to be disabled. Of tokens that
        came while the vendor was told of others, it is told again."""
        async with self._database.tenant(tenant_id) as work:
            ending = await mark_account_ending(work, account_id, only)
        if ending is None:
            return None
        context = await self._load_context(tenant_id, ending, with_others)
        outcome = context.outcome or await self._revoke_at_vendor(context)
        latest = await self._load_newer_tokens(tenant_id, context)
        if latest is not None:
            outcome = await self._revoke_at_vendor(latest)
        return await self._delete_and_audit(actor, tenant_id, ending, outcome, _build_manage_url(context), cause)

    async def _load_newer_tokens(self, tenant_id: UUID, context: "_RevocationContext") -> "_RevocationContext | None":
        """The tokens that a refresh under way has brought meanwhile, if any."""
        if context.grant is None:
            return None
        async with self._database.tenant(tenant_id) as work:
            try:
                grant = await self._rows.load_grant(work, context.grant.account_id)
            except MCPistError:
                return None
        return None if grant is None or _has_same_tokens(grant, context.grant) else replace(context, grant=grant)

    async def end_if_unused(self, actor: Actor, tenant_id: UUID, account_id: UUID) -> DisconnectResult | None:
        """End an account that something else has taken the place of, unless a credential still leads to it."""
        async with self._database.tenant(tenant_id) as work:
            unused = await self._rows.find_orphans(work, [account_id])
        return await self.end_account(actor, tenant_id, account_id, "replaced") if unused else None

    async def delete_without_revoking(
        self, actor: Actor, tenant_id: UUID, account_id: UUID, cause: DisconnectCause
    ) -> DisconnectResult | None:
        """End one account without a word to its vendor, for which there was no time; None where it is gone already."""
        async with self._database.tenant(tenant_id) as work:
            ending = await mark_account_ending(work, account_id, None)
            provider = await self._book.find(work, ending.provider) if ending else None
        if ending is None:
            return None
        return await self._delete_and_audit(
            actor, tenant_id, ending, "timed_out", _build_manage_url(_RevocationContext(provider)), cause
        )

    async def _delete_and_audit(
        self,
        actor: Actor,
        tenant_id: UUID,
        ending: EndingAccount,
        outcome: RevocationOutcome,
        manage_url: str,
        cause: DisconnectCause,
    ) -> DisconnectResult | None:
        async with self._database.tenant(tenant_id) as work:
            modules = await delete_account(work, ending.id)
            if modules is None:
                return None
            ended = DisconnectResult(tuple(modules), outcome, manage_url, ending.provider, ending.name)
            await _audit_disconnect(work, actor, ending, ended, cause)
        return ended

    async def _load_context(
        self, tenant_id: UUID, ending: EndingAccount, with_others: Sequence[UUID]
    ) -> "_RevocationContext":
        """Load the data of the revocation request, or the reason why none is sent."""
        async with self._database.tenant(tenant_id) as work:
            provider = await self._book.find(work, ending.provider)
            sealed_client = await self._clients.find(work, ending.oauth_client_id)
            if provider is None or sealed_client is None:
                return _RevocationContext(provider, outcome="tokens_unreadable")
            client = OAuthClientConfig(sealed_client.client_id, None, sealed_client.auth_method, sealed_client.settings)
            if await is_shared_grant(work, ending.id, with_others):
                return _RevocationContext(provider, client, outcome="shared_grant")
            try:
                client = await self._clients.decrypt_client(work, sealed_client)
                return _RevocationContext(provider, client, await self._rows.load_grant(work, ending.id))
            except MCPistError:  # changed in the database, without its key, or in a copy that may not tell anybody
                return _RevocationContext(provider, client, outcome="tokens_unreadable")

    async def _revoke_at_vendor(self, context: "_RevocationContext") -> RevocationOutcome:
        provider, client, grant = context.provider, context.client, context.grant
        if (
            provider is None
            or client is None
            or grant is None
            or (grant.access_token is None and grant.refresh_token is None)
        ):
            return "tokens_unreadable"
        access = grant.access_token or Secret("")
        revocation = await self._endpoint.revoke(provider, client, access=access, refresh=grant.refresh_token)
        if revocation.done:
            return "revoked"
        if revocation.exchange is None:
            return "unsupported"
        log.warning(
            "grant was not revoked at the vendor",
            extra={"event": "grant_revocation_failed", "provider": provider.id},
        )
        return "unreachable"


@dataclass(frozen=True, slots=True, repr=False)
class _RevocationContext:
    provider: Provider | None
    client: OAuthClientConfig | None = None
    grant: StoredGrant | None = None
    outcome: RevocationOutcome | None = None


def _has_same_tokens(grant: StoredGrant, other: StoredGrant) -> bool:
    return (grant.access_token, grant.refresh_token) == (other.access_token, other.refresh_token)


def _build_manage_url(context: _RevocationContext) -> str:
    """Build the URL where the person can revoke the grant by hand; "" if it is unknown."""
    provider, client = context.provider, context.client
    if provider is None or not provider.manage_url:
        return ""
    try:
        return fill_url(provider.manage_url, resolve_settings(provider, client.settings if client else {}))
    except Invalid:
        return ""


async def _audit_disconnect(
    work: UnitOfWork, actor: Actor, ending: EndingAccount, ended: DisconnectResult, cause: DisconnectCause
) -> None:
    detail = {"provider": ending.provider, "modules": " ".join(ended.modules), "account": ending.name, "cause": cause}
    kind, audit_detail = AuditEventKind.ACCOUNT_DISCONNECTED, {"revoked": int(ended.revoked)}
    await audit_change(
        work,
        actor,
        kind,
        credential=str(ending.id),
        revocation=ended.outcome,
        **detail,
        **audit_detail,
        **ending.owner.audit_details,
    )
