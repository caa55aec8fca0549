"""Identity providers and senders of the deployment, and the log collector and the vendor keys of a tenant, in a real
browser: tried at real servers, in use at once."""

import re
from collections.abc import AsyncIterator, Iterator
from unittest import mock

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import expect

from core.audit.sealer import seal_pending_events
from server.role_database import get_utc_now
from tests.broker.audit_streams.collector_server import SECRET, CollectorServer
from tests.broker.tenant_keys.embedding_vendor import EmbeddingVendor
from tests.console.console_app import SHORT_VIEW, VIEWS, ConsoleApp, confirm_by_typing, console_app
from tests.support import postgres
from tests.support.eventually import within
from tests.support.mail_server import MailServer, mail_server

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def post() -> Iterator[MailServer]:
    """A mail server."""
    with mail_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def collector() -> AsyncIterator[CollectorServer]:
    """A log collector."""
    async with CollectorServer() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def key_vendor() -> AsyncIterator[EmbeddingVendor]:
    """A vendor of embeddings, in the place of those that the product knows."""
    async with EmbeddingVendor({"pa-of-acme"}) as server:
        with mock.patch("server.wiring.connect.TenantKeyKinds", return_value=server.kinds):
            yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(
    share_browser: None,
    database_server: postgres.DatabaseServer,
    tmp_path_factory: pytest.TempPathFactory,
    post: MailServer,
    collector: CollectorServer,
    key_vendor: EmbeddingVendor,
) -> AsyncIterator[ConsoleApp]:
    """The console beside an identity provider that MCPist does not know yet, a mail server, a log collector, and a
    vendor of embeddings."""
    hosts = (f"127.0.0.1:{post.port}", f"127.0.0.1:{collector.port}", key_vendor.host)
    async with (
        database_server.database() as database,
        console_app(
            database, tmp_path_factory.mktemp("console"), providers=True, in_file=False, private_hosts=hosts
        ) as running,
    ):
        yield running
        running.check()


async def test_an_operator_adds_an_identity_provider_that_people_use_at_once(app: ConsoleApp) -> None:
    company, operator = app.identity.company, await app.add_operator()
    page = await app.open(operator, "/identity")
    await page.get_by_text("No identity providers").wait_for()
    await app.look(page, "identity-empty")
    await page.keyboard.press("n")
    form = page.get_by_role("form", name="Identity")
    await form.get_by_label("Identifier").fill("company")
    # The provider wants it before it gives a client ID.
    await expect(form).to_contain_text(f"{app.identity.url}/sign-in/callback/company")
    await form.get_by_label("Issuer").fill(company.issuer)
    await form.get_by_label("Client ID").fill(company.client_id)
    await form.get_by_label("Client secret").fill("wrong-secret-77")
    await form.get_by_role("button", name="Try").click()
    checks = form.get_by_role("list", name="Trial")
    await expect(checks).to_contain_text("the provider refuses the client id or its secret")
    await app.look(page, "identity-try-failed")
    await form.get_by_role("button", name="Save").click()
    await form.get_by_text("This was not done").wait_for()
    await form.get_by_label("Client secret").fill(company.client_secret)
    await form.get_by_role("button", name="Try").click()
    await form.get_by_text("Everything that can be tried without a person works.").wait_for()
    await expect(form.get_by_text("This was not done")).to_have_count(0)
    await form.get_by_label("Text of the button").fill("Acme sign-in")
    await app.look(page, "identity-try")
    await form.get_by_role("button", name="Save").click()
    panel = page.get_by_role("dialog", name="Acme sign-in")
    await panel.get_by_text("In use").wait_for()
    await expect(panel.get_by_label("Client secret")).to_have_value("")
    assert company.client_secret not in await page.content()

    await app.identity.let_in(app.admin.tenant, "@acme.test")
    await company.sign_in_as("new@acme.test")
    somebody = await app.open(None)
    await somebody.get_by_role("button", name="Acme sign-in").click()
    await somebody.get_by_role("heading", name="Start").wait_for()

    mapping = await app.open(app.admin, "/settings?view=mappings&dialog=add")
    await mapping.get_by_role("button", name="Acme sign-in (company) Identity provider").click()
    await mapping.get_by_role("option", name="Provisioning (SCIM)").wait_for()
    await app.look(mapping, "settings-mapping-group")
    await mapping.get_by_role("option", name="Acme sign-in (company)").click()
    await mapping.get_by_role("textbox", name="Group").fill("engineers")
    await mapping.get_by_role("combobox", name="Role").fill("ben")
    await mapping.get_by_role("option", name="ben@acme.test").click()
    await mapping.get_by_role("button", name="Save").click()
    await mapping.get_by_text("Group of company").wait_for()

    other = await app.open(operator, "/identity?id=company")
    await other.get_by_label("Text of the button").fill("Theirs")
    await other.get_by_role("button", name="Save").click()
    await other.get_by_text("was saved").wait_for()
    await panel.get_by_label("Text of the button").fill("Mine")
    await panel.get_by_label("Claim with groups").fill("roles")
    await panel.get_by_role("button", name="Save").click()
    await page.get_by_text("Somebody else has changed this").wait_for()
    await app.look(page, "identity-conflict")
    await page.get_by_role("button", name="Apply mine again").click()
    panel = page.get_by_role("dialog", name="Mine")
    await panel.get_by_role("button", name="Remove provider").click()
    question = page.get_by_role("alertdialog", name="Remove identity provider company?")
    await question.get_by_label("Type company to confirm").fill("company")
    await question.get_by_role("button", name="Remove provider").click()
    await page.get_by_text("No identity providers").wait_for()
    narrow = await app.open(operator, "/identity?dialog=new", **VIEWS[SHORT_VIEW])
    await narrow.get_by_label("識別子").wait_for()
    await app.look(narrow, f"identity-add-{SHORT_VIEW}")


async def test_an_operator_sets_the_mail_server(app: ConsoleApp, post: MailServer) -> None:
    operator = await app.add_operator()
    page = await app.open(operator, "/senders")
    form = page.get_by_role("form", name="Mail server")
    password = form.get_by_label("Password")
    await expect(password).to_be_disabled()
    await expect(password).to_have_accessible_description(re.compile("^Enter a user first"))
    await form.get_by_label("Server").fill(f"{'m' * 64}.test")
    await form.get_by_label("From").fill("MCPist <mcpist@acme.test>")
    await form.get_by_role("button", name="Try").click()
    await expect(form.get_by_role("list", name="Trial")).to_contain_text("does not resolve")
    await form.get_by_label("Server").fill("127.0.0.1")
    await form.get_by_label("Port").fill(str(post.port))
    await form.get_by_label("From").fill("no address")
    await form.get_by_role("button", name="Try").click()
    await expect(form.get_by_label("From")).to_have_attribute("aria-invalid", "true")
    await form.get_by_label("From").fill("MCPist <mcpist@acme.test>")
    await form.get_by_role("button", name="Try").click()
    await expect(form.get_by_role("list", name="Trial")).to_contain_text("does not encrypt")
    await form.get_by_role("button", name=re.compile("Encryption")).click()
    await page.get_by_role("option", name="None").click()
    await form.get_by_role("button", name="Try").click()
    await form.get_by_text("Everything that can be tried without a person works.").wait_for()
    assert [message["To"] for message in post.messages] == [operator.email]
    await app.look(page, "senders-try")
    await form.get_by_role("button", name="Save").click()
    await page.get_by_text("The mail server was saved").wait_for()
    await page.get_by_text("In use", exact=True).wait_for()
    await form.get_by_label("User").fill("mcpist")
    await form.get_by_label("Password").fill("a-password-of-the-tests")
    await form.get_by_role("button", name="Save").click()
    await form.get_by_text("This was not done").wait_for()
    await app.look(page, "senders-refused")
    narrow = await app.open(operator, "/senders", **VIEWS[SHORT_VIEW])
    await narrow.get_by_text("使用中", exact=True).wait_for()
    await expect(narrow.get_by_label("パスワード")).to_have_accessible_description(re.compile("^先にユーザーを"))
    await app.look(narrow, f"senders-{SHORT_VIEW}")
    await page.get_by_role("button", name="Remove mail server").click()
    question = page.get_by_role("alertdialog", name="Remove 127.0.0.1?")
    await question.get_by_label("Type 127.0.0.1 to confirm").fill("127.0.0.1")
    await question.get_by_role("button", name="Remove mail server").click()
    await expect(page.get_by_text("Nothing is sent this way.")).to_have_count(2)


@pytest.mark.long
async def test_an_operator_chooses_which_clients_are_trusted(app: ConsoleApp) -> None:
    operator = await app.add_operator()
    page = await app.open(operator, "/identity?view=trust")
    hosts = page.get_by_label("Hosts of client documents")
    body = {"redirect_uris": ["http://127.0.0.1/callback"]}
    async with httpx2.AsyncClient(base_url=app.identity.url) as client:

        async def try_to_register() -> int:
            return (await client.post("/oauth/register", json=body)).status_code

        async def is_open() -> bool:
            return await try_to_register() == 201

        async def is_closed() -> bool:
            return await try_to_register() == 403

        assert await is_closed()
        await hosts.fill("https://claude.ai")
        await page.get_by_role("button", name="Save").click()
        await expect(hosts).to_have_attribute("aria-invalid", "true")
        await hosts.fill("claude.ai\n*.example.com")
        await page.locator("label", has_text="Clients may register themselves").click()
        await page.get_by_role("button", name="Save").click()
        await page.get_by_text("The trust in clients was saved").wait_for()
        await app.look(page, "identity-trust")
        await within(5, is_open)
        narrow = await app.open(operator, "/identity?view=trust", **VIEWS[SHORT_VIEW])
        await narrow.get_by_role("button", name="既定値に戻す").wait_for()
        await app.look(narrow, f"identity-trust-{SHORT_VIEW}")
        await page.get_by_role("button", name="Back to the default").click()
        question = page.get_by_role("alertdialog")
        await expect(question).to_contain_text("claude.ai")
        await question.get_by_role("button", name="Back to the default").click()
        await expect(hosts).to_have_value("*")
        await within(5, is_closed)
        await page.get_by_role("button", name="Undo").click()
        await expect(hosts).to_have_value("claude.ai\n*.example.com")
        await within(5, is_open)


@pytest.mark.long
async def test_forms_with_a_secret_say_what_belongs_to_it(app: ConsoleApp) -> None:
    """Chromium says in its console what a password manager would miss."""
    operator = await app.add_operator()
    hints = list[str]()
    for person, path in (
        (operator, "/senders"),
        (operator, "/identity?dialog=new"),
        (app.admin, "/settings?view=collector"),
        (app.admin, "/services?id=notion&tab=oauth"),
    ):
        page = await app.open(person, "/doctor")
        page.on("console", lambda message, path=path: hints.append(f"{path} {message.text}"))
        await page.goto(f"{app.identity.url}/console{path}")
        if path == "/senders":
            await page.get_by_role("form", name="Mail server").get_by_label("User").fill("mcpist")
        await page.locator("input[type=password]").first.wait_for()
        # It looks at forms when the page has come to rest, and once more at what is added.
        await page.evaluate("() => new Promise((done) => requestIdleCallback(() => setTimeout(done, 200)))")
    assert [hint for hint in hints if "[DOM]" in hint] == []


async def test_identity_is_the_operator_s(app: ConsoleApp) -> None:
    for path in ("/identity", "/senders"):
        page = await app.open(app.admin, path)
        await page.get_by_role("heading", name="This page is for the operator").wait_for()


async def test_an_administrator_sends_the_audit_log_to_a_collector(app: ConsoleApp, collector: CollectorServer) -> None:
    page = await app.open(app.admin, "/settings?view=collector")
    form = page.get_by_role("form", name="Log collector")
    await form.get_by_label("URL").fill(collector.url)
    await form.get_by_label("Signing secret").fill(SECRET)
    collector.status = 503
    await form.get_by_role("button", name="Try").click()
    await form.get_by_text("it answers 503").wait_for()
    collector.status = 200
    await form.get_by_role("button", name="Try").click()
    await form.get_by_text("the collector has taken a trial record").wait_for()
    await app.look(page, "settings-collector-try")
    await form.get_by_role("button", name="Save").click()
    await page.get_by_text("Latest delivery").wait_for()
    await expect(page.get_by_label("Signing secret")).to_have_value("")
    assert SECRET not in await page.content()
    async with app.product.database.admin_connection() as admin:
        await admin.execute(
            "UPDATE vault.audit_streams SET last_error = 'status_503', failures = 1, failing_since = now(),"
            " next_attempt_at = now() + interval '1 hour'"
        )
    seen = await app.open(app.admin, "/settings?view=collector", **VIEWS[SHORT_VIEW])
    await seen.get_by_text("503").wait_for()
    await app.look(seen, f"settings-collector-{SHORT_VIEW}")
    other = await app.open(app.other_admin, "/settings?view=collector")
    await expect(other.get_by_label("URL")).to_have_value("")
    await page.get_by_role("button", name="Remove log collector").click()
    dialog = page.get_by_role("alertdialog")
    await dialog.get_by_role("textbox").fill(f"127.0.0.1:{collector.port}")
    await dialog.get_by_role("button", name="Remove log collector").click()
    await page.get_by_text("gets no records any more").wait_for()
    await expect(page.get_by_label("URL")).to_have_value("")


async def test_the_keys_of_vendors_that_a_company_has(app: ConsoleApp, key_vendor: EmbeddingVendor) -> None:
    page = await app.open(app.admin, "/settings?view=keys")
    keys = page.get_by_role("list", name="Vendor keys")
    await expect(keys.get_by_role("listitem").filter(has_text="Voyage AI")).to_contain_text(
        f"No key · texts go to {key_vendor.host}"
    )
    await page.get_by_role("button", name="Add key: Voyage AI").click()
    form = page.get_by_role("dialog", name="Key of Voyage AI")
    await form.get_by_text("with the texts and searches of collections that use a model of Voyage AI").wait_for()
    await form.get_by_label("Key", exact=True).fill("sk-of-another")
    await form.get_by_role("button", name="Save").click()
    await form.get_by_text("must begin with pa-").wait_for()
    await form.get_by_label("Key", exact=True).fill("pa-nobody-s")
    await form.get_by_role("button", name="Save").click()
    await form.get_by_text("Voyage AI does not take the key").wait_for()
    await form.locator("label", has_text="Save it although a check fails").wait_for()
    await app.look(page, "settings-key-refused")
    await form.get_by_label("Key", exact=True).fill("pa-of-acme")
    await form.get_by_role("button", name="Save").click()
    await page.get_by_text("The key of Voyage AI was saved").wait_for()
    await expect(keys).to_contain_text("never used")
    assert "pa-of-acme" not in await page.content()
    await app.look(page, "settings-keys")
    dark = await app.open(app.admin, "/settings?view=keys", color_scheme="dark")
    await dark.get_by_text("stored", exact=False).first.wait_for()
    await app.look(dark, "settings-keys-dark")
    seen = await app.open(app.admin, "/settings?view=keys", **VIEWS[SHORT_VIEW])
    await seen.get_by_text("保存").first.wait_for()
    await app.look(seen, f"settings-keys-{SHORT_VIEW}")
    await seen.get_by_role("button", name="キーを置き換え：Voyage AI").click()
    await seen.get_by_role("dialog").get_by_role("textbox").wait_for()
    await app.look(seen, f"settings-key-{SHORT_VIEW}")
    await seen.get_by_role("button", name="閉じる").click()
    other = await app.open(app.other_admin, "/settings?view=keys")
    await expect(other.get_by_role("list", name="Vendor keys")).not_to_contain_text("stored")
    await page.get_by_role("button", name="Remove the key of Voyage AI").click()
    await page.get_by_role("alertdialog").get_by_text("stays valid at Voyage AI").wait_for()
    await app.look(page, "settings-key-remove")
    await confirm_by_typing(page, "Voyage AI", "Remove")
    await page.get_by_text("The key of Voyage AI was removed").wait_for()
    await seal_pending_events(app.product.console, get_utc_now)
    await seen.get_by_role("button", name="Voyage AI のキーを削除").wait_for(state="detached")
