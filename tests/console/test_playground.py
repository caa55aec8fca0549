"""The playground: a tool is run as oneself at /mcp, measured, and written as code that runs, in a real browser."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.console.console_app import VIEWS, ConsoleApp, confirm_by_typing, in_every_view
from tests.support.node import require_node_packages, run_node
from tests.support.product import Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def _person(app: ConsoleApp, name: str) -> Person:
    return await app.product.person(app.admin.tenant, f"{name}@acme.test", allow=["knowledge_graph.*", "github.*"])


async def _run(page: Page) -> None:
    await page.get_by_role("tabpanel").get_by_role("button", name="Run", exact=True).click()


async def _output(*command: str, **environment: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **environment}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return output.decode()


async def test_a_tool_is_run_as_oneself_and_the_code_does_the_same(app: ConsoleApp) -> None:
    person = await _person(app, "tries")
    page = await app.open(person, "/tools?open=knowledge_graph")
    await page.get_by_role("link", name="Read graph", exact=True).click()
    await page.get_by_role("dialog", name="Read graph", exact=True).get_by_role("button", name="Try").click()
    await page.wait_for_url(re.compile(r"try=knowledge_graph\.read_graph"))
    await page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).wait_for()
    sent: list[dict[str, str]] = []
    page.on("request", lambda request: sent.append(request.headers) if request.url.endswith("/mcp") else None)
    await _run(page)
    await expect(page.get_by_role("status").filter(has_text="tokens")).to_contain_text(re.compile(r"Done\s*\d+ ms"))
    await app.look(page, "playground-result")
    assert "cookie" not in sent[0], "the door is that of every client"
    token = sent[0]["authorization"].removeprefix("Bearer ")
    assert token not in await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert token not in await page.inner_text("body")
    curl = await page.get_by_role("region", name="curl").inner_text()
    assert '"isError":false' in await _output("sh", "-c", curl, MCPIST_TOKEN=person.token)
    await page.get_by_role("button", name=re.compile("Programming language")).click()
    await page.get_by_role("option", name="Python").click()
    code = await page.get_by_role("region", name="Python").inner_text()
    output = await _output(sys.executable, "-c", code, MCPIST_TOKEN=person.token)
    assert "is_error=False" in output or "isError=False" in output, output


async def test_the_code_in_typescript_does_the_same(app: ConsoleApp, tmp_path: Path) -> None:
    packages = require_node_packages()
    person = await _person(app, "types")
    page = await app.open(person, "/tools?try=knowledge_graph.read_graph")
    await page.get_by_role("button", name=re.compile("Programming language")).click()
    await page.get_by_role("option", name="TypeScript").click()
    code = await page.get_by_role("region", name="TypeScript").inner_text()
    program = packages / f"playground-{tmp_path.name}.mjs"
    program.write_text(f"process.env.MCPIST_TOKEN = {json.dumps(person.token)};\n{code}")
    try:
        run = await run_node(program, home=tmp_path)
    finally:
        program.unlink()
    assert (run.exit_code, "isError: true" in run.stdout, "entities" in run.stdout) == (0, False, True), run


async def test_the_form_says_what_is_wrong_and_builds_what_is_sent(app: ConsoleApp) -> None:
    page = await app.open(await _person(app, "forms"), "/tools?try=knowledge_graph.search")
    await _run(page)
    await page.get_by_text("This is required.").wait_for()
    await app.look(page, "playground-required")
    await page.get_by_role("textbox", name=re.compile("^query")).fill("アリス")
    await _run(page)
    await page.get_by_role("status").filter(has_text="Done").wait_for()
    await page.get_by_label("JSON", exact=True).check()
    await expect(page.get_by_role("textbox", name="Parameters")).to_have_value(re.compile("アリス"))
    await page.get_by_role("textbox", name="Parameters").fill('{"query": ')
    await page.get_by_text("This is not JSON yet.").wait_for()
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url) if request.url.endswith("/mcp") else None)
    await _run(page)
    await page.get_by_text("1 parameter is not right yet.").wait_for()
    await page.get_by_role("textbox", name="Parameters").fill('{"query": 5}')
    await _run(page)
    await page.get_by_text("1 parameter is not right yet.").wait_for()
    assert calls == [], "neither what is no JSON nor the value before it is sent"


async def test_what_destroys_asks_first(app: ConsoleApp) -> None:
    page = await app.open(await _person(app, "destroys"), "/tools?try=knowledge_graph.delete_entities")
    await page.get_by_role("button", name=re.compile("^Add: ")).first.click()
    await page.get_by_role("textbox", name=re.compile(" 1")).fill("nobody")
    await app.look(page, "playground-array")
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url) if request.url.endswith("/mcp") else None)
    await _run(page)
    question = page.get_by_role("alertdialog", name="Run knowledge_graph.delete_entities?")
    await question.wait_for()
    await app.look(page, "playground-destroys")
    await question.get_by_role("button", name="Cancel").click()
    assert calls == []
    await _run(page)
    await confirm_by_typing(page, "knowledge_graph.delete_entities", "Run")
    await page.get_by_role("status").filter(has_text="tokens").wait_for()
    assert len(calls) == 1


async def test_what_a_model_sends_and_gets_for_each_of_its_tools(app: ConsoleApp) -> None:
    page = await app.open(await _person(app, "models"), "/tools?try=knowledge_graph.read_graph")
    for way, expected in (("get_module_schema", "read_graph"), ("batch", "one")):
        await page.get_by_role("tab", name=way).click()
        await _run(page)
        await page.get_by_role("status").filter(has_text="Done").wait_for()
        await expect(page.get_by_role("region", name="Result", exact=True)).to_contain_text(expected)
    await app.look(page, "playground-batch")


@pytest.mark.long
async def test_an_account_that_is_missing_is_named_and_the_failure_shown(app: ConsoleApp) -> None:
    page = await app.open(await _person(app, "missing"), "/tools?try=github.get_me")
    await page.get_by_role("link", name="Connect GitHub").wait_for()
    await _run(page)
    await page.get_by_role("status").filter(has_text="Failed").wait_for()
    await app.look(page, "playground-failed")


@in_every_view
async def test_the_playground_in_every_view(app: ConsoleApp, view: str) -> None:
    page = await app.open(app.user, "/tools?try=github.create_issue", **VIEWS[view])
    await page.get_by_role("tabpanel").wait_for()
    await app.look(page, f"playground-{view}")


@pytest.mark.long
async def test_a_tool_that_is_not_ones_own_is_not_tried(app: ConsoleApp) -> None:
    page = await app.open(await _person(app, "denied"), "/tools?try=notion.search_pages")
    await page.get_by_role("dialog").get_by_role("alert").wait_for()
    assert await page.get_by_role("button", name="Run", exact=True).count() == 0
