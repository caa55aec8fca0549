"""The operator's way to OAuth clients, trusted issuers and sessions: by the broker's own database role."""

import contextlib
from collections.abc import AsyncGenerator, Sequence

from broker.identity.pepper import load_or_create
from broker.identity.sessions import Sessions
from broker.oauth.registered_clients import RegisteredClients
from broker.oauth.trusted_issuers import TrustedIssuers
from core.outbound.addresses import AllowedAddresses
from core.outbound.documents import Documents
from gateway.deployment import Deployment
from gateway.single.operator import BROKER, connected, now


@contextlib.asynccontextmanager
async def registered_clients(deployment: Deployment) -> AsyncGenerator[RegisteredClients]:
    """The clients that administrators have registered."""
    async with connected(deployment, BROKER, most=2) as database:
        yield RegisteredClients(database, load_or_create(deployment.peppers), clock=now)


@contextlib.asynccontextmanager
async def sessions_of(deployment: Deployment) -> AsyncGenerator[Sessions]:
    """The browsers that people are signed in with."""
    async with connected(deployment, BROKER, most=2) as database:
        yield Sessions(database, clock=now)


@contextlib.asynccontextmanager
async def trusted_issuers(deployment: Deployment, private_hosts: Sequence[str]) -> AsyncGenerator[TrustedIssuers]:
    """The issuers that tenants trust; `private_hosts` are those that the operator lets MCPist ask."""
    documents = Documents(AllowedAddresses.of(private_hosts))
    await documents.open()
    try:
        async with connected(deployment, BROKER, most=2) as database:
            yield TrustedIssuers(database, documents, clock=now)
    finally:
        await documents.close()
