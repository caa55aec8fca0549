"""The two roles that the audit log knows, and a sealer."""

from collections.abc import AsyncIterator

import pytest

from core.audit.sealer import AuditSealer
from core.db import Database
from tests.core.audit.support import utc_now
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def broker(database: ScratchDatabase) -> AsyncIterator[Database]:
    async with database.open("mcpist_broker") as opened:
        yield opened


@pytest.fixture
async def console(database: ScratchDatabase) -> AsyncIterator[Database]:
    async with database.open("mcpist_console") as opened:
        yield opened


@pytest.fixture
def sealer(console: Database) -> AuditSealer:
    return AuditSealer(console, utc_now)
