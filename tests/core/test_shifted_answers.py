"""A pooler, or a proxy, gives an answer of the database once too often: nobody reads another tenant's rows by it."""

import contextlib
from typing import Any

from core.db import Database
from core.errors import Unavailable
from tests.support.postgres import PASSWORDS, ScratchDatabase
from tests.support.postgres_proxy import postgres_proxy

SQL = "SELECT email FROM core.users WHERE tenant_id = $1"


async def test_an_answer_too_many_reaches_no_other_tenant(database: ScratchDatabase, make_tenant: Any) -> None:
    acme, globex = await make_tenant(users=1), await make_tenant(users=1)
    async with database.admin_connection() as admin:
        rows = await admin.fetch("SELECT tenant_id, email FROM core.users")
    emails = {row["tenant_id"]: row["email"] for row in rows}
    async with postgres_proxy(database.admin) as proxy:
        pool = Database(proxy.address.as_role("mcpist_gateway", PASSWORDS["mcpist_gateway"]), max_connections=1)
        await pool.open()
        answered = 0

        async def look(tenant: Any) -> None:
            nonlocal answered
            with contextlib.suppress(Unavailable):  # the connection is dropped, and the next one is sound
                async with pool.tenant(tenant.id) as work:
                    found = await work.fetchval(SQL)
                assert found == emails[tenant.id]
                answered += 1

        for _ in range(6):
            for tenant in (acme, globex):
                await look(tenant)
                await proxy.repeat()
                await look(globex if tenant is acme else acme)
        for tenant in (acme, globex):
            await look(tenant)
            await look(tenant)
        assert answered >= 8
        await pool.close()
