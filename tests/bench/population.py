"""Fill a running product's database with tenants, users and permissions, and make tokens for some of the users."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from broker.vault.credential_store import CredentialOwner, CredentialStore
from core.directory.audit_trail import Actor
from core.secret import Secret
from server.operator_context import OperatorContext, open_operator_context
from server.vault_keys import open_credentials
from tests.bench.lab import Product
from tests.bench.product import unlimited

SCRIPT = Path(__file__).with_name("population.sql")
ACTOR = Actor("bench")


def populate(product: Product, tenants: int, callers: int) -> tuple[str, ...]:
    """Make `tenants` tenants of 100 users; the tokens of `callers` users, each of another tenant where there are so
    many."""
    return asyncio.run(_populate(product, tenants, callers))


async def _populate(product: Product, tenants: int, callers: int) -> tuple[str, ...]:
    async with open_operator_context(
        unlimited(product.home, product.port, product.upstream), lambda _text: None
    ) as operating:
        admin: Any = await asyncpg.connect(**operating.deployment.admin.connect_args())
        try:
            async with admin.transaction():
                await admin.execute(SCRIPT.read_text().replace(":tenants", str(tenants)))
            await admin.execute("ANALYZE")
            chosen = await admin.fetch(
                """SELECT tenant_id, id FROM core.users WHERE email LIKE 'user%@bench-%'
                ORDER BY substring(email FROM 'user(\\d+)@')::int, tenant_id LIMIT $1""",
                callers,
            )
        finally:
            await admin.close()
        async with open_credentials(operating.deployment) as credentials:
            return tuple([await _caller(operating, credentials, row["tenant_id"], row["id"]) for row in chosen])


async def _caller(operating: OperatorContext, credentials: CredentialStore, tenant_id: UUID, user_id: UUID) -> str:
    """The API token of one who has a credential for GitHub."""
    owner = CredentialOwner("personal", user_id)
    await credentials.put(ACTOR, tenant_id, "github", owner, Secret(f"bench-{user_id}"), "bench")
    _, token = await operating.tokens.create(ACTOR, tenant_id, user_id, "load")
    return token.reveal()
