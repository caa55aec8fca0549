"""Roles: made, copied, given permissions and people, removed, in a real browser."""

import re
from uuid import UUID

import pytest
from playwright.async_api import Locator, Page, expect

from core.directory.roles import find_role
from core.directory.users import create_user
from tests.console.console_app import NARROW, SHORT_VIEW, VIEWS, WIDE, ConsoleApp, in_every_view
from tests.support.directory import create_role, grant
from tests.support.eventually import within
from tests.support.product import ACTOR

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def _create(app: ConsoleApp, name: str, *allow: str) -> UUID:
    tenant = app.admin.tenant.id
    await create_role(app.product.console, ACTOR, tenant, name)
    for permission in allow:
        await grant(app.product.console, ACTOR, tenant, name, "allow", permission)
    return (await find_role(app.product.console, tenant, name)).id


async def _stored(app: ConsoleApp, name: str) -> tuple[list[str], list[str]]:
    role = await find_role(app.product.console, app.admin.tenant.id, name)
    return [*role.allow], [*role.deny]


def _matrix(page: Page) -> Locator:
    return page.get_by_role("treegrid", name="Tools of the role")


async def test_a_role_is_added_and_gets_a_preset(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/roles")
    await page.get_by_role("table").wait_for()
    await page.set_viewport_size(NARROW)
    row = page.get_by_role("row").filter(has_text=app.user.email)
    await expect(row).to_contain_text(re.compile(r"People\s*1\b"), use_inner_text=True)
    await app.look(page, "roles-narrow")
    await page.set_viewport_size(WIDE)
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Add role")
    await dialog.get_by_label("Name").fill("Support")
    await dialog.get_by_label("Priority").fill("many")
    await dialog.get_by_role("button", name="Add role").click()
    await expect(dialog).to_contain_text("A whole number")
    await app.look(page, "role-form-error")
    await dialog.get_by_label("Priority").fill("5")
    await dialog.get_by_role("button", name="Add role").click()
    await _matrix(page).wait_for()
    await app.look(page, "role-empty")
    await page.get_by_role("button", name="Only reading").click()
    await expect(page.get_by_text(re.compile(r"\d+ changes? not saved"))).to_be_visible()
    assert await _stored(app, "Support") == ([], []), "nothing is sent before it is saved"
    await app.look(page, "role-preset")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Role Support was changed").wait_for()
    allow, deny = await _stored(app, "Support")
    assert "knowledge_graph:read" in allow
    assert deny == []
    assert all(permission.endswith(":read") for permission in allow)


@pytest.mark.long
async def test_the_matrix_is_walked_by_keyboard(app: ConsoleApp) -> None:
    role = await _create(app, "Keys", "knowledge_graph.*")
    page = await app.open(app.admin, f"/roles/{role}/services/knowledge_graph")
    await page.wait_for_url(f"**/console/roles?id={role}&tab=permissions&service=knowledge_graph")
    await page.get_by_role("row", name=re.compile("delete_entities")).focus()
    await page.keyboard.press(" ")
    await expect(page.get_by_role("row", name=re.compile("delete_entities"))).to_contain_text("denied · this tool")
    await page.get_by_text("1 change not saved").wait_for()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Home")
    assert await page.evaluate("document.activeElement.ariaLevel") == "1"
    await app.look(page, "role-matrix")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Role Keys was changed").wait_for()
    assert await _stored(app, "Keys") == (["knowledge_graph.*"], ["knowledge_graph.delete_entities"])


async def test_tools_are_found_and_switched_together(app: ConsoleApp) -> None:
    role = await _create(app, "Finders")
    page = await app.open(app.admin, f"/roles?id={role}&tab=permissions")
    await page.get_by_role("dialog").get_by_role("searchbox", name="Search tools").fill("knowledge search")
    await page.wait_for_url(re.compile("find=knowledge"))
    await page.get_by_role("button", name=re.compile("Allow .* shown")).click()
    await app.look(page, "role-find")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Role Finders was changed").wait_for()
    allow, _ = await _stored(app, "Finders")
    assert allow
    assert all("search" in permission for permission in allow)
    await page.get_by_role("button", name="Undo").click()
    await page.get_by_role("button", name=re.compile("Allow .* shown")).wait_for()

    async def is_taken_back() -> bool:
        return await _stored(app, "Finders") == ([], [])

    await within(15, is_taken_back)


async def test_two_administrators_at_once_lose_nothing(app: ConsoleApp) -> None:
    role = await _create(app, "Shared", "knowledge_graph.read_graph")
    path = f"/roles?id={role}&tab=permissions&service=knowledge_graph"
    first, second = await app.open(app.admin, path), await app.open(app.admin, path)
    for page, title in ((first, "Create entities"), (second, "Search")):
        await page.get_by_role("checkbox", name=title, exact=True).click()
    await first.get_by_role("button", name="Save").click()
    await first.get_by_text("Role Shared was changed").wait_for()
    await second.get_by_role("button", name="Save").click()
    await second.get_by_text("Another administrator had changed the role meanwhile").wait_for()
    allow, _ = await _stored(app, "Shared")
    assert set(allow) == {f"knowledge_graph.{tool}" for tool in ("create_entities", "read_graph", "search")}


@pytest.mark.long
async def test_two_administrators_change_the_same_field(app: ConsoleApp) -> None:
    role = await _create(app, "Contested")
    other = await app.add_admin("second@acme.test")
    first = await app.open(app.admin, f"/roles?id={role}")
    second = await app.open(other, f"/roles?id={role}")
    await second.get_by_role("textbox", name="Name").fill("Mine")
    await first.get_by_role("textbox", name="Name").fill("Theirs")
    await first.get_by_role("button", name="Save").click()
    await first.get_by_text("Role Theirs was changed").wait_for()
    await second.get_by_role("button", name="Save").click()
    notice = second.get_by_role("alert").filter(has_text="Somebody else has changed this")
    await expect(notice).to_contain_text("ada@acme.test")
    await expect(notice.get_by_role("row", name=re.compile("Name"))).to_contain_text("TheirsMine")
    await app.look(second, "role-conflict")
    assert await find_role(app.product.console, app.admin.tenant.id, "Theirs"), "nothing is overwritten unasked"
    await notice.get_by_role("button", name="Apply mine again").click()
    await second.get_by_text("Role Mine was changed").wait_for()
    await first.reload()
    await second.get_by_role("textbox", name="Name").fill("Once more")
    await first.get_by_role("textbox", name="Priority").fill("7")
    await first.get_by_role("button", name="Save").click()
    await first.get_by_text("Role Mine was changed").wait_for()
    await second.get_by_role("button", name="Save").click()
    await second.get_by_text("both changes were kept").wait_for()
    stored = await find_role(app.product.console, app.admin.tenant.id, "Once more")
    assert stored.priority == 7, "changes of different fields both count"


@pytest.mark.long
async def test_edits_are_not_lost_by_leaving(app: ConsoleApp) -> None:
    await _create(app, "Leaving")
    page = await app.open(app.admin, "/roles")
    await page.get_by_role("link", name="Leaving").click()
    await page.get_by_role("button", name="All but destroying").click()
    await page.keyboard.press("Escape")
    question = page.get_by_role("alertdialog", name="Discard the changes?")
    await question.wait_for()
    await app.look(page, "role-leave")
    await question.get_by_role("button", name="Keep editing").click()
    await expect(page.get_by_text("not saved")).to_be_visible()
    await page.get_by_role("tab", name="People").click()
    await question.get_by_role("button", name="Discard").click()
    await page.get_by_role("tab", name="People", selected=True).wait_for()
    assert await _stored(app, "Leaving") == ([], [])


async def test_people_are_added_to_a_role_and_taken_out(app: ConsoleApp) -> None:
    await create_user(app.product.console, ACTOR, app.admin.tenant.id, "member@acme.test", name="Member")
    role = await _create(app, "Club")
    page = await app.open(app.admin, f"/roles?id={role}&tab=members")
    await page.get_by_role("combobox", name="Add a person").fill("member")
    await page.get_by_role("option", name="member@acme.test").click()
    people = page.get_by_role("list", name="People")
    await expect(people).to_contain_text("member@acme.test")
    await app.look(page, "role-members")
    await page.get_by_role("button", name="Take the role from member@acme.test").click()
    await page.get_by_text("Nobody has this role.").wait_for()
    await page.get_by_text("member@acme.test does not have the role any more").wait_for()
    await page.get_by_role("button", name="Undo").last.click()
    await expect(people).to_contain_text("member@acme.test")


async def test_a_service_that_is_not_set_up_is_not_connected_for_a_role(app: ConsoleApp) -> None:
    role_id = await _create(app, "Sharers", "*")
    page = await app.open(app.admin, f"/roles?id={role_id}&tab=accounts")
    accounts = page.get_by_role("list", name="Accounts")
    await accounts.get_by_role("button", name="Connect Notion for the role").wait_for()
    await expect(accounts.get_by_role("button", name="Connect Google Calendar for the role")).to_have_count(0)
    await expect(accounts.get_by_role("listitem").filter(has_text="Google Calendar")).to_contain_text("To set up")
    await accounts.get_by_role("link", name="Set up Google Calendar").click()
    await page.get_by_role("dialog", name="Google Calendar").get_by_label("Client ID").wait_for()
    await page.go_back()
    await accounts.get_by_role("button", name="Connect Notion for the role").wait_for()
    narrow = await app.open(app.admin, f"/roles?id={role_id}&tab=accounts", **VIEWS[SHORT_VIEW])
    await narrow.get_by_role("link", name="Google カレンダー を設定").wait_for()
    await app.look(narrow, f"role-accounts-not-set-up-{SHORT_VIEW}")


@pytest.mark.long
async def test_a_role_is_copied_renamed_and_removed(app: ConsoleApp) -> None:
    role = await _create(app, "Original", "knowledge_graph:read")
    page = await app.open(app.admin, f"/roles?id={role}")
    await page.get_by_role("button", name="Copy", exact=True).click()
    await page.get_by_role("dialog", name="Copy role Original").get_by_role("button", name="Add role").click()
    await page.get_by_text("Role Original (copy) was added").wait_for()
    assert await _stored(app, "Original (copy)") == (["knowledge_graph:read"], [])
    await page.get_by_role("tab", name="General").click()
    await page.get_by_role("textbox", name="Name").fill("Renamed")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("dialog", name="Renamed").wait_for()
    await app.look(page, "role-general")
    await page.get_by_role("button", name="Remove role").click()
    question = page.get_by_role("alertdialog", name="Remove role Renamed?")
    await question.get_by_label("Type Renamed to confirm").fill("Renamed")
    await app.look(page, "role-remove")
    await question.get_by_role("button", name="Remove role").click()
    await page.get_by_text("Role Renamed was removed").wait_for()
    await expect(page.get_by_role("link", name="Renamed")).to_have_count(0)


async def test_what_a_model_sees_by_a_role(app: ConsoleApp) -> None:
    role = await _create(app, "Seen", "knowledge_graph:read")
    page = await app.open(app.admin, f"/roles?id={role}&tab=see-as")
    seen = page.get_by_role("list", name="Tools by service")
    await expect(seen).to_contain_text("knowledge_graph")
    await expect(seen).to_contain_text("search")
    assert "create_entities" not in await page.get_by_role("dialog").inner_text()
    await page.get_by_text("get_module_schema", exact=True).click()
    await app.look(page, "role-see-as")


@in_every_view
async def test_the_matrix_in_other_views(app: ConsoleApp, view: str) -> None:
    role = await _create(app, f"View {view}", "knowledge_graph.*")
    page = await app.open(app.admin, f"/roles?id={role}&tab=permissions&service=knowledge_graph", **VIEWS[view])
    await page.get_by_role("treegrid").wait_for()
    await app.look(page, f"role-matrix-{view}")


@pytest.mark.long
async def test_roles_are_put_in_order(app: ConsoleApp) -> None:
    console, tenant = app.product.console, app.admin.tenant.id
    for name, priority in (("Order A", 903), ("Order B", 902), ("Order C", 901)):
        await create_role(console, ACTOR, tenant, name, priority)

    async def ordered() -> list[str]:
        roles = [await find_role(console, tenant, f"Order {letter}") for letter in "ABC"]
        return [role.name[-1] for role in sorted(roles, key=lambda role: -role.priority)]

    async def is_order(*letters: str) -> bool:
        return await ordered() == [*letters]

    page = await app.open(app.admin, "/roles?view=order")
    rows = page.get_by_role("grid", name="Roles by priority").get_by_role("row")
    await expect(rows.first).to_contain_text("Order A")
    await page.get_by_role("button", name="Move Order C up").click()
    await page.get_by_text("Role Order C was moved").wait_for()
    assert await ordered() == ["A", "C", "B"]
    await app.look(page, "roles-order")
    await page.get_by_role("button", name="Drag Order B").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await page.get_by_text("Role Order B was moved").wait_for()
    assert not await is_order("A", "C", "B")
    await page.get_by_role("button", name="Undo").last.click()
    await expect(rows.nth(2)).to_contain_text("Order B")
    await within(15, lambda: is_order("A", "C", "B"))
    await rows.nth(2).drag_to(rows.first, source_position={"x": 60, "y": 20}, target_position={"x": 60, "y": 3})
    await expect(rows.first).to_contain_text("Order B")
    await within(15, lambda: is_order("B", "A", "C"))
    narrow = await app.open(app.admin, "/roles?view=order", **VIEWS[SHORT_VIEW])
    await narrow.get_by_role("button", name="Order B を下へ移動").wait_for()
    await app.look(narrow, f"roles-order-{SHORT_VIEW}")
