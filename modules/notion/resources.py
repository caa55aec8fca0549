"""What people attach to a chat from Notion: a page, the columns of a database."""

from collections.abc import Mapping

from modules.kit import (
    FOR_EVERYONE,
    FOR_MODELS,
    Context,
    ResourceContents,
    read_json_resource,
    read_long_text_resource,
    resource,
)
from modules.kit.completions import MAX_VALUES, ask_tool
from modules.notion.databases import DataSourceId, get_data_source
from modules.notion.pages import FoundPages, fetch_markdown, search_pages
from modules.notion.parameters import READ_CONTENT, PageId


async def _complete_page(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    return await _find(context, typed, "page")


async def _complete_data_source(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    return await _find(context, typed, "data_source")


async def _find(context: Context, typed: str, kind: str) -> list[str]:
    """Find the ids of what has the typed words in its title, as Notion searches."""
    found = await ask_tool(context, search_pages, FoundPages, query=typed[:500], kind=kind, per_page=MAX_VALUES)
    return [row.id for row in found.results]


@resource(
    "resource://notion/pages/{id}/raw",
    mime_type="text/markdown",
    annotations=FOR_EVERYONE,
    scopes=[READ_CONTENT],
    complete={"id": _complete_page},
)
async def page(context: Context, id: PageId) -> ResourceContents:
    """The content of a page as Markdown."""
    found = await fetch_markdown(context, id)
    return read_long_text_resource(found.markdown, is_cut=found.truncated)


@resource(
    "resource://notion/data_sources/{id}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_CONTENT],
    complete={"id": _complete_data_source},
)
async def data_source(context: Context, id: DataSourceId) -> ResourceContents:
    """The columns of a database's data source, with their types and options."""
    return read_json_resource(await get_data_source.run(context, data_source_id=id))


RESOURCES = (page, data_source)
