"""The console in a real browser, on a product with two tenants.

async with console_app(database, folder) as app:
    page = await app.open(app.admin, "/users")
    await app.look(page, "users")          # no findings of axe, a picture in build/screenshots/console
    app.check()                            # no console message, CSP report, dialog or foreign request
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from broker.interface import Mandate, MandatePurpose, MandateRequest
from core.directory.tenants import Tenant
from core.directory.users import change_user, create_user
from core.secret import Secret
from tests.console.context_pool import PooledPage, get_pool
from tests.support.chromium import chromium
from tests.support.eventually import within
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Person, Product, product_on
from tools import console

PICTURES = console.ROOT / "build" / "screenshots" / "console"
TIMEOUT_MS = 15_000
OPERATORS = "operators"
WIDE: ViewportSize = {"width": 1280, "height": 800}
DEFAULT_OPTIONS: Mapping[str, Any] = {
    "viewport": WIDE,
    "locale": "en-GB",
    "timezone_id": "Asia/Tokyo",
    "reduced_motion": "reduce",
}
NARROW: ViewportSize = {"width": 360, "height": 740}
VIEWS: Mapping[str, Mapping[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": NARROW},
    "japanese": {"locale": "ja-JP"},
    "narrow-dark-japanese": {"viewport": NARROW, "color_scheme": "dark", "locale": "ja-JP"},
}
LOADING = "[aria-busy=true], [class*=_skeleton]"
"""What a page shows, by CSS, as long as something of it is not there."""
SHORT_VIEW = "narrow-dark-japanese"
in_every_view = pytest.mark.parametrize(
    "view",
    [name if name == SHORT_VIEW else pytest.param(name, marks=pytest.mark.long) for name in VIEWS],
)
"""Looks at a page in the view that most breaks in; the others take long."""
# Of what passes only one element is described, and style sheets, which are ours, are not fetched once more.
RULES = """axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'], preload: false})
  .then(({violations}) => violations.map((found) => `${found.id}: ${found.help}\\n`
    + found.nodes.slice(0, 3).map((node) => `  ${node.html.slice(0, 300)}\\n  ${node.failureSummary}`).join('\\n')))"""

COVERED = """[...document.querySelectorAll('[role$=dialog] button')].filter((button) => {
    const {left, top, width, height} = button.getBoundingClientRect()
    const shown = document.elementFromPoint(left + width / 2, top + height / 2)
    return shown?.closest('[data-react-aria-top-layer]') && !shown.closest('[role$=dialog]')
  }).map((button) => button.ariaLabel ?? button.textContent)"""
"""Buttons of dialogs on which a toast lies."""


def require_console() -> None:
    """Build the console unless it is built; skips the test where that is impossible."""
    try:
        console.prepare_tests()
    except console.BuildError as error:
        pytest.skip(f"THE CONSOLE IS NOT BUILT, no page of it was tried: {error}")


@dataclass(slots=True)
class ConsoleApp:
    """The product, a browser, and the people of two tenants."""

    identity: Identity
    browser: Browser
    admin: Person
    user: Person
    other_admin: Person
    """Of another tenant."""
    operator: Person | None = None
    pages: list[PooledPage] = field(default_factory=list[PooledPage])
    """Those that the test has opened."""
    complaints: list[str] = field(default_factory=list[str])
    origins: set[str] = field(default_factory=set[str])
    """What was heard of the tests before, as in :class:`Watched`."""

    @property
    def product(self) -> Product:
        return self.identity.product

    async def add_admin(self, email: str) -> Person:
        """One more administrator of the first tenant, for a test that changes their profile."""
        return await _create_admin(self.product, self.admin.tenant, email)

    async def make_admin(self, person: Person) -> None:
        """Make somebody an administrator who keeps their roles."""
        await change_user(self.product.console, ACTOR, person.tenant.id, person.id, system_role="admin")

    async def add_operator(self) -> Person:
        """An administrator of the operators' tenant; the same one each time."""
        if self.operator is None:
            tenant = await self.product.tenant(OPERATORS)
            self.operator = await _create_admin(self.product, tenant, "root@operators.test")
        return self.operator

    async def connect_client(self, person: Person, name: str) -> None:
        """An application that a person has let in."""
        client = await self.identity.client(person.tenant, "http://127.0.0.1/callback", name=name)
        async with self.product.database.admin_connection() as admin:
            await admin.execute(
                """INSERT INTO auth.grants
                (tenant_id, user_id, kind, client_id, client_name, scopes, resource, created_at, last_used_at,
                expires_at)
                SELECT $1, $2, 'code', $3, $4, '{mcp:read}', $5, now(), now(), now() + interval '30 days'""",
                person.tenant.id,
                person.id,
                client.id,
                name,
                f"{self.identity.url}/mcp",
            )

    async def start_absent_work(self, person: Person, title: str, purpose: MandatePurpose) -> None:
        """Something that is to go on in a person's absence."""
        until = self.product.clock() + timedelta(days=7)
        tools = (("knowledge_graph", "create_entities"),)
        wanted = MandateRequest(Secret(person.token), purpose, uuid4(), title, tools, until)
        assert isinstance(await self.identity.zone.broker.create_mandate(wanted), Mandate)

    async def open(self, person: Person | None, path: str = "", **options: Any) -> Page:
        """A page of the console in a browser of its own, as somebody who has just signed in (None: nobody)."""
        settings = {**DEFAULT_OPTIONS, **options}
        opened = await get_pool(self.browser).take(settings)
        self.pages.append(opened)
        page = opened.page
        await page.set_viewport_size(settings["viewport"])
        if person is not None:
            await self.use_session(page, person)
        page.set_default_timeout(TIMEOUT_MS)
        await page.goto(f"{self.identity.url}/console{path}")
        return page

    async def use_session(self, page: Page, person: Person) -> None:
        """Let the page's browser be signed in as somebody, as after a sign-in in another tab."""
        name, _, value = (await self.identity.session(person)).partition("=")
        await page.context.add_cookies([{"name": name, "value": value, "url": self.identity.url}])

    async def look(self, page: Page, name: str) -> None:
        """Keep a picture, and fail where axe finds something, the page scrolls sideways or a toast covers a button."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=PICTURES / f"{name}.png")
        wide, visible = await page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert wide <= visible, f"{name} scrolls sideways: {wide} px of {visible}"
        assert await page.evaluate(COVERED) == [], f"{name}: a toast covers buttons"
        found = await find_axe_violations(page)
        assert not found, f"{name}\n" + "\n".join(found)

    async def close_pages(self) -> None:
        """End all pages of a test; what was heard of them stays for :meth:`check`."""
        used, self.pages = self.pages, []
        for page in used:
            await get_pool(self.browser).give_back(page, self.identity.url)
            self.complaints += page.watched.complaints
            self.origins |= page.watched.origins
            page.watched.complaints.clear()
            page.watched.origins.clear()

    def check(self, *origins: str) -> None:
        """Nothing happened in any browser that should not, and no request went to others than us and `origins`."""
        assert not self.complaints, "\n".join(self.complaints)
        foreign = self.origins - {*self.identity.origins, *origins}
        assert not foreign, f"requests went to {foreign}"


async def wait_until(page: Page, function: str, argument: object = None) -> None:
    """Wait until a function of the page's gives true. Not `page.wait_for_function`: it looks again by `eval`, which the
    policy forbids."""

    async def is_true() -> bool:
        return await page.evaluate(function, argument)

    await within(TIMEOUT_MS / 1000, is_true)


async def confirm_by_typing(page: Page, name: str, button: str) -> None:
    """Type what the open question asks for, without which its button does nothing, and press it."""
    question = page.get_by_role("alertdialog")
    pressed = question.get_by_role("button", name=button)
    await expect(pressed).to_be_disabled()
    await question.get_by_label(f"Type {name} to confirm").fill(name)
    await pressed.click()


async def find_axe_violations(page: Page) -> list[str]:
    """What axe-core finds on the page as it is."""
    # Evaluated by the debugger: under Trusted Types a page takes no script element.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate((console.SOURCES / "node_modules" / "axe-core" / "axe.min.js").read_text() + ";0")
    return await page.evaluate(RULES)


@contextlib.asynccontextmanager
async def console_app(database: ScratchDatabase, folder: Path, **options: Any) -> AsyncIterator[ConsoleApp]:
    """Start the product and the browser; `options` are those of :func:`tests.support.identity.identity_on`."""
    require_console()
    async with (
        chromium() as browser,
        product_on(database, folder) as product,
        identity_on(
            product,
            listen_port=get_pool(browser).port,
            **{"providers": False, "operator_tenant": OPERATORS, **options},
        ) as identity,
    ):
        # The browser has parsed the scripts of this address.
        get_pool(browser).port = urlsplit(identity.url).port or 0
        acme, umbrella = await product.tenant("acme"), await product.tenant("umbrella")
        admin = await _create_admin(product, acme, "ada@acme.test")
        other = await _create_admin(product, umbrella, "eve@umbrella.test")
        user = await product.person(acme, "ben@acme.test", allow=["*"])
        yield ConsoleApp(identity, browser, admin, user, other)


async def _create_admin(product: Product, tenant: Tenant, email: str) -> Person:
    return Person(tenant, await create_user(product.console, ACTOR, tenant.id, email, system_role="admin"), email)
