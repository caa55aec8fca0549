"""The operator's way to OAuth clients, trusted issuers and sessions: by the broker's own database role."""

import contextlib
from collections.abc import AsyncGenerator, Sequence

from broker.authorization_server.registered_clients import RegisteredClients
from broker.authorization_server.trusted_issuers import TrustedIssuers
from broker.identity.api_tokens import load_or_create
from broker.identity.browser_sessions import Sessions
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from server.deployment import Deployment
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database


@contextlib.asynccontextmanager
async def open_registered_clients(deployment: Deployment) -> AsyncGenerator[RegisteredClients]:
    """The clients that administrators have registered."""
    async with open_role_database(deployment, BROKER_ROLE, most=2) as database:
        yield RegisteredClients(database, load_or_create(deployment.peppers), clock=get_utc_now)


@contextlib.asynccontextmanager
async def open_sessions(deployment: Deployment) -> AsyncGenerator[Sessions]:
    """The browsers that people are signed in with."""
    async with open_role_database(deployment, BROKER_ROLE, most=2) as database:
        yield Sessions(database, clock=get_utc_now)


@contextlib.asynccontextmanager
async def open_trusted_issuers(deployment: Deployment, private_hosts: Sequence[str]) -> AsyncGenerator[TrustedIssuers]:
    """The issuers that tenants trust; `private_hosts` are those that the operator lets MCPist ask."""
    documents = JsonDocumentFetcher(AllowedAddresses.from_hosts(private_hosts))
    await documents.open()
    try:
        async with open_role_database(deployment, BROKER_ROLE, most=2) as database:
            yield TrustedIssuers(database, documents, clock=get_utc_now)
    finally:
        await documents.close()
