"""Blocks: the parts of a page, each with its Markdown and its id."""

from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.kit import Context, ToolError, build_path, run_in_turns, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
)
from modules.kit.results import Flag, Identifier, Line, ListPage, ResultModel, fit_texts
from modules.notion import rest_client
from modules.notion.block_formatting import format_block
from modules.notion.block_parsing import parse_markdown
from modules.notion.block_writing import append_blocks, get_children
from modules.notion.parameters import INSERT_CONTENT, READ_CONTENT, UPDATE_CONTENT, BlockId, Markdown, NotionId
from modules.notion.results import SavedObject


class BlockRow(ResultModel):
    """A block; `has_children` says that there are others in it, which are read by its id."""

    id: Identifier
    type: Line
    markdown: str
    has_children: Flag = False
    in_trash: Flag = False
    truncated: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _format(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        return {**found, "markdown": format_block(found), "truncated": False}


class BlockChildren(ListPage):
    blocks: list[BlockRow]


class NewBlocks(ResultModel):
    ids: list[Identifier]


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def get_block(context: Context, block_id: BlockId) -> BlockRow:
    """One block."""
    return await rest_client.fetch_one(context, BlockRow, build_path("/v1/blocks/{}", block_id))


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def list_block_children(
    context: Context, block_id: BlockId, per_page: PerPage = 100, cursor: CursorText = None
) -> BlockChildren:
    """The blocks in a block or page, one level, with their ids."""
    address = build_path("/v1/blocks/{}/children", block_id)
    page = await rest_client.fetch_list(context, BlockRow, address, cursor=cursor, per_page=per_page)
    fitting = fit_texts(page.rows, "markdown")
    return BlockChildren(blocks=fitting, **page.fields)


@tool(hints=ADD_HINTS, scopes=[INSERT_CONTENT])
async def append_block_children(
    context: Context,
    block_id: BlockId,
    markdown: Markdown,
    after: Annotated[OptionalParameter[NotionId], Field(description="Behind this child, not at the end")] = None,
) -> NewBlocks:
    """Add Markdown to a block or page. `- [>] x` is a toggle, `> [!💡] x` a callout."""
    ids = await append_blocks(
        context, block_id, await run_in_turns(parse_markdown, markdown, size=len(markdown)), after=after or ""
    )
    return NewBlocks(ids=ids)


@tool(hints=CHANGE_HINTS, scopes=[UPDATE_CONTENT])
async def update_block(context: Context, block_id: BlockId, markdown: Markdown) -> SavedObject:
    """Replace the text of one block; its type and what is in it stay."""
    blocks = await run_in_turns(parse_markdown, markdown, size=len(markdown))
    if len(blocks) != 1 or get_children(blocks[0]):
        raise ToolError("give the Markdown of exactly one block, with nothing in it")
    kind = str(blocks[0]["type"])
    address = build_path("/v1/blocks/{}", block_id)
    answer = await rest_client.send_request(context, "GET", address)
    present = str(answer.read(dict[str, Any]).get("type"))
    if kind != present:
        raise ToolError(f"the block is a {present}, the Markdown makes a {kind}: write it as one, or add a new block")
    content = {name: value for name, value in blocks[0][kind].items() if name != "type"}
    return await rest_client.fetch_one(context, SavedObject, address, method="PATCH", json={kind: content})


@tool(hints=CHANGE_HINTS, scopes=[UPDATE_CONTENT])
async def delete_block(context: Context, block_id: BlockId) -> SavedObject:
    """Move a block, or a page, to the trash with all that is in it."""
    return await rest_client.fetch_one(context, SavedObject, build_path("/v1/blocks/{}", block_id), method="DELETE")


TOOLS = (get_block, list_block_children, append_block_children, update_block, delete_block)
