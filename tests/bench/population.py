"""Fill a running product's database with tenants, users and permissions, and make tokens for some of the users."""

import asyncio
from pathlib import Path
from typing import Any

import asyncpg

from core.directory.actor import Actor
from gateway.single.operator import Operator, operator
from tests.bench.lab import Product
from tests.bench.product import unlimited

SCRIPT = Path(__file__).with_name("population.sql")
ACTOR = Actor("bench")


def populate(product: Product, tenants: int, callers: int) -> tuple[str, ...]:
    """Make `tenants` tenants of 100 users; the tokens of `callers` users, each of another tenant where there are so
    many."""
    return asyncio.run(_populate(product, tenants, callers))


async def _populate(product: Product, tenants: int, callers: int) -> tuple[str, ...]:
    async with operator(unlimited(product.home, product.port), lambda _text: None) as operating:
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
        return tuple([await _token(operating, row) for row in chosen])


async def _token(operating: Operator, row: Any) -> str:
    _, token = await operating.tokens.create(ACTOR, row["tenant_id"], row["id"], "load")
    return token.reveal()
