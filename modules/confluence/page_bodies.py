"""Bodies of pages and comments: Confluence's storage format on its side, Markdown on ours."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict

from modules.confluence.parameters import MAX_MARKDOWN
from modules.kit import ToolError, run_in_turns
from modules.kit.markup.markup_tree import MalformedMarkupError
from modules.kit.markup.storage_reading import convert_storage_to_markdown, divide_storage, join_pieces
from modules.kit.markup.storage_writing import convert_markdown_to_storage, replace_markdown
from modules.kit.parameters import limit_length
from modules.kit.text_cleaning import clean_text

MAX_WORK = 2_000_000
"""Characters that are read for changes in parts: a second of work."""


class TextPart(BaseModel):
    """A part of a page's Markdown and its new text."""

    model_config = ConfigDict(extra="forbid")
    old: Annotated[str, limit_length(1, MAX_MARKDOWN)]
    new: Annotated[str, limit_length(0, MAX_MARKDOWN)]


class ReadBody(NamedTuple):
    """A body as Markdown; `is_markup` where it could not be converted and is shown as it is."""

    text: str
    is_markup: bool


async def read_body(storage: str) -> ReadBody:
    """Read a body in the storage format."""
    return await run_in_turns(_read_storage, storage, size=len(storage))


async def replace_body(storage: str, markdown: str) -> dict[str, str]:
    """Write a body whose Markdown becomes another; blocks before the first change and behind the last are kept byte for
    byte.

    Raises:
        ToolError: it has something that Confluence does not take.
    """
    return build_body(await run_in_turns(_replace_storage, storage, markdown, size=len(storage) + len(markdown)))


async def change_parts(storage: str, parts: Sequence[TextPart], name: str) -> dict[str, str]:
    """Write a body with parts of its Markdown replaced one after another; blocks that none touches are kept byte for
    byte. `name` is that of the parameter.

    Raises:
        ToolError: a part is not there exactly once; the body is not well-formed, or would not be.
    """
    size = len(parts) * (len(storage) + sum(len(one.old) + len(one.new) for one in parts))
    return build_body(await run_in_turns(_change_storage, storage, parts, name, size=size))


async def append_body(storage: str, markdown: str) -> dict[str, str]:
    """Write a body with Markdown behind what is there.

    Raises:
        ToolError: it has something that Confluence does not take.
    """
    return build_body(storage + await run_in_turns(convert_markdown_to_storage, markdown, size=len(markdown)))


async def write_body(markdown: str) -> dict[str, str]:
    """Write Markdown as a body.

    Raises:
        ToolError: it has something that Confluence does not take.
    """
    return await append_body("", markdown)


def build_body(storage: str) -> dict[str, str]:
    """Build a body to send."""
    return {"representation": "storage", "value": storage}


def _read_storage(storage: str) -> ReadBody:
    try:
        return ReadBody(convert_storage_to_markdown(storage), is_markup=False)
    except MalformedMarkupError:
        return ReadBody(clean_text(storage), is_markup=True)


def _replace_storage(storage: str, markdown: str) -> str:
    try:
        pieces = divide_storage(storage)
    except MalformedMarkupError:
        return convert_markdown_to_storage(markdown)
    return replace_markdown(pieces, markdown)


def _change_storage(storage: str, parts: Sequence[TextPart], name: str) -> str:
    # One by one: what stands between two changes made at once would be written anew.
    step = 1 if len(storage) * len(parts) <= MAX_WORK else len(parts)
    for start in range(0, len(parts), step):
        try:
            pieces = divide_storage(storage)
        except MalformedMarkupError:
            raise ToolError(
                "the body is no well-formed storage format and cannot be changed in part: give the whole of it anew. "
                "Nothing was changed"
            ) from None
        markdown = join_pieces(pieces)
        for number, part in enumerate(parts[start : start + step], start):
            markdown = _replace_part(markdown, part, f"{name}[{number}].old")
        storage = replace_markdown(pieces, markdown)
    return storage


def _replace_part(markdown: str, part: TextPart, name: str) -> str:
    count = markdown.count(part.old)
    if count != 1:
        raise ToolError(
            f"{name} is in the body {count} times, not once: read it again, and give it as it stands there, with more "
            "around it if it is there more often. Nothing was changed"
        )
    return markdown.replace(part.old, part.new)
