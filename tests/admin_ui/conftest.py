"""An app for every test of the admin API."""

from collections.abc import AsyncIterator

import pytest

from tests.admin_ui.admin_app import AdminApp, Tenant, app_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[AdminApp]:
    async with app_on(database) as made:
        yield made


@pytest.fixture
async def acme(app: AdminApp) -> Tenant:
    return await app.tenant("acme")
