"""The broker in the gateway's own process: the same services, called directly."""

from collections.abc import Mapping

from broker.interface import Lease, LeaseRequest, NoCredential, Refused, Verifier
from broker.leases import Leases
from core.caller import Credential
from core.connection import Connection
from core.secret import Secret


class DirectBroker:
    """Implements :class:`broker.interface.Broker` on the broker's own database role."""

    def __init__(self, verifier: Verifier, leases: Leases) -> None:
        self._verifier = verifier
        self._leases = leases

    async def verify(self, token: Secret) -> Credential | Refused:
        return await self._verifier.verify(token)

    async def status(self, subject: Secret) -> Mapping[str, Connection] | Refused:
        return await self._leases.status(subject)

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | Refused:
        return await self._leases.lease(request)
