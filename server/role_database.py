"""The product's database roles, and a pool of connections as one of them."""

import contextlib
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

from core.db import Database
from server.deployment import GATEWAY_ROLE as GATEWAY_ROLE
from server.deployment import Deployment

CONSOLE_ROLE = "mcpist_console"
BROKER_ROLE = "mcpist_broker"
WORKER_ROLE = "mcpist_worker"


def get_utc_now() -> datetime:
    """Return the clock of everything that stores a time."""
    return datetime.now(UTC)


@contextlib.asynccontextmanager
async def open_role_database(deployment: Deployment, role: str, *, max_connections: int) -> AsyncGenerator[Database]:
    """Open a pool of at most `max_connections` connections as one of the product's roles."""
    database = Database(deployment.get_role_address(role), max_connections=max_connections)
    await database.open()
    try:
        yield database
    finally:
        await database.close()
