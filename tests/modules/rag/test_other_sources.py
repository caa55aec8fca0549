"""Documents from Notion and from Confluence."""

from typing import Any

import pytest

from core.http.credential_headers import CredentialScheme
from modules.confluence import MODULE as CONFLUENCE
from modules.notion import MODULE as NOTION
from modules.rag import MODULE as RAG
from tests.support.confluence_double import PAIR, confluence_double
from tests.support.module_app import FULL_KEY, ModuleApp, open_module_app
from tests.support.notion_double import notion_double
from tests.support.postgres import DatabaseServer
from tests.support.task_forms import CORE, run_as_task


async def ask(app: ModuleApp, tool: str, **params: Any) -> Any:
    answer = await app.node.call(app.ada.token, "rag", tool, params)
    assert not answer.failed, answer.text
    return answer.value


async def sync(app: ModuleApp, source_id: str) -> dict[str, Any]:
    found = await run_as_task(app.node, app.ada, CORE, "rag", "sync_documents", {"source_id": source_id})
    return found["report"]


async def test_notion_pages(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("notion")
    async with (
        notion_double() as vendor,
        open_module_app(database_server, folder, NOTION, vendor.url, beside=[RAG]) as app,
    ):
        await app.connect(app.ada, FULL_KEY)
        page = vendor.world.page("就業規則")["id"]
        vendor.world.markdown[page] = "# 休暇\n\n年次有給休暇は入社半年後に十日与えられます。"
        vendor.world.page("Empty page")
        source_id = (await ask(app, "add_source", source={"kind": "notion"}))["source_id"]
        first = await sync(app, source_id)
        assert (first["added"], [one["reason"] for one in first["skipped"]]) == (1, ["it is empty"])
        found = (await ask(app, "search_docs", query="有給休暇は何日もらえる?", limit=1))["results"][0]
        assert (found["title"], found["file_path"]) == ("就業規則", f"notion/{page}")
        assert found["url"].startswith("https://")
        assert (await sync(app, source_id))["unchanged"] == 1
        del vendor.world.pages[page]
        assert (await sync(app, source_id))["removed"] == 1


async def test_a_confluence_space(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("confluence")
    async with (
        confluence_double() as vendor,
        open_module_app(database_server, folder, CONFLUENCE, vendor.url, beside=[RAG]) as app,
    ):
        await app.connect(app.ada, PAIR, scheme=CredentialScheme(kind="basic_pair"))
        page = vendor.world.add("Backups", "<h2>Restore</h2><p>Restores are rehearsed every month.</p>")
        vendor.world.add("Long", "<p>" + "A sentence about nothing. " * 4_000 + "</p>")
        place = {"kind": "confluence", "space": "98306"}
        source_id = (await ask(app, "add_source", source=place))["source_id"]
        assert (await sync(app, source_id))["added"] == 2
        found = (await ask(app, "search_docs", query="how often do we practise a restore?", limit=1))["results"][0]
        assert (found["title"], found["file_path"]) == ("Backups", f"confluence/98306/{page}")
        assert (await sync(app, source_id))["unchanged"] == 2
        listed = (await ask(app, "list_docs_by_date"))["documents"]
        assert {one["title"] for one in listed} == {"Backups", "Long"}
