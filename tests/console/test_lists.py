"""Every list of the console (`listed_pages.py`): loading, failing, empty, offline, filtered, sorted, page by page.

The API's own pages are asked for by two instead of a hundred, so that a list of three has more than one.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
import pytest_asyncio
from playwright.async_api import Error, Locator, Page, Route, expect

from broker.identity.scim_tokens import ScimTokens
from core.audit.sealer import seal_pending_events
from core.directory import access_requests, role_mappings
from core.directory.roles import find_role
from core.directory.users import create_user
from server.role_database import get_utc_now
from tests.console.console_app import NARROW, WIDE, ConsoleApp
from tests.console.job_rows import add_job, add_schedule
from tests.console.listed_pages import OF_NO_PAGE, PAGES, WITHOUT_LIST, ListedPage
from tests.support.canary import SUITE
from tests.support.directory import assign_role, create_role, grant
from tests.support.mcp_client import Client
from tests.support.product import ACTOR, Person
from tools import console

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGE_SIZE = 2
AT_ONCE = 3
"""Pages that are looked at at the same time: each waits for three seconds until the console gives up."""
DRAWS_A_LIST = re.compile(r"<(?:DataTable|PagedItems|ItemList|GridList)\b|useInfiniteQuery\(")
PROBLEM = {"type": "about:blank", "title": "x", "status": 500, "code": "internal", "detail": "", "request_id": "r-500"}
FOLDED = "main [class*=_modules] h2 button[data-row]"


@dataclass(slots=True)
class Answers:
    """What the API answers when the list is read: nothing yet, an error, no items, or what there is."""

    page: ListedPage
    mode: str = "hold"
    cursors: list[str] = field(default_factory=list[str])
    """Those of further pages that were asked for."""
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, route: Route) -> None:
        """Answer one request."""
        if self.mode == "hold":
            await self.goes_on.wait()
        if self.mode == "empty":
            await route.fulfill(json=self.page.nothing)
        elif self.mode == "real" and self.page.some is not None:
            await route.fulfill(json=self.page.some)
        elif self.mode == "real":
            await self._pass_on(route)
        else:
            await route.fulfill(status=500, content_type="application/problem+json", body=json.dumps(PROBLEM))

    async def _pass_on(self, route: Route) -> None:
        url = route.request.url
        self.cursors += parse_qs(urlsplit(url).query).get("cursor", [])
        await route.continue_(url=re.sub(r"\blimit=\d+", f"limit={PAGE_SIZE}", url) if self.page.paged else url)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def things(app: ConsoleApp) -> dict[str, str]:
    """Three of everything in a tenant of their own; what a path may name."""
    admin, console_database = app.other_admin, app.product.console
    amy, bob = [
        await create_user(console_database, ACTOR, admin.tenant.id, f"{name}@umbrella.test") for name in ("amy", "bob")
    ]
    for place, name in enumerate(("alpha", "beta", "gamma")):
        await create_role(console_database, ACTOR, admin.tenant.id, name, 30 - 10 * place)
        await app.product.tokens.create(ACTOR, admin.tenant.id, admin.id, f"token {name}")
        await app.connect_client(admin, f"client {name}")
        await ScimTokens(app.identity.zone.database, clock=app.product.clock).create(ACTOR, admin.tenant.id, name)
        await app.identity.session(admin)
    for person in (amy, bob, admin.id):
        asked, _ = await access_requests.create_request(
            console_database, ACTOR, admin.tenant.id, person, "notion", "search_pages", "why"
        )
    role = await find_role(console_database, admin.tenant.id, "alpha")
    await _fill_role(app, admin, role.id)
    await _fill_by_sql(app, admin.tenant.id)
    for tool in ("get_job_logs", "push_files", "list_issues"):
        await add_job(app, admin, "succeeded", tool=tool)
        await add_schedule(app, admin, f"Watch {tool}", tool=tool)
    await _fill_log(app, admin)
    await _add_providers(app)
    return {"person": str(admin.id), "role": str(role.id), "request": str(asked.id)}


async def _fill_role(app: ConsoleApp, admin: Person, role_id: UUID) -> None:
    console_database, tenant_id = app.product.console, admin.tenant.id
    await grant(console_database, ACTOR, tenant_id, "alpha", "allow", "*")
    for name in ("eve", "amy", "bob"):
        await assign_role(console_database, ACTOR, tenant_id, f"{name}@umbrella.test", "alpha")
    for name in ("gamma", "beta", "alpha"):
        await role_mappings.add_role_mapping(console_database, ACTOR, tenant_id, "domain", "", f"{name}.test", role_id)


async def _fill_by_sql(app: ConsoleApp, tenant_id: UUID) -> None:
    async with app.product.database.admin_connection() as admin:
        for name in ("alpha", "beta", "gamma"):
            await admin.execute(
                "INSERT INTO auth.trusted_issuers (tenant_id, issuer, jwks_uri, created_at) VALUES ($1, $2, $3, now())",
                tenant_id,
                f"https://{name}.idp.test",
                f"https://{name}.idp.test/keys",
            )


async def _add_providers(app: ConsoleApp) -> None:
    page = await app.open(await app.add_operator(), "/profile")
    send = """name => fetch(`/api/v1/deployment/identity-providers/${name}`, {method: 'PUT',
        headers: {'Content-Type': 'application/json'}, body: JSON.stringify({kind: 'oidc', label: name,
        issuer: `https://${name}.idp.test`, client_id: name, client_secret: 'made-up', despite_failures: true})})
        .then(async answer => [answer.status, await answer.text()])"""
    for name in ("alpha", "beta", "gamma"):
        status, text = await page.evaluate(send, name)
        assert status == 200, text


async def _fill_log(app: ConsoleApp, admin: Person) -> None:
    caller = await app.product.with_token(admin)
    await Client(app.identity.gateway.app, SUITE.hear).call(caller.token, "notion", "search_pages", {})
    await seal_pending_events(app.product.console, get_utc_now)


def _rows(page: Page, listed: ListedPage) -> Locator:
    if listed.kind == "card":
        return page.locator(FOLDED)
    if listed.kind == "row":
        found = page.get_by_role("table", name=listed.label, exact=True).or_(
            page.get_by_role("grid", name=listed.label)
        )
        return found.get_by_role("row").filter(has_not=page.get_by_role("columnheader"))
    return page.get_by_role("list", name=listed.label, exact=True).get_by_role("listitem")


def _again(page: Page) -> Locator:
    return page.get_by_role("alert").get_by_role("button", name="Try again")


async def _check_beginning(page: Page, answers: Answers) -> None:
    await page.get_by_role("status", name="Loading").first.wait_for()
    answers.mode = "fail"
    answers.goes_on.set()
    await _again(page).first.wait_for()
    answers.mode = "real"
    await _again(page).first.click()


async def _check_pages(page: Page, listed: ListedPage, answers: Answers) -> None:
    rows = _rows(page, listed)
    await rows.first.wait_for()
    if not listed.paged:
        return
    more = page.get_by_role("button", name="Load more")
    await rows.nth(PAGE_SIZE).or_(more.first).first.wait_for()
    if await more.first.is_visible():
        await more.first.click()
    await rows.nth(PAGE_SIZE).wait_for()
    assert answers.cursors, f"{listed.name} is read in one page"


async def _check_filter(page: Page, listed: ListedPage) -> None:
    rows, search = _rows(page, listed), page.get_by_role("searchbox", name=listed.search, exact=True)
    await search.fill("zz qq")
    await page.get_by_text(listed.no_match).first.wait_for()
    await search.fill(listed.words)
    await expect(rows).to_have_count(1)
    await expect(rows.first).to_contain_text(re.compile(listed.words, re.IGNORECASE))
    await search.fill("")
    await rows.nth(1).wait_for()


async def _check_sort(page: Page, listed: ListedPage) -> None:
    rows = _rows(page, listed)
    if listed.head:
        await page.set_viewport_size(NARROW)  # the heads of what is sorted are kept there
    first = await rows.first.inner_text()
    if listed.head:
        await page.get_by_role("columnheader", name=listed.head).get_by_role("button").click()
    else:
        search = page.get_by_role("searchbox", name=listed.search, exact=True)
        tools = page.locator("[class*=_tools]").filter(has=search)
        await tools.get_by_role("button", name="Order").click()
        await page.get_by_role("option", name=listed.order, exact=True).click()
    await expect(rows.first).not_to_have_text(first, use_inner_text=True)
    await expect(rows.first).to_be_visible()
    await page.set_viewport_size(WIDE)


async def _check_offline(page: Page, listed: ListedPage) -> None:
    await page.context.set_offline(True)
    await page.get_by_text("You are offline.").wait_for()
    await expect(_rows(page, listed).first).to_be_visible()
    await page.context.set_offline(False)
    await page.get_by_text("You are offline.").wait_for(state="detached")


async def _check_empty(page: Page, url: str, listed: ListedPage, answers: Answers) -> None:
    if not listed.empty:
        return
    answers.mode = "empty"
    await page.goto(url)
    await page.get_by_text(listed.empty).first.wait_for()
    assert await _again(page).count() == 0


async def _check(page: Page, url: str, listed: ListedPage) -> None:
    answers = Answers(listed)
    pattern = "[^/?]+".join(map(re.escape, listed.api.split("*")))
    read = re.compile(rf"/api/v1/{pattern}(?:\?|$)")
    await page.route(read, lambda route: answers.answer(route))
    await page.goto(url)
    await _check_beginning(page, answers)
    await _check_pages(page, listed, answers)
    if listed.search:
        await _check_filter(page, listed)
    if listed.head or listed.order:
        await _check_sort(page, listed)
    await _check_offline(page, listed)
    await _check_empty(page, url, listed, answers)
    await page.unroute(read)


async def _check_all(app: ConsoleApp, things: dict[str, str], listed: Sequence[ListedPage]) -> None:
    """Look at all of these, some at a time; the failures of all."""
    waiting, failures = list(listed), list[str]()

    people = {"administrator": app.other_admin, "newcomer": app.admin, "operator": await app.add_operator()}

    async def work(who: str) -> None:
        page = await app.open(people[who], "/profile")
        while own := [one for one in waiting if one.who == who]:
            waiting.remove(own[0])
            try:
                await _check(page, f"{app.identity.url}/console{own[0].path.format(**things)}", own[0])
            except (AssertionError, Error) as error:
                failures.append(f"{own[0].name}: {error}")
                await page.context.set_offline(False)

    await asyncio.gather(work("operator"), work("newcomer"), *(work("administrator") for _ in range(AT_ONCE)))
    for opened in app.pages:  # what the browser says of the network, which was away
        heard = opened.watched.complaints
        heard[:] = [line for line in heard if "ERR_INTERNET_DISCONNECTED" not in line]
    assert not failures, "\n".join(failures)


async def test_every_page_and_every_list_is_in_the_table() -> None:
    pages = console.SOURCES / "src" / "pages"
    paths = {
        found.group(1)
        for file in pages.glob("*/route.ts")
        for found in re.finditer(r"^  path: '([^']*)',$", file.read_text(), re.MULTILINE)
    }
    named = {re.split(r"[?#]", one.path)[0] for one in PAGES}
    assert paths == named | set(WITHOUT_LIST)
    drawn = {
        str(file.relative_to(pages).with_suffix(""))
        for file in pages.rglob("*.tsx")
        if DRAWS_A_LIST.search(file.read_text())
    }
    missing = drawn - {source for one in PAGES for source in one.sources} - set(OF_NO_PAGE)
    assert not missing, f"lists in no row of listed_pages.py: {sorted(missing)}"
    for one in PAGES:
        complete = one.search and (one.head or one.order) and one.paged
        assert complete or one.short, f"{one.name} has to say why it is not searched, sorted or paged"


async def test_every_list_in_every_state(app: ConsoleApp, things: dict[str, str]) -> None:
    await _check_all(app, things, [one for one in PAGES if not one.long])


@pytest.mark.long
@pytest.mark.parametrize("area", sorted({one.area for one in PAGES if one.long}))
async def test_every_list_of_a_panel_in_every_state(app: ConsoleApp, things: dict[str, str], area: str) -> None:
    await _check_all(app, things, [one for one in PAGES if one.long and one.area == area])
