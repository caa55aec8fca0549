"""The broker in the gateway's own process: the same services, called directly."""

from collections.abc import Mapping

from broker.interface import CredentialRefusal, Lease, LeaseRequest, NoCredential, Verifier
from broker.lease_service import LeaseService
from core.caller import Credential
from core.connection_state import ModuleConnection
from core.secret import Secret


class LocalBroker:
    """Implements :class:`broker.interface.Broker` on the broker's own database role."""

    def __init__(self, verifier: Verifier, leases: LeaseService) -> None:
        self._verifier = verifier
        self._leases = leases

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        return await self._verifier.verify(token)

    async def get_connections(self, subject: Secret) -> Mapping[str, ModuleConnection] | CredentialRefusal:
        return await self._leases.get_connections(subject)

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        return await self._leases.lease(request)
