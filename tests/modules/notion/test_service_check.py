"""`mcpist service check notion`: every reading tool finds something to read, and its answer fits."""

from modules.notion import MODULE
from tests.modules.notion.conftest import NotionApp
from tests.support.module_check import check_module, list_troubles


async def test_the_check_runs_every_reading_tool(app: NotionApp) -> None:
    await app.call("append_block_children", block_id=app.home, markdown="words")
    app.notion.add_comment(app.home, "words")
    checked = await check_module(MODULE, app.notion.url, "full")
    assert [(one.tool, one.state, one.reason) for one in list_troubles(checked)] == []
    assert checked.keys() == {one.name for one in MODULE.tools if one.hints.read_only}
