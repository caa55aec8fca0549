"""People: found, invited, changed, suspended, removed, in a real browser."""

import re

import pytest
from playwright.async_api import Page, expect

from broker.identity.providers.identity_provider import VerifiedAccount
from broker.vault.credential_store import CredentialOwner, CredentialStore
from core.audit.sealer import seal_pending_events
from core.directory.users import create_user
from core.secret import Secret
from server.role_database import get_utc_now
from tests.console.console_app import VIEWS, ConsoleApp, confirm_by_typing, in_every_view
from tests.support.directory import create_role, grant
from tests.support.product import ACTOR, Person

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
EVIL = "<svg onload=alert(1)>\u202egnp.exe \U0001f600 " + "x" * 150


async def _create(app: ConsoleApp, email: str, name: str = "") -> Person:
    tenant = app.admin.tenant
    user_id = await create_user(app.product.console, ACTOR, tenant.id, email, name=name)
    return await app.product.with_token(Person(tenant, user_id, email))


def _row(page: Page, email: str):
    return page.get_by_role("row").filter(has_text=email)


@pytest.mark.long
async def test_people_are_found_sorted_and_filtered_and_the_address_keeps_it(app: ConsoleApp) -> None:
    await _create(app, "hanako@acme.test", "山田 ハナコ")
    page = await app.open(app.admin, "/users")
    await page.get_by_role("searchbox", name="Search by name or address").fill("はなこ")
    await page.wait_for_url("**/users?q=*")
    await expect(page.get_by_role("row")).to_have_count(2)
    await page.reload()
    await expect(page.get_by_role("searchbox")).to_have_value("はなこ")
    await expect(_row(page, "hanako@acme.test")).to_be_visible()
    await page.get_by_role("searchbox").fill("nobody at all")
    await page.get_by_text("Nothing matches “nobody at all”").wait_for()
    await app.look(page, "users-no-match")
    await page.get_by_role("button", name="Clear all").click()
    await expect(_row(page, "ada@acme.test")).to_be_visible()
    await page.get_by_role("button", name="E-mail address").click()
    await page.wait_for_url(re.compile("sort=-email"))
    await expect(page.get_by_role("columnheader", name="E-mail address")).to_have_attribute("aria-sort", "descending")
    await page.get_by_role("button", name="Any status").click()
    await page.get_by_role("option", name="Suspended").click()
    await page.wait_for_url(re.compile("status=suspended"))
    await page.get_by_text("Nothing matches these filters").wait_for()
    await page.get_by_role("button", name="Remove the filter Suspended").click()
    await expect(_row(page, "ada@acme.test")).to_be_visible()
    assert await page.get_by_text("umbrella.test").count() == 0, "nothing of another tenant"


async def test_a_person_is_invited_and_the_link_signs_them_in(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/users")
    await page.get_by_role("table").wait_for()
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Invite a person")
    await dialog.get_by_label("E-mail address").fill("not an address")
    await app.look(page, "invite")
    await dialog.get_by_label("E-mail address").fill("new@acme.test")
    await dialog.get_by_label("Name").fill(EVIL)
    await page.keyboard.press("Control+Enter")
    await page.get_by_role("dialog", name="Invited").wait_for()
    await page.get_by_role("button", name="Create a sign-in link").click()
    link = await page.get_by_role("textbox", name="Sign-in link").inner_text()
    assert link.startswith(f"{app.identity.url}/sign-in/link?code=")
    assert link not in page.url
    await app.look(page, "invited")
    await page.get_by_role("link", name="Give roles").click()
    await page.get_by_text("No roles: this person sees no tools.").wait_for()
    await page.keyboard.press("Escape")
    await expect(_row(page, "new@acme.test")).to_be_visible()
    await app.look(page, "users-hostile-name")
    stored = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert link.partition("code=")[2] not in stored
    newcomer = await app.open(None)
    await newcomer.wait_for_url("**/sign-in?next=*")
    await newcomer.goto(link)
    await newcomer.locator("main button").first.click()
    await newcomer.get_by_role("heading", name="Start").wait_for()


@pytest.mark.long
async def test_what_the_api_refuses_stands_at_the_field(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/users?dialog=invite")
    dialog = page.get_by_role("dialog", name="Invite a person")
    await dialog.get_by_label("E-mail address").fill("ada@acme.test")
    await dialog.get_by_label("Name").fill("Somebody else")
    await dialog.get_by_role("button", name="Invite").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("there is a user ada@acme.test already")
    await app.look(page, "invite-refused")
    await page.keyboard.press("Escape")
    await page.wait_for_url(re.compile(r"/console/users$"))


async def test_a_panel_is_a_link_and_back_closes_it(app: ConsoleApp) -> None:
    person = await _create(app, "panel@acme.test", "Panel Person")
    await create_role(app.product.console, ACTOR, app.admin.tenant.id, "Panel readers")
    await grant(app.product.console, ACTOR, app.admin.tenant.id, "Panel readers", "allow", "jira.*")
    page = await app.open(app.admin, "/users")
    await _row(page, "panel@acme.test").click()
    await page.get_by_role("dialog", name="Panel Person").wait_for()
    await page.wait_for_url(f"**/users?id={person.id}")
    await app.look(page, "user-general")
    await page.get_by_role("tab", name="Roles").click()
    await page.wait_for_url(re.compile("tab=roles"))
    await page.get_by_role("combobox", name="Add a role").fill("panel")
    await page.get_by_role("option", name="Panel readers").click()
    await expect(page.get_by_role("list", name="Roles")).to_contain_text("Panel readers")
    await app.look(page, "user-roles")
    await page.get_by_role("tab", name="Connections").click()
    # What the list of services says, where nobody can connect an account yet.
    jira = page.get_by_role("tabpanel").get_by_role("listitem").filter(has_text="Jira")
    await expect(jira).to_contain_text("To set up")
    await app.look(page, "user-connections")
    await page.get_by_role("tab", name="Access").click()
    await page.get_by_role("list", name="API tokens").wait_for()
    await app.look(page, "user-access")
    await page.go_back()
    await page.get_by_role("dialog").wait_for(state="detached")
    await page.wait_for_url(re.compile(r"/console/users$"))
    deep = await app.open(app.admin, f"/users/{person.id}/roles")
    await deep.get_by_role("tab", name="Roles", selected=True).wait_for()
    await expect(deep.get_by_role("list", name="Roles")).to_contain_text("Panel readers")
    await deep.keyboard.press("Escape")
    await deep.wait_for_url(re.compile(r"/console/users$"))


async def test_a_token_is_revoked_and_a_suspension_is_undone(app: ConsoleApp) -> None:
    person = await _create(app, "gone@acme.test", "Gone Soon")
    await app.identity.session(person)
    page = await app.open(app.admin, f"/users?id={person.id}&tab=access")
    await page.get_by_role("button", name="End all").click()
    await page.get_by_role("alertdialog", name="Sign out this person’s browsers (1)?").wait_for()
    await page.get_by_role("alertdialog").get_by_role("button", name="End all").click()
    await page.get_by_text("All browsers were signed out").wait_for()
    await page.get_by_role("button", name="Revoke").first.click()
    dialog = page.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("Revoke test?")
    await confirm_by_typing(page, "test", "Revoke")
    await page.get_by_text("No tokens.").wait_for()
    headers = {"Authorization": f"Bearer {person.token}"}
    assert (await page.request.get(f"{app.identity.url}/api/v1/me", headers=headers)).status == 401
    await page.get_by_role("tab", name="General").click()
    await page.get_by_role("button", name="Suspend").click()
    await expect(page.get_by_role("alertdialog")).to_contain_text("Nothing else")
    await app.look(page, "user-suspend")
    await page.get_by_role("alertdialog").get_by_role("button", name="Suspend").click()
    await page.get_by_role("button", name="Undo").wait_for()
    await expect(page.get_by_role("button", name="Let in again")).to_be_visible()
    await app.look(page, "user-suspended")
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("button", name="Suspend")).to_be_visible()
    await seal_pending_events(app.product.console, get_utc_now)
    await page.goto(f"{app.identity.url}/console/users?id={app.admin.id}&tab=activity")
    done = page.get_by_role("list", name="Activity")
    await expect(done).to_contain_text("token.revoked")
    await expect(done).to_contain_text("user.suspended")
    await app.look(page, "user-activity")
    await done.get_by_role("link", name="token.revoked").first.click()
    await page.wait_for_url(re.compile(f"/console/logs.*user={app.admin.id}"))
    await page.get_by_role("dialog").wait_for()


async def test_a_removal_says_what_ends_and_has_to_be_typed(app: ConsoleApp) -> None:
    person = await _create(app, "leaver@acme.test")
    await app.identity.session(person)
    await app.connect_client(person, "Their client")
    zone = app.identity.zone
    store = CredentialStore(zone.database, zone.vault, clock=zone.clock)
    own = CredentialOwner("personal", person.id)
    await store.put(ACTOR, person.tenant.id, "github", own, Secret("a key"), "leaver-at-github")
    ends = ("1 signed-in browser", "1 API token", "1 connected application", "1 account at a service")
    page = await app.open(app.admin, "/users")
    await _row(page, "leaver@acme.test").click()
    await page.get_by_role("button", name="Remove").click()
    dialog = page.get_by_role("alertdialog")
    for text in ends:
        await expect(dialog).to_contain_text(text)
    button = dialog.get_by_role("button", name="Remove")
    await expect(button).to_be_disabled()
    await dialog.get_by_label("Type leaver@acme.test to confirm").fill("leaver@acme.test")
    await app.look(page, "user-remove")
    await button.click()
    await page.get_by_text("leaver@acme.test was removed").wait_for()
    ended = page.get_by_role("dialog", name="What ended with leaver@acme.test")
    for text in ends:
        await expect(ended).to_contain_text(text)
    await app.look(page, "user-removed")
    await ended.get_by_role("button", name="Close").click()
    await expect(_row(page, "leaver@acme.test")).to_have_count(0)
    await page.wait_for_url(re.compile(r"/console/users$"))


@pytest.mark.long
async def test_more_than_a_page_and_the_accounts_to_sign_in_with(app: ConsoleApp) -> None:
    """Lists of a panel go on, what is revoked is not in them, and an account is unlinked by whoever may."""
    person = await _create(app, "many@acme.test")
    async with app.product.database.admin_connection() as admin:
        await admin.execute(
            """INSERT INTO auth.api_tokens
            (tenant_id, id, user_id, name, pepper_kid, secret_hmac, scopes, read_only, created_at, revoked_at)
            SELECT tenant_id, 'more' || lpad(n::text, 8, '0'), user_id, 'token ' || n, pepper_kid, secret_hmac, scopes,
            read_only, created_at - n * interval '1 minute', CASE WHEN n > 130 THEN now() END
            FROM auth.api_tokens, generate_series(1, 330) n WHERE user_id = $1""",
            person.id,
        )
    linked = VerifiedAccount("https://idp.example", "1", "many@home.test", True, "")
    await app.identity.zone.identity_services.identities.link(ACTOR, person.tenant.id, person.id, linked)
    page = await app.open(app.admin, f"/users?id={person.id}&tab=access")
    tokens = page.get_by_role("list", name="API tokens").get_by_role("listitem")
    await expect(tokens).to_have_count(100)
    await page.get_by_role("button", name="Load more").click()
    await expect(tokens).to_have_count(131)
    await expect(page.get_by_role("button", name="Load more")).to_have_count(0)
    accounts = page.get_by_role("list", name="Accounts to sign in with")
    await expect(accounts).to_contain_text("https://idp.example")
    own = await app.open(person, "/profile")
    await own.get_by_role("list", name="Accounts to sign in with").get_by_text("many@home.test").wait_for()
    await expect(own.get_by_role("list", name="API tokens").get_by_role("listitem")).to_have_count(50)
    await app.look(own, "profile-many")
    await page.get_by_role("button", name="Unlink many@home.test").click()
    await app.look(page, "user-unlink")
    await confirm_by_typing(page, "many@home.test", "Unlink")
    await page.get_by_text("No account is linked.").wait_for()
    await seal_pending_events(app.product.console, get_utc_now)
    await own.get_by_text("No account is linked.").wait_for()


@pytest.mark.long
async def test_the_allow_list(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/users?dialog=allow-list")
    dialog = page.get_by_role("dialog", name="Who may sign in")
    await dialog.get_by_label("Address, or @ and a domain").fill("@partner.test")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("list")).to_contain_text("@partner.test")
    search = dialog.get_by_role("searchbox", name="Search addresses and domains")
    await search.fill("no such domain")
    await dialog.get_by_text("Nothing matches").wait_for()
    await search.fill("PARTNER")
    await expect(dialog.get_by_role("listitem")).to_have_count(1)
    await app.look(page, "allow-list")
    await search.fill("")
    await dialog.get_by_role("button", name="Remove @partner.test").click()
    await expect(dialog.get_by_role("list").get_by_text("@partner.test")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(dialog.get_by_role("list")).to_contain_text("@partner.test")
    await page.context.set_offline(True)
    await expect(dialog.get_by_role("button", name="Remove @partner.test")).to_be_disabled()
    await expect(dialog.get_by_role("button", name="Add", exact=True)).to_be_disabled()
    await page.context.set_offline(False)


@pytest.mark.long
async def test_another_tenants_person_does_not_exist(app: ConsoleApp) -> None:
    page = await app.open(app.other_admin, f"/users?id={app.user.id}")
    await expect(page.get_by_role("alert")).to_contain_text("It does not exist")
    await app.look(page, "user-missing")


@in_every_view
async def test_a_person_in_other_views(app: ConsoleApp, view: str) -> None:
    page = await app.open(app.admin, f"/users?id={app.user.id}&tab=access", **VIEWS[view])
    await page.get_by_role("tabpanel").get_by_role("list").first.wait_for()
    await app.look(page, f"user-access-{view}")
    await page.get_by_role("tab").first.click()
    await page.get_by_role("tabpanel").locator("form").wait_for()
    await app.look(page, f"user-general-{view}")
