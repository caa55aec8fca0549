"""What people attach to a chat: one of the documents."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from pydantic import Field

from modules.kit import FOR_MODELS, Context, ResourceContents, ToolError, read_long_text_resource, resource
from modules.kit.completions import MAX_VALUES, Option, choose_values
from modules.rag.read_tools import DOCUMENT_URI, READ


async def complete_document(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the id of a document, by its title or path too."""
    page = await context.collections.list_documents(newest_first=True, limit=MAX_VALUES)
    return choose_values((Option(str(one.id), f"{one.title} {one.key}") for one in page.documents), typed)


@resource(
    DOCUMENT_URI,
    mime_type="text/markdown",
    annotations=FOR_MODELS,
    scopes=[READ],
    title="Document",
    complete={"id": complete_document},
)
async def document(
    context: Context, id: Annotated[str, Field(max_length=40, description="Id of the document")]
) -> ResourceContents:
    """A document with its whole text."""
    try:
        found = await context.collections.get_by_id(UUID(id))
    except ValueError:
        found = None
    if found is None or found.text is None:
        raise ToolError("there is no document of this id")
    return read_long_text_resource(f"# {found.title}\n\n{found.text}" if found.title else found.text)


RESOURCES = (document,)
