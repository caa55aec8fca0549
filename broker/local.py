"""The broker in the gateway's own process: the same services, called directly."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from broker.interface import (
    CredentialRefusal,
    Lease,
    LeaseRequest,
    Mandate,
    MandateReference,
    MandateRequest,
    NoCredential,
    NoTenantKey,
    TenantKeyLease,
    Verifier,
)
from broker.lease_service import LeaseService
from broker.mandates.mandate_service import MandateService
from broker.tenant_keys.key_leases import TenantKeyLeases
from core.caller import Credential
from core.connection_state import ModuleConnection
from core.secret import Secret


class LocalBroker:
    """Implements :class:`broker.interface.Broker` on the broker's own database role."""

    def __init__(
        self, verifier: Verifier, leases: LeaseService, mandates: MandateService, tenant_keys: TenantKeyLeases
    ) -> None:
        self._verifier = verifier
        self._leases = leases
        self._mandates = mandates
        self._tenant_keys = tenant_keys

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        return await self._verifier.verify(token)

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        return await self._verifier.verify_again(tenant_id, tokens)

    async def get_connections(self, subject: Secret) -> Mapping[str, ModuleConnection] | CredentialRefusal:
        return await self._leases.get_connections(subject)

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        return await self._leases.lease(request)

    async def lease_tenant_key(
        self, subject: Secret | MandateReference, kind: str
    ) -> TenantKeyLease | NoTenantKey | CredentialRefusal:
        return await self._tenant_keys.lease_tenant_key(subject, kind)

    async def create_mandate(self, request: MandateRequest) -> Mandate | CredentialRefusal:
        return await self._mandates.create_mandate(request)

    async def verify_mandate(self, reference: MandateReference) -> Credential | CredentialRefusal:
        return await self._mandates.verify_mandate(reference)

    async def end_mandate(self, reference: MandateReference) -> None:
        await self._mandates.end_mandate(reference)
