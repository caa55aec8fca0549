"""Leases of tenant keys: opened by the broker for whoever proves to be an active person of the tenant."""

import logging
from uuid import UUID

from broker.connections.credential_selection import MAX_LEASE_SECONDS
from broker.interface import (
    CredentialRefusal,
    MandateReference,
    NoTenantKey,
    RefusalReason,
    TenantKeyLease,
    Verifier,
)
from broker.mandates.mandate_service import MandateService
from broker.tenant_keys.key_kinds import TenantKeyKind, TenantKeyKinds
from broker.tenant_keys.key_store import build_tenant_key_context, build_tenant_key_id
from broker.vault.envelope import DecryptionError
from broker.vault.vault import Vault
from core.caller import Credential
from core.db import Database, UnitOfWork
from core.scopes import READ, covers
from core.secret import Secret

log = logging.getLogger(__name__)


class TenantKeyLeases:
    """Implements :meth:`broker.interface.TenantKeyBroker.lease_tenant_key` on the broker's own database role."""

    def __init__(
        self, verifier: Verifier, mandates: MandateService, database: Database, vault: Vault, kinds: TenantKeyKinds
    ) -> None:
        self._verifier = verifier
        self._mandates = mandates
        self._database = database
        self._vault = vault
        self._kinds = kinds

    async def lease_tenant_key(
        self, subject: Secret | MandateReference, kind: str
    ) -> TenantKeyLease | NoTenantKey | CredentialRefusal:
        """See :meth:`broker.interface.TenantKeyBroker.lease_tenant_key`."""
        caller = await self._verify(subject)
        if isinstance(caller, CredentialRefusal):
            return caller
        if not covers(caller.scopes, READ):
            return CredentialRefusal(RefusalReason.FORBIDDEN, caller.tenant_id, caller.user_id, caller.id)
        known = self._kinds.find(kind)
        if known is None:
            return NoTenantKey("missing")
        async with self._database.tenant(caller.tenant_id) as work:
            return await self._open(work, known)

    async def _verify(self, subject: Secret | MandateReference) -> Credential | CredentialRefusal:
        if isinstance(subject, MandateReference):
            return await self._mandates.verify_mandate(subject)
        return await self._verifier.verify(subject)

    async def _open(self, work: UnitOfWork, kind: TenantKeyKind) -> TenantKeyLease | NoTenantKey:
        key_id: UUID = build_tenant_key_id(kind.name)
        row = await work.fetchrow(_FIND, key_id)
        if row is None:
            return NoTenantKey("missing")
        try:
            plain = await self._vault.open(work, build_tenant_key_context(key_id, row["version"]), row["secret"])
        except DecryptionError:
            log.error("a tenant's key was changed in the database", extra={"kind": kind.name})
            return NoTenantKey("unreadable")
        if row["stale_use"]:
            await work.execute(_USED, key_id)
        return TenantKeyLease(Secret(plain.decode()), MAX_LEASE_SECONDS, kind.origins)


_FIND = """SELECT version, secret,
    last_used_at IS NULL OR last_used_at < vault.clock() - interval '1 minute' AS stale_use
    FROM vault.tenant_keys WHERE tenant_id = $1 AND id = $2"""
_USED = "UPDATE vault.tenant_keys SET last_used_at = vault.clock() WHERE tenant_id = $1 AND id = $2"
