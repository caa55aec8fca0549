"""What people attach to a chat from Confluence: a page."""

from collections.abc import Mapping

from modules.confluence.page_reading import fetch_body
from modules.confluence.parameters import READ_PAGES, PageId
from modules.confluence.spaces import SearchedConfluence, search
from modules.kit import FOR_EVERYONE, Context, ResourceContents, read_long_text_resource, resource
from modules.kit.completions import MAX_VALUES, ask_tool, keep_words


async def complete_page(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the id of a page, by words of its title."""
    words = keep_words(typed)
    where = f' AND title ~ "{words}*"' if words else ""
    cql = f"type = page{where} ORDER BY lastmodified DESC"
    found = await ask_tool(context, search, SearchedConfluence, cql=cql, per_page=MAX_VALUES)
    return [row.id for row in found.results if row.id]


@resource(
    "resource://confluence/pages/{id}",
    mime_type="text/markdown",
    annotations=FOR_EVERYONE,
    scopes=[READ_PAGES],
    title="Page",
    complete={"id": complete_page},
)
async def page(context: Context, id: PageId) -> ResourceContents:
    """The body of a page as Markdown, below its title."""
    found = await fetch_body(context, id)
    title = "" if found.body.is_markup or not found.page.title else f"# {found.page.title}\n\n"
    return read_long_text_resource(f"{title}{found.body.text}")


RESOURCES = (page,)
