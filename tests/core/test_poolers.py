"""A pooler in front of the database: in session mode all is kept, in the others nothing is begun."""

import pytest

from core.db import check_sessions
from core.errors import Invalid
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres import PASSWORDS, ScratchDatabase


@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_a_connection_that_changes_its_server_process_is_refused(database: ScratchDatabase, mode: str) -> None:
    async with pgbouncer(database.admin, mode) as pooled:
        for role in ("", "mcpist_gateway", "mcpist_broker"):
            address = pooled.as_role(role, PASSWORDS[role]) if role else pooled
            with pytest.raises(Invalid, match="pool_mode = session"):
                await check_sessions(address)


async def test_a_pool_in_session_mode_will_do(database: ScratchDatabase) -> None:
    await check_sessions(database.admin)
    async with pgbouncer(database.admin, "session") as pooled:
        await check_sessions(pooled)
        await check_sessions(pooled.as_role("mcpist_gateway", PASSWORDS["mcpist_gateway"]))
