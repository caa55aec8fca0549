"""A rig for every test of the admin API."""

from collections.abc import AsyncIterator

import pytest

from tests.admin_ui.rig import Rig, Tenant, rig_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def rig(database: ScratchDatabase) -> AsyncIterator[Rig]:
    async with rig_on(database) as made:
        yield made


@pytest.fixture
async def acme(rig: Rig) -> Tenant:
    return await rig.tenant("acme")
