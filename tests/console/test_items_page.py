"""Items in the console: listed and filtered, made and changed, a picture of relations, and the current state."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from modules.items import MODULE
from tests.console.attacks import ATTACKS
from tests.console.console_app import VIEWS, ConsoleApp, confirm_by_typing, in_every_view
from tests.support import modules
from tests.support.product import Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TITLES = (
    ("task", "Move the warehouse to Osaka", "In Progress", "HIGH", ["osaka", "move"]),
    ("task", "倉庫のレイアウトを決める", "Open", "MEDIUM", ["osaka"]),
    ("decision", "Keep two shifts until the move is done", "Open", "CRITICAL", []),
    ("note", "What the landlord said about the second gate", "Open", "LOW", ["move"]),
    ("task", "Measure the old shelves", "Completed", "MINIMAL", ["move"]),
)
TYPES = ("task", "decision", "note", "bug-report", "作業", "risk")
MANY = 200
"""Items of the large picture."""


async def _person(app: ConsoleApp, name: str) -> Person:
    return await app.product.person(app.admin.tenant, f"{name}@acme.test", allow=["items.*"])


@asynccontextmanager
async def _tools(app: ConsoleApp, person: Person) -> AsyncIterator[modules.Person]:
    """The tools of items as this person, without a client."""
    async with app.product.database.open("mcpist_gateway") as gateway:
        yield modules.Person(gateway, MODULE, person.tenant.id, person.id)


async def _fill(app: ConsoleApp, person: Person) -> None:
    async with _tools(app, person) as items:
        for type, title, status, priority, tags in TITLES:
            await items.call("create_item", type=type, title=title, status=status, priority=priority, tags=tags)
        related = ["task-2", "decision-1"]
        await items.call("update_item", type="task", id=1, related=related, content="# Why\n\n<b>rent</b>")
        await items.call("update_item", type="task", id=2, related=["note-1"])


async def _fill_many(app: ConsoleApp, person: Person) -> None:
    """200 items around one: 12 beside it, 67 beside those, the others beyond."""
    async with _tools(app, person) as items:
        keys: list[str] = []
        for number in range(MANY):
            near = (
                [] if number == 0 else [0] if number <= 12 else [1 + number % 12] if number < 80 else [13 + number % 67]
            )
            if number % 7 == 0 and number > 100:
                near.append(number - 1)
            made = await items.call(
                "create_item",
                type=TYPES[number % len(TYPES)],
                title=f"Item {number} about the move of the warehouse"
                if number % 3
                else f"倉庫移転に関する項目 {number}",
                related=[keys[one] for one in near],
            )
            keys.append(made["key"])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def owner_of_many(app: ConsoleApp) -> Person:
    """Somebody with 200 items around one."""
    person = await _person(app, "has-many")
    await _fill_many(app, person)
    return person


@in_every_view
async def test_the_list_in_every_view(app: ConsoleApp, view: str) -> None:
    person = await _person(app, f"lists-{view}")
    await _fill(app, person)
    page = await app.open(person, "/items", **VIEWS[view])
    rows = page.get_by_role("table").get_by_role("row")
    await expect(rows).to_have_count(5)
    await app.look(page, f"items-{view}")
    await page.get_by_role("link", name="Move the warehouse").click()
    panel = page.get_by_role("dialog")
    await expect(panel).to_contain_text("<b>rent</b>")
    await app.look(page, f"items-panel-{view}")
    await panel.get_by_role("button", name=re.compile("^(Edit|編集)$")).click()
    await page.get_by_role("dialog").last.get_by_role("textbox").first.wait_for()
    await app.look(page, f"items-edit-{view}")


async def test_filters_count_together_and_stay_in_the_address(app: ConsoleApp) -> None:
    person = await _person(app, "filters")
    await _fill(app, person)
    page = await app.open(person, "/items")
    rows = page.get_by_role("table").get_by_role("row")
    await expect(rows).to_have_count(5)
    await page.get_by_text("Closed ones too").click()
    await expect(rows).to_have_count(6)
    await _choose(page, "Any type", "task")
    await expect(rows).to_have_count(4)
    await _choose(page, "Any tag", "move")
    await expect(rows).to_have_count(3)
    await _choose(page, "Any status", "Completed")
    await expect(rows).to_have_count(2)
    await page.get_by_role("searchbox").fill("shelves")
    await expect(page).to_have_url(re.compile("q=shelves"))
    await page.reload()
    await expect(rows).to_have_count(2)
    await expect(rows.last).to_contain_text("Measure the old shelves")
    await app.look(page, "items-filtered")
    await page.get_by_role("searchbox").fill("gate")
    await page.get_by_role("heading", name="Nothing matches “gate”").wait_for()
    await page.get_by_role("main").get_by_role("button", name="Clear all").last.click()
    await expect(rows).to_have_count(6)


async def _choose(page: Page, shown: str, name: str) -> None:
    await page.get_by_role("main").get_by_role("button", name=shown).click()
    await page.get_by_role("option", name=name, exact=True).click()


async def test_an_item_is_made_changed_and_deleted_by_keyboard(app: ConsoleApp) -> None:
    person = await _person(app, "makes")
    page = await app.open(person, "/items")
    await page.get_by_role("heading", name="No items").wait_for()
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New item")
    await dialog.get_by_role("textbox", name="Type").fill("task")
    await dialog.get_by_role("textbox", name="Title").fill("Call the landlord")
    await dialog.get_by_role("textbox", name="Tags").fill("move\nosaka, 2nd")
    await dialog.get_by_role("textbox", name="Related items").fill("task-9")
    await page.keyboard.press("Control+Enter")
    await dialog.get_by_role("alert").or_(dialog.get_by_text("task-9", exact=False)).first.wait_for()
    await app.look(page, "items-refused")
    await dialog.get_by_role("textbox", name="Related items").fill("")
    await dialog.get_by_role("textbox", name="End").fill("2026-12-31")
    await page.keyboard.press("Control+Enter")
    await expect(dialog).to_have_count(0)
    await page.get_by_role("link", name="Call the landlord").focus()
    await page.keyboard.press("Enter")
    panel = page.get_by_role("dialog", name="Call the landlord")
    await expect(panel).to_contain_text("move, osaka, 2nd")
    await expect(panel).to_contain_text("2026-12-31")
    await panel.get_by_role("button", name="Edit").click()
    form = page.get_by_role("dialog", name="Edit task-1")
    await form.get_by_role("textbox", name="End").fill("")
    await form.get_by_role("textbox", name="Content").fill("Ask for the **second** gate")
    await page.keyboard.press("Control+Enter")
    await expect(form).to_have_count(0)
    await expect(panel).to_contain_text("Ask for the **second** gate")
    await expect(panel).not_to_contain_text("2026-12-31")
    await panel.get_by_role("button", name="Delete").click()
    await app.look(page, "items-delete")
    await confirm_by_typing(page, "task-1", "Delete")
    await page.get_by_role("heading", name="No items").wait_for()


async def test_who_changes_the_same_as_somebody_else_sees_both(app: ConsoleApp) -> None:
    person = await _person(app, "meets")
    await _fill(app, person)
    page = await app.open(person, "/items?id=task-1&dialog=edit")
    form = page.get_by_role("dialog", name="Edit task-1")
    await form.get_by_role("textbox", name="Description").fill("mine")
    async with _tools(app, person) as items:
        await items.call("update_item", type="task", id=1, title="Theirs", description="theirs")
    await form.get_by_role("button", name="Save").click()
    notice = form.get_by_role("alert")
    await expect(notice).to_contain_text("Somebody else has changed this")
    await expect(notice.get_by_role("row", name="Description")).to_contain_text("theirs")
    await expect(notice.get_by_role("row", name="Title")).to_contain_text("as it is now")
    await app.look(page, "items-conflict")
    await notice.get_by_role("button", name="Apply mine again").click()
    await expect(form).to_have_count(0)
    await expect(page.get_by_role("dialog", name="Theirs")).to_contain_text("mine")


@in_every_view
async def test_the_picture_in_every_view(app: ConsoleApp, owner_of_many: Person, view: str) -> None:
    page = await app.open(owner_of_many, "/items?view=graph&center=task-1&depth=3", **VIEWS[view])
    nodes = page.locator("[data-key]")
    await expect(nodes).to_have_count(MANY)
    await app.look(page, f"items-graph-{view}")
    await page.locator("[data-key='task-1']").focus()
    await page.keyboard.press("ArrowRight")
    await app.look(page, f"items-graph-focus-{view}")


async def test_labels_of_200_items_do_not_overlap(app: ConsoleApp, owner_of_many: Person) -> None:
    page = await app.open(owner_of_many, "/items?view=graph&center=task-1&depth=3")
    await expect(page.locator("[data-key]")).to_have_count(MANY)
    await expect(page.get_by_text(re.compile(r"^200 items, \d+ relations$"))).to_be_visible()
    overlaps = await page.evaluate("""() => {
        const boxes = [...document.querySelectorAll('[data-key]')].map((node) => node.getBoundingClientRect())
        return boxes.filter((one, place) => boxes.slice(place + 1).some((other) => one.left < other.right
            && other.left < one.right && one.top < other.bottom && other.top < one.bottom)).length
    }""")
    assert overlaps == 0
    size = await page.locator("[data-key='task-1']").evaluate("(node) => node.getBoundingClientRect().height")
    assert size >= 22, "it begins as large as it can be read"
    await page.get_by_role("button", name="Show all").click()
    frame = page.get_by_role("group", name="Relations of task-1").locator("xpath=../..")
    assert await frame.evaluate("(frame) => frame.scrollWidth <= frame.clientWidth + 1")
    await app.look(page, "items-graph-all")


async def test_arrows_go_along_relations_and_enter_opens(app: ConsoleApp) -> None:
    person = await _person(app, "walks")
    await _fill(app, person)
    page = await app.open(person, "/items?id=task-1")
    await page.get_by_role("button", name="Show relations").click()
    center = page.locator("[data-key='task-1']")
    await expect(page).to_have_url(re.compile("center=task-1"))
    await center.focus()
    await page.keyboard.press("ArrowRight")
    focused = page.locator("[data-key]:focus")
    await expect(focused).to_have_attribute("data-key", re.compile("task-2|decision-1"))
    while await focused.get_attribute("data-key") != "task-2":
        await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowRight")
    await expect(focused).to_have_attribute("data-key", "note-1")
    await expect(focused).to_have_accessible_name(re.compile("What the landlord said.*Open, 2 steps away, 1 relation$"))
    await page.keyboard.press("Home")
    await expect(center).to_be_focused()
    await app.look(page, "items-graph")
    await page.keyboard.press("Enter")
    await page.get_by_role("dialog", name="Move the warehouse to Osaka").wait_for()
    await page.keyboard.press("Escape")
    await expect(center).to_be_focused()
    await page.keyboard.press("+")
    await expect(page.get_by_text("125%")).to_be_visible()
    await page.get_by_text("Relations as a table").click()
    await expect(page.get_by_role("table").get_by_role("row")).to_have_count(5)
    await app.look(page, "items-graph-table")


async def test_a_picture_is_chosen_by_words(app: ConsoleApp) -> None:
    person = await _person(app, "chooses")
    await _fill(app, person)
    page = await app.open(person, "/items?view=graph")
    await page.get_by_role("heading", name="Choose an item").wait_for()
    await page.get_by_role("combobox").fill("landlord")
    await page.get_by_role("option", name="What the landlord said").click()
    await page.get_by_role("heading", name="Relations of note-1").wait_for()
    await _choose(page, "2 steps", "1 step")
    await expect(page.locator("[data-key]")).to_have_count(2)
    assert "depth=1" in page.url


async def test_the_current_state_with_its_history(app: ConsoleApp) -> None:
    person = await _person(app, "states")
    await _fill(app, person)
    page = await app.open(person, "/items?view=state")
    await page.get_by_text("No state was written yet.").wait_for()
    await _write_state(page, "# Move\n\nShelves are measured.\nNext: the gate.")
    await _write_state(page, "# Move\n\nShelves are measured.\nThe gate is <i>open</i>.\nNext: shifts.")
    region = page.get_by_role("region", name="Current state")
    await expect(region).to_contain_text("The gate is <i>open</i>.")
    changes = page.get_by_role("region", name="Revision 1 and revision 2")
    await expect(changes.locator("del")).to_have_text(["Next: the gate."])
    await expect(changes.locator("ins")).to_have_text(["The gate is <i>open</i>.", "Next: shifts."])
    await expect(page.get_by_text("+2 −1")).to_be_visible()
    await app.look(page, "items-state")
    async with _tools(app, person) as items:
        await items.call("update_current_state", content="x", updated_by="ai-start", related=["task-1"])
    await page.reload()
    await page.get_by_role("button", name="Compare: Revision 2").click()
    await expect(page).to_have_url(re.compile("before=1&after=2"))
    await expect(changes.locator("ins")).to_have_count(2)
    await page.get_by_role("link", name="task-1").click()
    await page.get_by_role("dialog", name="Move the warehouse to Osaka").wait_for()


async def _write_state(page: Page, text: str) -> None:
    await page.get_by_role("button", name="Write a new state").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Content").fill(text)
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)


@in_every_view
async def test_the_state_in_every_view(app: ConsoleApp, view: str) -> None:
    person = await _person(app, f"states-{view}")
    await _fill(app, person)
    async with _tools(app, person) as items:
        for text in ("一行目\n二行目", "一行目\n二行目を変更\n三行目"):
            await items.call("update_current_state", content=text, related=["task-1"], tags=["osaka"])
    page = await app.open(person, "/items?view=state", **VIEWS[view])
    await page.locator("ins").first.wait_for()
    await app.look(page, f"items-state-{view}")


async def test_a_shared_workspace_that_one_may_only_read(app: ConsoleApp) -> None:
    person = await _person(app, "reads")
    async with _tools(app, app.admin) as items:
        await items.call("create_workspace", name="board", owner="tenant", member_writes=False)
        await items.call("create_item", type="task", title="Everybody sees this", workspace="tenant/board")
    page = await app.open(person, "/items")
    await _choose(page, "My own", "board (everybody)")
    await page.get_by_role("link", name="Everybody sees this").click()
    panel = page.get_by_role("dialog", name="Everybody sees this")
    await expect(panel).to_contain_text("You may read this workspace, and not change it.")
    await expect(panel.get_by_role("button", name="Edit")).to_have_count(0)
    await expect(panel).to_contain_text("Changed byada@acme.test")
    await app.look(page, "items-read-only")
    elsewhere = await app.open(app.other_admin, "/items?workspace=tenant/board")
    await expect(elsewhere.get_by_text("Everybody sees this")).to_have_count(0)


async def test_workspaces_are_made_renamed_and_deleted_by_keyboard(app: ConsoleApp) -> None:
    person = await _person(app, "plans")
    page = await app.open(person, "/items?view=workspaces&workspace=plans")
    await page.get_by_text("Each has its own items").wait_for()
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New workspace")
    name = dialog.get_by_role("textbox", name="Name")
    await expect(dialog.get_by_role("button", name="Who reads it")).to_have_count(0)
    await name.fill("a/b")
    await page.keyboard.press("Enter")
    await dialog.get_by_text("Enter 1 to 100 characters without slash and colon").wait_for()
    await name.fill("plans")
    await page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    listed = page.get_by_role("list", name="Workspaces").get_by_role("listitem")
    await expect(listed.filter(has_text="plans")).to_contain_text("You alone · 0 items")
    await page.keyboard.press("n")
    await name.fill("plans")
    await page.keyboard.press("Enter")
    await dialog.get_by_text("There is a workspace of this name already.").wait_for()
    await page.keyboard.press("Escape")
    async with _tools(app, person) as items:
        await items.call("create_item", type="task", title="In it", workspace="plans")
    await page.get_by_role("button", name="Actions for plans").focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("menuitem", name="Rename").press("Enter")
    await page.get_by_role("dialog").get_by_role("textbox", name="Name").fill("計画")
    await page.keyboard.press("Control+Enter")
    await expect(page).to_have_url(re.compile(r"workspace=%E8%A8%88%E7%94%BB$"))
    await listed.get_by_role("link", name="計画").press("Enter")
    await page.get_by_role("link", name="In it").wait_for()
    await page.go_back()
    await page.get_by_role("button", name="Actions for 計画").press("Enter")
    await page.get_by_role("menuitem", name="Delete").press("Enter")
    await expect(page.get_by_role("alertdialog")).to_contain_text("Its 1 item, its statuses and its states end.")
    await app.look(page, "items-workspace-delete")
    await confirm_by_typing(page, "計画", "Delete")
    await expect(page.get_by_role("link", name="計画")).to_have_count(0)
    await expect(page).to_have_url(re.compile("/items\\?view=workspaces$"))


async def test_administrators_share_workspaces_and_others_leave_them_as_they_are(app: ConsoleApp) -> None:
    reader = await _person(app, "reads-shared")
    admin = await app.product.person(app.admin.tenant, "shares@acme.test", allow=["items.*"])
    await app.make_admin(admin)
    page = await app.open(admin, "/items?view=workspaces")
    await page.get_by_text("Each has its own items").wait_for()
    await _share(page, "notices", "Everybody", members_write=False)
    await page.get_by_role("link", name="notices (everybody)").wait_for()
    await _share(page, "team", "The members of a role", members_write=True)
    await page.get_by_role("link", name="team (role shares@acme.test)").wait_for()
    await app.look(page, "items-workspaces-admin")
    seen = await app.open(reader, "/items?view=workspaces")
    listed = seen.get_by_role("list", name="Workspaces").get_by_role("listitem").filter(has_text="notices")
    await expect(listed).to_contain_text("Everybody · 0 items · you may only read it")
    await expect(seen.get_by_role("button", name="Actions for")).to_have_count(0)
    await expect(seen.get_by_text("team (role")).to_have_count(0)
    elsewhere = await app.open(app.other_admin, "/items?view=workspaces")
    await expect(elsewhere.get_by_text("notices")).to_have_count(0)
    for name, shown in (("notices", "notices (everybody)"), ("team", "team (role shares@acme.test)")):
        await page.get_by_role("button", name=f"Actions for {shown}").press("Enter")
        await page.get_by_role("menuitem", name="Delete").press("Enter")
        await expect(page.get_by_role("alertdialog")).to_contain_text("Nobody who has it now can read it any more.")
        await confirm_by_typing(page, name, "Delete")
        await expect(page.get_by_role("link", name=shown)).to_have_count(0)


async def _share(page: Page, name: str, owner: str, *, members_write: bool) -> None:
    """Make a shared workspace by keyboard."""
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New workspace")
    await dialog.get_by_role("textbox", name="Name").fill(name)
    await dialog.get_by_role("button", name="Who reads it").press("Enter")
    await page.get_by_role("option", name=owner).press("Enter")
    if not members_write:
        await dialog.get_by_role("checkbox", name="All who read it").press(" ")
    await dialog.get_by_role("button", name="New workspace").press("Enter")
    await expect(dialog).to_have_count(0)


@in_every_view
async def test_workspaces_in_every_view(app: ConsoleApp, view: str) -> None:
    person = await _person(app, f"places-{view}")
    await app.make_admin(person)
    async with _tools(app, person) as items:
        await items.call("create_item", type="task", title="First")
        await items.call("create_workspace", name="大阪への移転と、その後の東京の倉庫の整理" * 4)
    page = await app.open(person, "/items?view=workspaces", **VIEWS[view])
    await page.get_by_role("list", name=re.compile("Workspaces|ワークスペース")).get_by_role("link").first.wait_for()
    await app.look(page, f"items-workspaces-{view}")
    await page.keyboard.press("n")
    await page.get_by_role("dialog").get_by_role("textbox").wait_for()
    await app.look(page, f"items-workspace-create-{view}")


async def test_another_type_is_another_key_to_which_the_former_leads(app: ConsoleApp) -> None:
    person = await _person(app, "retypes")
    await _fill(app, person)
    page = await app.open(person, "/items?id=note-1")
    await page.get_by_role("dialog").get_by_role("button", name="Change the type").press("Enter")
    dialog = page.get_by_role("dialog", name="Change the type of note-1")
    await expect(dialog).to_contain_text("and note-1 still leads to it.")
    await dialog.get_by_role("textbox", name="New type").fill("decision")
    await app.look(page, "items-retype")
    await page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    await expect(page).to_have_url(re.compile("id=decision-2"))
    await expect(page.get_by_role("dialog")).to_contain_text("decision-2")
    again = await app.open(person, "/items?id=note-1")
    await expect(again.get_by_role("dialog", name="What the landlord said")).to_contain_text("decision-2")


async def test_errors_are_told_in_japanese(app: ConsoleApp) -> None:
    person = await _person(app, "errs")
    page = await app.open(person, "/items?dialog=create", locale="ja-JP")
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="種類").fill("task")
    await dialog.get_by_role("textbox", name="タイトル").fill("倉庫")
    await dialog.get_by_role("textbox", name="関連アイテム").fill("task")
    await page.keyboard.press("Control+Enter")
    await dialog.get_by_text("task-7 のようなキーを 100 個まで入力してください。").wait_for()
    await app.look(page, "items-error-japanese")
    await dialog.get_by_role("textbox", name="関連アイテム").fill("task-9")
    await page.keyboard.press("Control+Enter")
    await dialog.get_by_text("task-9 というアイテムはないか、閲覧が許可されていません。").wait_for()
    await dialog.get_by_role("textbox", name="関連アイテム").fill("")
    await dialog.get_by_role("textbox", name="開始日").fill("2026-12-31")
    await dialog.get_by_role("textbox", name="終了日").fill("2026-12-30")
    await page.keyboard.press("Control+Enter")
    await dialog.get_by_text("開始日より前にはできません。").wait_for()


async def test_a_long_text_is_shown_and_saved_whole(app: ConsoleApp) -> None:
    person = await _person(app, "long")
    text = "倉庫は大阪に移転する。\n" * 8_000
    async with _tools(app, person) as items:
        await items.call("create_item", type="note", title="Long", content=text + "END")
    page = await app.open(person, "/items?id=note-1")
    content = page.get_by_role("dialog").get_by_role("region", name="Content")
    await expect(content).to_contain_text("END")
    assert await content.evaluate("(node) => node.textContent.length") == len(text) + 3
    await page.get_by_role("button", name="Edit").click()
    form = page.get_by_role("dialog", name="Edit note-1")
    assert await form.get_by_role("textbox", name="Content").input_value() == text + "END"


async def test_hostile_texts_are_texts(app: ConsoleApp) -> None:
    person = await _person(app, "hostile")
    async with _tools(app, person) as items:
        for attack in ATTACKS.values():
            text = attack[:90]
            await items.call("create_item", type=text[:60], title=text, content=attack, tags=[text], category=text)
        await items.call("update_current_state", content="\n".join(ATTACKS.values()), updated_by=ATTACKS["script"])
    page = await app.open(person, "/items")
    await expect(page.get_by_role("table").get_by_role("row")).to_have_count(len(ATTACKS) + 1)
    await app.look(page, "items-hostile")
    await page.get_by_role("table").get_by_role("link").first.click()
    await page.get_by_role("dialog").get_by_role("region", name="Content").wait_for()
    await app.look(page, "items-hostile-panel")
    await page.get_by_role("button", name="Show relations").click()
    await page.locator("[data-key]").first.wait_for()
    await app.look(page, "items-hostile-graph")
    await page.goto(f"{app.identity.url}/console/items?view=state")
    await page.get_by_role("region", name="Current state").wait_for()
    await app.look(page, "items-hostile-state")


async def test_who_has_no_such_tools_is_told_so(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "without@acme.test", allow=["knowledge_graph.*"])
    page = await app.open(person, "/items")
    await page.get_by_role("heading", name="Items are not switched on for you").wait_for()
    navigation = page.get_by_role("navigation", name="Pages")
    await expect(navigation.get_by_role("link", name="Items")).to_have_count(0)
    await expect(navigation.get_by_role("link", name="Documents")).to_have_count(0)
    await app.look(page, "items-none")
