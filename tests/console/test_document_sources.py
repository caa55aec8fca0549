"""Sources of documents in the console: added with consent, synced with progress, scheduled and removed; a GitHub
repository, as a person's own account sees it."""

import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, Request, expect

from broker.vault.credential_store import CredentialOwner, CredentialStore
from core.config.settings import Settings
from core.directory.services import set_settings
from core.http.origins import get_origin
from core.observability.metrics import Metrics
from core.secret import Secret
from server.wiring.jobs import run_job_worker
from tests.console.console_app import VIEWS, ConsoleApp, confirm_by_typing, console_app, in_every_view
from tests.console.job_rows import add_job, change_job
from tests.support import postgres
from tests.support.canary import SUITE
from tests.support.eventually import within
from tests.support.github_double import GitHubDouble, Repository, github_double
from tests.support.mcp_client import Answer, Client
from tests.support.product import ACTOR, Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FILES = {
    "README.md": b"# Tea\n\nIt is brewed at 80 degrees.",
    "guide.md": "# 手引き\n\n手順。".encode(),
    "empty.md": b"",
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def github() -> AsyncIterator[GitHubDouble]:
    async with github_double("/api/v3") as double:
        double.world.token("mona-token", "mona")
        yield double


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(
    github: GitHubDouble,
    share_browser: None,
    database_server: postgres.DatabaseServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ConsoleApp]:
    """The console before a GitHub, with a worker that runs jobs."""
    hosts = {f"{name}_url": url for name, url in github.hosts.items()}
    async with (
        database_server.database() as database,
        console_app(
            database, tmp_path_factory.mktemp("sources"), private_hosts=[urlsplit(github.url).netloc]
        ) as running,
    ):
        product, gateway = running.product, running.identity.gateway
        for tenant in (running.admin.tenant, running.other_admin.tenant):
            values: dict[str, Any] = {"base_url": github.url, **hosts}
            await set_settings(
                product.console, ACTOR, tenant.id, "github", lambda before, new=values: {**before, **new}
            )
        parts = gateway.job_handlers, gateway.verify_mandate, Metrics()
        async with run_job_worker(Settings(home=product.deployment.home), product.deployment, *parts):
            yield running
        running.check()


async def _connect(app: ConsoleApp, github: GitHubDouble, person: Person) -> None:
    zone = app.identity.zone
    store = CredentialStore(zone.database, zone.vault, clock=zone.clock)
    owner = CredentialOwner("personal", person.id)
    await store.put(
        ACTOR, person.tenant.id, "github", owner, Secret("mona-token"), "mona", origins=[get_origin(github.url)]
    )


async def _ask(app: ConsoleApp, person: Person, tool: str, **params: Any) -> Answer:
    answer = await Client(app.identity.gateway.app, SUITE.hear).call(person.token, "rag", tool, params)
    assert not answer.failed, answer.text
    return answer


async def _add_source(app: ConsoleApp, person: Person, place: dict[str, Any]) -> str:
    return (await _ask(app, person, "add_source", source=place)).value["source_id"]


async def _list_sources(app: ConsoleApp, person: Person) -> list[dict[str, Any]]:
    return (await _ask(app, person, "list_sources")).value["sources"]


def _make_repository(github: GitHubDouble, **options: Any) -> Repository:
    world = github.world
    made = world.repository("mona", f"tea-{world.id()}", **options)
    world.commit(made, FILES, "First")
    return made


async def _add_admin(app: ConsoleApp, name: str) -> Person:
    """An administrator who may use all tools."""
    person = await app.product.person(app.admin.tenant, f"{name}@acme.test", allow=["*"])
    await app.make_admin(person)
    return person


def _press(scope: Page | Locator, *names: str) -> Locator:
    return scope.get_by_role("button", name=re.compile(f"^({'|'.join(names)})$"))


async def test_a_source_is_added_synced_and_removed(app: ConsoleApp, github: GitHubDouble) -> None:
    person = await app.product.person(app.admin.tenant, "syncs@acme.test", allow=["*"])
    await _connect(app, github, person)
    home = _make_repository(github, private=True)
    name = f"GitHub mona/{home.name}"
    page = await app.open(person, "/documents")
    await page.get_by_role("link", name="Sources").click()
    await page.get_by_role("heading", name="No sources").wait_for()
    await page.keyboard.press("n")
    form = page.get_by_role("dialog", name="Add a source")
    await form.get_by_role("textbox", name="Repository").fill("nothing")
    await page.keyboard.press("Control+Enter")
    await form.get_by_text("Enter owner/name, such as acme/docs.").wait_for()
    await form.get_by_role("textbox", name="Repository").fill(f"https://github.com/mona/{home.name}")
    await page.keyboard.press("Control+Enter")
    panel = page.get_by_role("dialog", name=name)
    await expect(panel).to_contain_text("Not synced yet")
    await panel.get_by_role("button", name="Sync now").click()
    await expect(panel).to_contain_text("Synced in part")
    await expect(panel.get_by_role("region", name="This run")).to_contain_text("Done")
    await expect(panel).to_contain_text("Added2")
    skipped = panel.get_by_role("list", name="What was skipped, and why").get_by_role("listitem")
    await expect(skipped).to_contain_text(f"mona/{home.name}/empty.mdit is empty")
    await app.look(page, "documents-source")
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="Documents", exact=True).last.click()
    await expect(page.get_by_role("main").get_by_role("listitem")).to_have_count(2)
    await page.get_by_role("link", name="Sources").click()
    await page.get_by_role("link", name=name).click()
    await panel.get_by_role("button", name="Remove the source").click()
    await expect(page.get_by_role("alertdialog")).to_contain_text("deleted from the collection documents")
    await app.look(page, "documents-source-remove")
    await confirm_by_typing(page, name, "Remove the source")
    await page.get_by_text(f"{name} was removed with 2 documents").wait_for()
    await page.get_by_role("heading", name="No sources").wait_for()
    await page.get_by_role("link", name="Documents", exact=True).last.click()
    await page.get_by_role("heading", name="No documents").wait_for()


async def test_nothing_is_shared_before_it_is_agreed_to(app: ConsoleApp, github: GitHubDouble) -> None:
    person = await _add_admin(app, "shares")
    await _ask(app, person, "create_collection", name="handbook", owner="tenant")
    home = _make_repository(github, private=True)
    page = await app.open(person, "/documents?view=sources&dialog=add")
    sent: list[str] = []

    def hear(request: Request) -> None:
        if "add_source" in (request.post_data or ""):
            sent.append(request.post_data or "")

    page.on("request", hear)
    form = page.get_by_role("dialog", name="Add a source")
    await form.get_by_role("textbox", name="Repository").fill(f"mona/{home.name}")
    await expect(form.get_by_role("checkbox")).to_have_count(0)
    await form.get_by_role("button", name=re.compile("Collection$")).click()
    await page.get_by_role("option", name="handbook (shared)").click()
    await expect(form).to_contain_text(
        f"Everybody who reads the collection handbook will see what your account sees at GitHub mona/{home.name}, "
        "also what they could not open there themselves."
    )
    await app.look(page, "documents-consent")
    await _press(form, "Add a source").click()
    await expect(form.get_by_role("alert")).to_contain_text("Agree to what others will see")
    box = form.get_by_role("checkbox", name="I agree to share it")
    await box.press("Space")
    await expect(box).to_be_checked()
    # What is agreed to is that source alone.
    await form.get_by_role("textbox", name="Folder").fill("guide")
    await expect(box).not_to_be_checked()
    await _press(form, "Add a source").click()
    await expect(form.get_by_role("alert")).to_contain_text("Agree to what others will see")
    assert (sent, await _list_sources(app, person)) == ([], [])
    await box.press("Space")
    await _press(form, "Add a source").click()
    await page.get_by_role("dialog", name=f"GitHub mona/{home.name}, guide").wait_for()
    (stored,) = await _list_sources(app, person)
    assert (stored["collection"], stored["source"]["folder"]) == ("handbook", "guide")
    assert len(sent) == 1


async def test_an_account_that_is_missing_is_connected_from_there(app: ConsoleApp, github: GitHubDouble) -> None:
    person = await app.product.person(app.admin.tenant, "unconnected@acme.test", allow=["*"])
    home = _make_repository(github)
    place = {"kind": "github", "repository": f"mona/{home.name}"}
    source_id = await _add_source(app, person, place)
    page = await app.open(person, f"/documents?view=sources&id={source_id}")
    panel = page.get_by_role("dialog", name=f"GitHub mona/{home.name}")
    await panel.get_by_role("button", name="Sync now").click()
    await expect(panel.get_by_role("region", name="This run")).to_contain_text("GitHub is not connected for you")
    await app.look(page, "documents-source-unconnected")
    await panel.get_by_role("button", name="Connect GitHub").click()
    await page.get_by_role("dialog", name="Connect GitHub").wait_for()
    await page.keyboard.press("Escape")
    await _connect(app, github, person)

    async def is_synced() -> bool:
        """The worker hears of an account by a notification, a little later."""
        await page.reload()
        await panel.get_by_role("button", name="Sync now").click()
        await expect(panel).to_contain_text(re.compile("Synced in part|is not connected for you"))
        return "Synced in part" in await panel.inner_text()

    await within(60, is_synced)
    await expect(panel.get_by_role("button", name="Connect GitHub")).to_have_count(0)


async def test_a_service_that_one_may_not_use_is_named(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "limited@acme.test", allow=["rag.*"])
    place = {"kind": "notion", "title_words": "手引き"}
    source_id = await _add_source(app, person, place)
    page = await app.open(person, f"/documents?view=sources&id={source_id}")
    panel = page.get_by_role("dialog", name="Notion pages about 手引き")
    await expect(panel).to_contain_text("an administrator has to switch it on and give you its tools")
    await expect(panel.get_by_role("button", name="Connect Notion")).to_have_count(0)
    other = await app.open(app.user, f"/documents?view=sources&id={source_id}")
    await other.get_by_text("You have no such source, or not any more.").wait_for()
    stranger = await app.product.person(app.other_admin.tenant, "mallory@umbrella.test", allow=["*"])
    elsewhere = await app.open(stranger, f"/documents?view=sources&id={source_id}")
    await elsewhere.get_by_text("You have no such source, or not any more.").wait_for()


async def test_a_source_is_scheduled_from_its_panel(app: ConsoleApp, github: GitHubDouble) -> None:
    person = await app.product.person(app.admin.tenant, "plans@acme.test", allow=["*"])
    home = _make_repository(github)
    place = {"kind": "github", "repository": f"mona/{home.name}"}
    source_id = await _add_source(app, person, place)
    page = await app.open(person, f"/documents?view=sources&id={source_id}")
    await page.get_by_role("dialog").get_by_role("link", name="Sync it at times").click()
    form = page.get_by_role("dialog", name="New schedule")
    await form.locator("code").filter(has_text="rag.sync_documents").wait_for()
    await expect(form.get_by_role("textbox", name=re.compile("source_id"))).to_have_value(source_id)
    await form.get_by_role("textbox", name="Name").fill("Tea at night")
    await form.get_by_role("textbox", name="Cron expression").fill("0 3 * * *")
    await form.get_by_role("button", name="New schedule").click()
    await page.get_by_role("dialog", name="Tea at night").wait_for()


@in_every_view
async def test_the_pages_in_every_view(app: ConsoleApp, github: GitHubDouble, view: str) -> None:
    person = await _add_admin(app, f"looks-{view}")
    await _connect(app, github, person)
    await _ask(app, person, "create_collection", name=f"手引き-{view}", owner="tenant")
    page = await app.open(person, "/documents?view=sources&dialog=add", **VIEWS[view])
    form = page.get_by_role("dialog")
    await form.get_by_role("textbox").first.fill("mona/tea")
    await _press(form, "My documents.*", "自分のドキュメント.*").click()
    await page.get_by_role("option", name=re.compile(f"手引き-{view}")).click()
    await form.get_by_role("checkbox").wait_for()
    await app.look(page, f"documents-consent-{view}")
    home = _make_repository(github)
    place = {"kind": "github", "repository": f"mona/{home.name}"}
    source_id = await _add_source(app, person, place)
    await _ask(app, person, "add_source", source={"kind": "confluence", "space": "DOCS"})
    await page.goto(f"{app.identity.url}/console/documents?view=sources&id={source_id}")
    panel = page.get_by_role("dialog")
    await _press(panel, "Sync now", "今すぐ同期").click()
    await panel.get_by_role("list").wait_for()
    await app.look(page, f"documents-source-{view}")
    await page.goto(f"{app.identity.url}/console/documents?view=sources")
    await expect(page.get_by_role("main").get_by_role("listitem")).to_have_count(2)
    await app.look(page, f"documents-sources-{view}")
    await page.goto(f"{app.identity.url}/console/documents")
    await page.get_by_role("main").get_by_role("listitem").first.wait_for()
    await app.look(page, f"documents-filter-{view}")


async def test_a_run_shows_its_progress_as_it_is_told(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "waits@acme.test", allow=["rag.*", "confluence.*"])
    source_id = (await _ask(app, person, "add_source", source={"kind": "confluence", "space": "DOCS"})).value[
        "source_id"
    ]
    job_id = await add_job(app, person, "running", module="rag", tool="sync_documents", progress=1, total=4)
    page = await app.open(person, f"/documents?view=sources&id={source_id}&job={job_id}")
    run = page.get_by_role("dialog").get_by_role("region", name="This run")
    await expect(run.get_by_role("progressbar")).to_have_attribute("value", "0.25")
    await change_job(app, job_id, "running", 2, 4, "guide.md")
    await expect(run.get_by_role("progressbar")).to_have_attribute("value", "0.5")
    await expect(run).to_contain_text("guide.md")
    await change_job(app, job_id, "cancelled", 2, 4)
    await expect(run).to_contain_text("What it has brought about by then stays")
