"""What others do appears without a reload, and after a gap of the event stream the page reads anew (decision 64)."""

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from broker.vault.credential_store import CredentialOwner, CredentialStore
from core.audit.event import AuditEventKind
from core.audit.sealer import seal_pending_events
from core.directory.access_requests import create_request
from core.directory.audit_trail import audit_change
from core.secret import Secret
from server.role_database import get_utc_now
from tests.console.console_app import ConsoleApp
from tests.support.directory import create_role
from tests.support.product import ACTOR

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def _seal(app: ConsoleApp) -> None:
    await seal_pending_events(app.product.console, get_utc_now)


def _row(page: Page, text: str):
    return page.get_by_role("row").filter(has_text=text)


async def test_a_request_appears_for_administrators_of_its_tenant(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "asks-now@acme.test", allow=["knowledge_graph:read"])
    page = await app.open(app.admin, "/requests")
    other = await app.open(app.other_admin, "/requests")
    for one in (page, other):
        await one.get_by_text("People ask here for tools").wait_for()
    await create_request(app.product.console, ACTOR, person.tenant.id, person.id, "notion", "search_pages", "")
    await _seal(app)
    await _row(page, "asks-now@acme.test").wait_for()
    await expect(other.get_by_text("People ask here for tools")).to_be_visible()


async def test_a_broken_connection_appears_for_its_owner(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "breaks@acme.test", allow=["github:read"])
    zone = app.identity.zone
    store = CredentialStore(zone.database, zone.vault, clock=zone.clock)
    await store.put(ACTOR, person.tenant.id, "github", CredentialOwner("personal", person.id), Secret("a key"), "me")
    await _seal(app)
    page = await app.open(person, "/tools")
    card = page.locator("section").filter(has=page.get_by_role("button", name="GitHub", exact=True))
    await expect(card).to_contain_text("Connected")
    async with app.product.database.admin_connection() as admin:
        credential = await admin.fetchval(
            "UPDATE vault.credentials SET state = 'broken', cause = 'revoked' WHERE user_id = $1 RETURNING id",
            person.id,
        )
    async with zone.database.tenant(person.tenant.id) as work:
        detail = {"credential": str(credential), "user": str(person.id), "module": "github", "cause": "revoked"}
        await audit_change(work, ACTOR, AuditEventKind.CREDENTIAL_BROKEN, **detail)
    await _seal(app)
    await expect(card).to_contain_text("Broken")


@pytest.mark.long
async def test_a_change_of_ones_own_is_fetched_once(app: ConsoleApp) -> None:
    """Somebody else's page shows when the hint has come; what another person does then is fetched after it."""
    person, colleague = await app.add_admin("fetches@acme.test"), await app.add_admin("watches@acme.test")
    await _seal(app)
    page, other = await app.open(person, "/roles"), await app.open(colleague, "/roles")
    for one in (page, other):
        await one.get_by_role("button", name="Add role").wait_for()
    fetched = list[str]()
    page.on("request", lambda request: fetched.append(request.url) if "/api/v1/roles?" in request.url else None)
    await page.get_by_role("button", name="Add role").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Name").fill("Made here")
    await form.get_by_role("button", name="Add role").click()
    await _row(page, "Made here").wait_for()
    assert len(fetched) == 1
    await _seal(app)
    await _row(other, "Made here").wait_for()
    await create_role(app.product.console, ACTOR, person.tenant.id, "Made elsewhere")
    await _seal(app)
    await _row(page, "Made elsewhere").wait_for()
    assert len(fetched) == 2, "once for one's own change, once for the other one"


async def test_after_a_gap_the_page_reads_anew(app: ConsoleApp) -> None:
    missed, opened = asyncio.Event(), asyncio.Event()

    async def answer(route: Route) -> None:
        name = "reset" if opened.is_set() else "ready"
        if opened.is_set():
            await missed.wait()
        opened.set()
        await route.fulfill(content_type="text/event-stream", body=f"event: {name}\ndata: {{}}\n\n")

    person = await app.add_admin("gap@acme.test")
    await create_role(app.product.console, ACTOR, person.tenant.id, "Made before")
    page = await app.open(person, "/roles")
    await page.context.route("**/api/v1/events", answer)
    await page.reload()
    await _row(page, "Made before").wait_for()
    await opened.wait()
    await create_role(app.product.console, ACTOR, person.tenant.id, "Made in the gap")
    await expect(_row(page, "Made in the gap")).to_have_count(0)
    missed.set()
    await _row(page, "Made in the gap").wait_for()
    await page.context.unroute("**/api/v1/events")
