"""Every page of an administrator in every view. Short tests look at a page in one (`in_every_view`)."""

import pytest
from playwright.async_api import expect

from tests.console.console_app import LOADING, VIEWS, ConsoleApp

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]
PAGES = {
    "dashboard": "",
    "start": "?view=own",
    "tools": "/tools",
    "jobs": "/jobs",
    "schedules": "/jobs?view=schedules",
    "profile": "/profile",
    "users": "/users",
    "requests": "/requests",
    "roles": "/roles",
    "roles-order": "/roles?view=order",
    "services": "/services",
    "providers": "/services?view=providers",
    "clients": "/clients",
    "logs": "/logs",
    "settings": "/settings",
    "doctor": "/doctor",
}
PAGES_OF_OPERATORS = {
    "operator-tenants": "/tenants",
    "operator-identity": "/identity",
    "operator-senders": "/senders",
    "operator-keys": "/keys",
    "operator-doctor": "/doctor",
}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("view", VIEWS)
async def test_every_page_in_every_view(app: ConsoleApp, view: str) -> None:
    operator = await app.add_operator()
    visits = [(app.admin, *visit) for visit in PAGES.items()]
    visits += [(operator, *visit) for visit in PAGES_OF_OPERATORS.items()]
    for person, name, path in visits:
        page = await app.open(person, path, **VIEWS[view])
        await page.get_by_role("heading", level=1).wait_for()
        await expect(page.locator(LOADING)).to_have_count(0)
        await app.look(page, f"page-{name}-{view}")
        await page.close()
