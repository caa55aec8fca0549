"""Documents in the console: uploaded with progress, listed, found by meaning, and one's own alone."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import FilePayload, Locator, Page, Route, expect

from tests.console.console_app import VIEWS, ConsoleApp, confirm_by_typing, in_every_view
from tests.support.canary import SUITE
from tests.support.mcp_client import Answer, Client
from tests.support.office_files import WORD_TYPE, build_docx, build_paragraph, build_pdf
from tests.support.product import Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LETTER: FilePayload = {
    "name": "年次報告.docx",
    "mimeType": WORD_TYPE,
    "buffer": build_docx(build_paragraph("年次報告", style="1") + build_paragraph("倉庫は大阪に移転した。")),
}
TEA: FilePayload = {
    "name": "tea.pdf",
    "mimeType": "application/pdf",
    "buffer": build_pdf("Green tea is brewed at 80 degrees.", title="Tea"),
}


async def _person(app: ConsoleApp, name: str) -> Person:
    return await app.product.person(app.admin.tenant, f"{name}@acme.test", allow=["rag.*"])


async def _choose(page: Page, file: FilePayload) -> Locator:
    """Open the dialog and choose a file."""
    await page.get_by_role("button", name=re.compile("^(Upload a document|ドキュメントをアップロード)$")).click()
    dialog = page.get_by_role("dialog")
    await dialog.locator("input[type=file]").set_input_files(file)
    return dialog


async def _upload(page: Page, file: FilePayload) -> None:
    dialog = await _choose(page, file)
    await dialog.get_by_role("button", name=re.compile("^(Upload|アップロード)$")).click()
    await expect(dialog).to_have_count(0)


@in_every_view
async def test_the_page_in_every_view(app: ConsoleApp, view: str) -> None:
    page = await app.open(await _person(app, f"reads-{view}"), "/documents", **VIEWS[view])
    await _upload(page, LETTER)
    await _upload(page, TEA)
    await expect(page.get_by_role("main").get_by_role("listitem")).to_have_count(2)
    await app.look(page, f"documents-{view}")
    dialog = await _choose(page, TEA)
    await app.look(page, f"documents-upload-{view}")
    await dialog.get_by_role("button", name=re.compile("^(Upload|アップロード)$")).click()
    await dialog.get_by_role("alert").wait_for()
    await app.look(page, f"documents-refused-{view}")


async def test_a_file_is_uploaded_found_and_read(app: ConsoleApp) -> None:
    page = await app.open(await _person(app, "uploads"), "/documents")
    await page.get_by_role("heading", name="No documents").wait_for()
    dialog = await _choose(page, LETTER)
    await dialog.get_by_role("textbox", name="Path").fill("reports/2026.docx")
    await dialog.get_by_role("textbox", name="Tags").fill("report, 年報")
    gate = asyncio.Event()

    async def hold(route: Route) -> None:
        await gate.wait()
        await route.continue_()

    await page.route("**/rag/documents", hold)
    await dialog.get_by_role("button", name="Upload", exact=True).click()
    await expect(dialog.get_by_role("progressbar", name="Progress of the upload")).to_be_visible()
    gate.set()
    await expect(dialog).to_have_count(0)
    await page.unroute("**/rag/documents")
    row = page.get_by_role("main").get_by_role("listitem")
    await expect(row).to_contain_text("reports/2026.docx · documents")
    await expect(row).to_contain_text("report, 年報")
    await _upload(page, TEA)
    await page.get_by_role("searchbox").fill("where is the warehouse?")
    hits = page.get_by_role("list", name="Passages that fit").get_by_role("listitem")
    await expect(hits.first).to_contain_text("倉庫は大阪に移転した")
    await app.look(page, "documents-found")
    await hits.first.get_by_role("link", name="年次報告").click()
    panel = page.get_by_role("dialog", name="年次報告")
    await expect(panel.get_by_role("region", name="Text")).to_have_text("# 年次報告\n\n倉庫は大阪に移転した。")
    await app.look(page, "documents-panel")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("searchbox")).to_have_value("where is the warehouse?")
    other = await app.open(app.other_admin, "/documents")
    await expect(other.get_by_text("reports/2026.docx")).to_have_count(0)


async def test_what_is_there_is_replaced_only_where_that_is_asked(app: ConsoleApp) -> None:
    page = await app.open(await _person(app, "replaces"), "/documents")
    await _upload(page, TEA)
    dialog = await _choose(page, TEA)
    await dialog.get_by_role("button", name="Upload", exact=True).click()
    await expect(dialog.get_by_role("alert")).to_contain_text("There is a document of this path.")
    await app.look(page, "documents-replace")
    await dialog.get_by_text("Replace a document of the same path").click()
    await dialog.get_by_role("button", name="Upload", exact=True).click()
    await expect(dialog).to_have_count(0)
    await page.get_by_role("link", name="Tea").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Version2")


REFUSED_FILES = (
    ("noise.txt", b"\0\1\2", "The file is not of the type that its name says."),
    ("locked.pdf", build_pdf("x", password="secret"), "The file is encrypted. Save it without a password."),
    ("image.png", b"\x89PNG", "Files of this type are not read"),
    ("large.txt", bytes(20 * 1024 * 1024 + 1), "This is too large."),
    ("long.txt", b"x" * 1_000_001, "The file has more than 1,000,000 characters. Divide it."),
)


async def test_a_refused_file_is_told_why(app: ConsoleApp, tmp_path: Path) -> None:
    """And another can be chosen in its place."""
    page = await app.open(await _person(app, "refused"), "/documents")
    dialog = await _choose(page, TEA)
    for name, content, text in REFUSED_FILES:
        file = tmp_path / name
        file.write_bytes(content)  # Playwright would send the browser these bytes by way of two processes
        await dialog.locator("input[type=file]").set_input_files(file)
        await dialog.get_by_role("button", name="Upload", exact=True).click()
        await expect(dialog.get_by_role("alert")).to_contain_text(text)
    await dialog.locator("input[type=file]").set_input_files(TEA)
    await dialog.get_by_role("button", name="Upload", exact=True).click()
    await expect(dialog).to_have_count(0)


async def test_who_has_no_such_tools_is_told_so(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "nothing@acme.test", allow=["knowledge_graph.*"])
    page = await app.open(person, "/documents")
    await page.get_by_role("heading", name="Documents are not switched on for you").wait_for()
    await expect(page.get_by_role("button", name="Upload a document")).to_have_count(0)
    await app.look(page, "documents-none")


async def _ask(app: ConsoleApp, person: Person, tool: str, **params: Any) -> Answer:
    answer = await Client(app.identity.gateway.app, SUITE.hear).call(person.token, "rag", tool, params)
    assert not answer.failed, answer.text
    return answer


async def test_documents_of_one_collection_are_listed_searched_and_opened(app: ConsoleApp) -> None:
    """Also where two collections have the same name: the company's, and one's own."""
    umbrella = app.other_admin.tenant
    admin = await app.product.person(umbrella, "keeps@umbrella.test", allow=["rag.*"])
    reader = await app.product.person(umbrella, "filters@umbrella.test", allow=["rag.*"])
    await app.make_admin(admin)
    await _ask(app, admin, "create_collection", name="documents", owner="tenant")
    readable = (await _ask(app, admin, "list_collections")).value["collections"]
    of_all = next(one["id"] for one in readable if one["owner"] == "tenant")
    await _ask(app, admin, "index_doc", file_path="tea.md", text="# Company tea\n\nIt is black.", collection=of_all)
    await _ask(app, reader, "index_doc", file_path="tea.md", text="# My tea\n\nIt is green.")
    page = await app.open(reader, "/documents")
    rows = page.get_by_role("main").get_by_role("listitem")
    await expect(rows).to_have_count(2)
    await page.get_by_role("link", name="Company tea").click()
    panel = page.get_by_role("dialog", name="Company tea")
    await expect(panel.get_by_role("region", name="Text")).to_contain_text("It is black.")
    await expect(panel.get_by_role("button", name="Delete the document")).to_have_count(0)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name=re.compile("All collections")).click()
    await page.get_by_role("option", name="documents (shared)").click()
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("Company tea")
    await app.look(page, "documents-filter")
    await page.get_by_role("searchbox").fill("what colour is tea?")
    hits = page.get_by_role("list", name="Passages that fit").get_by_role("listitem")
    await expect(hits).to_have_count(1)
    await expect(hits).to_contain_text("It is black")
    await page.reload()
    await expect(hits).to_have_count(1)
    await page.get_by_role("button", name=re.compile("shared")).click()
    await page.get_by_role("option", name="All collections").click()
    await expect(hits).to_have_count(2)


async def test_a_document_is_deleted_as_it_was_seen(app: ConsoleApp) -> None:
    person = await _person(app, "deletes")
    await _ask(app, person, "index_doc", file_path="a.md", text="# Alpha")
    await _ask(app, person, "index_doc", file_path="b.md", text="# Beta")
    page = await app.open(person, "/documents")
    await page.get_by_role("link", name="Alpha").click()
    panel = page.get_by_role("dialog", name="Alpha")
    await panel.get_by_role("button", name="Delete the document").click()
    await _ask(app, person, "index_doc", file_path="a.md", text="# Alpha\n\nChanged meanwhile.")
    await confirm_by_typing(page, "a.md", "Delete the document")
    question = page.get_by_role("alertdialog")
    await expect(question.get_by_role("alert")).to_contain_text("Somebody else has changed this meanwhile.")
    await app.look(page, "documents-delete")
    await question.get_by_role("button", name="Cancel").click()
    await expect(panel).to_contain_text("Changed meanwhile.")
    await panel.get_by_role("button", name="Delete the document").click()
    await confirm_by_typing(page, "a.md", "Delete the document")
    await page.get_by_text("a.md was deleted").wait_for()
    await expect(panel).to_have_count(0)
    rows = page.get_by_role("main").get_by_role("listitem")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("Beta")
