"""People of a split deployment with accounts at a vendor that refreshes."""

import json
from uuid import UUID

from broker.connections.account_repository import AccountGrant, insert_account, insert_client
from broker.oauth_client.types import OAuthClientConfig
from broker.vault.credential_store import CredentialOwner
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.db import connect
from server.deployment import KEYS_FOLDER, VAULT_KEYS_FILE
from server.role_database import get_utc_now
from tests.broker.refresh.vendor import Vendor
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person
from tests.support.split import Split

ADD_PROVIDER = "INSERT INTO vault.providers (tenant_id, id, document) VALUES ($1, $2, $3::jsonb)"
FIND_CLIENT = "SELECT id FROM vault.oauth_clients WHERE tenant_id = $1 AND provider = $2"


async def add_person(deployment: Split, name: str) -> Person:
    tenant = await deployment.product.tenant(f"{name}-co", services=["knowledge_graph", "shop"])
    made = await deployment.product.person(tenant, f"{name}@acme.test", allow=["*"])
    await deployment.add(made, f"a-token-at-the-shop-of-{name}")
    return made


async def connect_account(
    deployment: Split, person: Person, vendor: Vendor, client: OAuthClientConfig | None = None
) -> UUID:
    """Store an account of a person; `client` is the OAuth client as the tenant has it, else the right one. A tenant's
    further accounts have the client of the first."""
    keys = InMemoryKeyProvider.from_file(deployment.broker.home / KEYS_FOLDER / VAULT_KEYS_FILE)
    vault = await open_vault(deployment.operator, keys, clock=get_utc_now)
    async with deployment.operator.tenant(person.tenant.id) as work:
        client_id = await work.fetchval(FIND_CLIENT, vendor.id)
        if client_id is None:
            await work.execute(ADD_PROVIDER, vendor.id, json.dumps(vendor.document))
            client_id = await insert_client(work, vault, vendor.id, client or vendor.client)
        assert vendor.provider.oauth is not None
        owner, tokens = CredentialOwner("personal", person.id), await vendor.grant(person.email)
        grant = AccountGrant(vendor.id, client_id, owner, tokens, vendor.provider.oauth.refresh)
        return await insert_account(work, vault, grant)


async def make_due(database: ScratchDatabase, *accounts: UUID) -> None:
    admin = await connect(database.admin)
    try:
        await admin.execute(
            "UPDATE vault.accounts SET refresh_at = vault.clock() WHERE id = ANY ($1::uuid[])", accounts
        )
    finally:
        await admin.close()


async def has_refreshed(vendor: Vendor, times: int) -> bool:
    return (await vendor.counters()).get("granted:refresh_token", 0) == times
