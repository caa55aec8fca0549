"""Lists of thousands: pages come as they are scrolled to, and only the rows in sight are in the document."""

import statistics
import time
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from tests.console.console_app import ConsoleApp, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
INSERT = """INSERT INTO core.users (tenant_id, email, name)
    SELECT $1, 'person' || lpad(n::text, 6, '0') || '@long.test', '長い 名前 ' || n FROM generate_series(1, $2) AS n
    ON CONFLICT DO NOTHING"""
KEY_TO_PAINT = """async (letters) => {
  const field = document.querySelector('input[type=search]'), times = []
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
  for (const letter of letters) {
    const begun = performance.now()
    set.call(field, field.value + letter)
    field.dispatchEvent(new Event('input', {bubbles: true}))
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
    times.push(performance.now() - begun)
  }
  return times
}"""


async def _fill(app: ConsoleApp, tenant_id: UUID, count: int) -> None:
    async with app.product.database.admin_connection() as admin:
        await admin.execute(INSERT, tenant_id, count)


async def _rows(page: Page) -> int:
    return await page.get_by_role("row").count()


async def test_pages_come_as_they_are_scrolled_to(app: ConsoleApp) -> None:
    await _fill(app, app.other_admin.tenant.id, 450)
    page = await app.open(app.other_admin, "/users")
    await page.get_by_text("person000001@long.test").wait_for()
    assert await _rows(page) < 60, "of the first page's hundred"
    last = page.get_by_text("person000450@long.test")
    while not await last.is_visible():
        await page.mouse.wheel(0, 4000)
        await page.evaluate("new Promise(requestAnimationFrame)")
    await expect(page.get_by_text("451 in all")).to_be_visible()
    assert await _rows(page) < 60
    await last.click()
    await page.get_by_role("dialog").wait_for()
    await page.keyboard.press("Escape")
    await page.get_by_role("dialog").wait_for(state="detached")
    await expect(last).to_be_visible()
    await app.look(page, "users-scrolled")


async def test_rows_are_walked_by_keyboard(app: ConsoleApp) -> None:
    await _fill(app, app.other_admin.tenant.id, 450)
    page = await app.open(app.other_admin, "/users")
    await page.get_by_text("person000001@long.test").wait_for()
    for _ in range(40):
        await page.keyboard.press("j")
    await wait_until(page, "() => document.activeElement.textContent.startsWith('person0000')")
    focused = await page.evaluate("document.activeElement.textContent")
    await page.keyboard.press("ArrowDown")
    await wait_until(page, "(before) => document.activeElement.textContent > before", focused)
    await page.keyboard.press("k")
    await wait_until(page, "(before) => document.activeElement.textContent === before", focused)
    await page.keyboard.press("Enter")
    await page.get_by_role("dialog", name="長い 名前").wait_for()
    await page.keyboard.press("Escape")
    await wait_until(page, "(before) => document.activeElement.textContent === before", focused)


@pytest.mark.long
async def test_ten_thousand_people_are_searched_at_once(app: ConsoleApp) -> None:
    await _fill(app, app.other_admin.tenant.id, 10_000)
    page = await app.open(app.other_admin, "/users")
    await page.get_by_text("person000001@long.test").wait_for()
    times: list[float] = []
    for words in ("なまえ", "person 77", "ナガイ", "長い 9999"):
        begun = time.perf_counter()
        answer = await page.request.get(f"{app.identity.url}/api/v1/users?limit=100&q={words}")
        times.append(1000 * (time.perf_counter() - begun))
        assert answer.ok
    keys = await page.evaluate(KEY_TO_PAINT, "person0099")
    print(f"search {statistics.median(times):.0f} ms, key to paint {statistics.median(keys):.0f} to {max(keys):.0f} ms")
    assert statistics.median(times) < 200
    assert statistics.median(keys) < 100
