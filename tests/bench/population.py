"""Fill a running product's database with tenants, users and permissions, and make tokens for some of the users."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from broker.vault.credential_store import CredentialOwner, CredentialStore
from broker.vault.vault import open_vault
from core.directory.audit_trail import Actor
from core.secret import Secret
from server.deployment import Deployment
from server.operator_context import OperatorContext, open_operator_context
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import load_deployment_guard, open_key_provider
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
        async with _open_credentials(operating.deployment) as credentials:
            origin = f"http://127.0.0.1:{product.upstream}"
            return tuple([await _caller(operating, credentials, origin, row["tenant_id"], row["id"]) for row in chosen])


def connect_administrator(product: Product, modules: Sequence[str]) -> None:
    """Store a credential of the first administrator's for each of the modules, also where people cannot paste one."""
    asyncio.run(_connect_administrator(product, modules))


async def _connect_administrator(product: Product, modules: Sequence[str]) -> None:
    settings = unlimited(product.home, product.port, product.upstream)
    async with (
        open_operator_context(settings, lambda _text: None) as operating,
        _open_credentials(operating.deployment) as credentials,
    ):
        admin: Any = await asyncpg.connect(**operating.deployment.admin.connect_args())
        user = await admin.fetchrow("SELECT tenant_id, id FROM core.users WHERE email = 'admin@localhost'")
        await admin.close()
        owner, origins = CredentialOwner("personal", user["id"]), [f"http://127.0.0.1:{product.upstream}"]
        for module in modules:
            await credentials.put(ACTOR, user["tenant_id"], module, owner, Secret("bench"), "bench", origins=origins)


async def _caller(
    operating: OperatorContext, credentials: CredentialStore, origin: str, tenant_id: UUID, user_id: UUID
) -> str:
    """The API token of one who has a credential for GitHub at `origin`."""
    owner = CredentialOwner("personal", user_id)
    await credentials.put(ACTOR, tenant_id, "github", owner, Secret(f"bench-{user_id}"), "bench", origins=[origin])
    _, token = await operating.tokens.create(ACTOR, tenant_id, user_id, "load")
    return token.reveal()


@contextlib.asynccontextmanager
async def _open_credentials(deployment: Deployment) -> AsyncGenerator[CredentialStore]:
    async with (
        open_role_database(deployment, BROKER_ROLE, max_connections=2) as database,
        open_key_provider(deployment) as keys,
    ):
        guard = await load_deployment_guard(deployment, database)
        yield CredentialStore(
            database, await open_vault(database, keys, clock=get_utc_now, guard=guard), clock=get_utc_now
        )
