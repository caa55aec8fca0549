"""The built-in module ``results``: reading kept results in parts, without asking a vendor again."""

from collections.abc import Callable
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field

from gateway.capabilities.content import BLOCK_TYPES, parse_block
from gateway.results.budget import choose_budget
from gateway.results.content_fitting import Block, is_content_within
from gateway.results.fitting import count_tokens
from gateway.results.json_path import MAX_PATH_LENGTH
from gateway.results.kept_results import KeptResults, work_on
from gateway.results.reading import read_range, search
from gateway.tool_context import get_request
from modules.kit import ContentResult, Context, Hints, Module, SensitiveParameter, TextBlock, ToolError, tool
from modules.kit.results import Missable, Text
from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD

NAME = "results"
SCOPE = "results:read"
TOO_LARGE_BLOCK = (
    "content[{position}] does not fit max_tokens; give more, or read it in parts: read_result with the path "
    "content[{position}].data, .text, .resource.blob or .resource.text"
)
HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
MAX_POSITION = 1 << 31
MAX_COLUMNS = 50

Handle = Annotated[
    str, Field(max_length=100, description="Handle in the answer that was partial"), SensitiveParameter()
]
ResultPath = Annotated[
    str,
    Field(max_length=MAX_PATH_LENGTH, description="issues[0].fields, issues[10:20] or issues[*].key; $ is the whole"),
]
Start = Annotated[int, Field(ge=0, le=MAX_POSITION, description="Where to begin: next of the answer before")]


class ResultPart(BaseModel):
    """A part of a result, by its `kind`: `items` or `rows` of an array, a `text`, or a `value`. It goes on at `next`;
    `left` are places within it that are too large."""

    untrusted: Text = ""
    kind: str
    total: Missable[int] = None
    start: Missable[int] = None
    next: Missable[int] = None
    left: Missable[list[dict[str, Any]]] = None
    more_left: Missable[int] = None
    columns: Missable[list[str]] = None
    rows: Missable[list[list[Any]]] = None
    items: Missable[list[Any]] = None
    text: Missable[str] = None
    value: Missable[Any] = None


class ResultMatch(BaseModel):
    """A place where the text is, and what stands around it. `at` is the first of these characters in a longer text."""

    path: str
    at: Missable[int] = None
    text: str


class ResultMatches(BaseModel):
    """Places where a text is. They go on with the number `next`."""

    untrusted: Text = ""
    total: int
    next: Missable[int] = None
    matches: list[ResultMatch]


def get_block(value: Any, position: int) -> Block:
    """Return a content block of a kept result.

    Raises:
        ToolError: it has no such block.
    """
    blocks = cast("dict[str, Any]", value).get("content") if isinstance(value, dict) else None
    blocks = cast("list[Any]", blocks if isinstance(blocks, list) else [])
    block = blocks[position] if position < len(blocks) else None
    if not isinstance(block, dict) or cast("Block", block).get("type") not in BLOCK_TYPES:
        raise ToolError(f"there is no content[{position}] in this result")
    return cast("Block", block)


def build_results_module(results: KeptResults) -> Module:
    """Build the module over the kept results of a gateway's callers."""

    async def ask(context: Context, handle: str, look: Callable[[Any, int], dict[str, Any]]) -> dict[str, Any]:
        """Look at a result within the budget of the call; mark what holds a vendor's data."""
        request = get_request(context)
        value, source, size = await results.load(request, handle)
        found = await work_on(size, lambda: look(value, choose_budget(request)))
        return {UNTRUSTED_FIELD: UNTRUSTED, **found} if source.untrusted else found

    @tool(hints=HINTS, scopes=[SCOPE])
    async def read_result(
        context: Context,
        handle: Handle,
        path: ResultPath = "$",
        start: Start = 0,
        count: Annotated[
            int | None, Field(ge=1, le=MAX_POSITION, description="Most items, fields or characters")
        ] = None,
        columns: Annotated[
            list[ResultPath] | None, Field(max_length=MAX_COLUMNS, description="Only these paths of each item, as rows")
        ] = None,
    ) -> ResultPart:
        """Read a part of a result that was too large for one answer: a range of the items, fields or characters at a
        path, as much as fits."""

        def look(value: Any, budget: int) -> dict[str, Any]:
            return read_range(value, path, start, count, columns or (), budget)

        return ResultPart.model_validate(await ask(context, handle, look))

    @tool(hints=HINTS, scopes=[SCOPE])
    async def search_result(
        context: Context,
        handle: Handle,
        text: Annotated[str, Field(min_length=1, max_length=500, description="What to find, upper or lower case")],
        path: ResultPath = "$",
        start: Start = 0,
    ) -> ResultMatches:
        """Find a text in a result that was too large for one answer: the paths where it is, and what stands around."""

        def look(value: Any, budget: int) -> dict[str, Any]:
            return search(value, text, path, start, budget)

        return ResultMatches.model_validate(await ask(context, handle, look))

    @tool(hints=HINTS, scopes=[SCOPE])
    async def show_content(
        context: Context,
        handle: Handle,
        position: Annotated[int, Field(ge=0, le=MAX_POSITION, description="Position of the block in content, from 0")],
    ) -> ContentResult:
        """Show an image, a sound or another content block that was left out of an answer, as the tool gave it."""
        request = get_request(context)
        value, source, size = await results.load(request, handle)
        block = get_block(value, position)
        mark = (TextBlock(text=UNTRUSTED),) if source.untrusted else ()
        budget = choose_budget(request) - sum(count_tokens(one.text) for one in mark)
        if not await work_on(size, lambda: is_content_within([block], budget)):
            raise ToolError(TOO_LARGE_BLOCK.format(position=position))
        return ContentResult(content=(*mark, parse_block(block)))

    return Module(
        name=NAME,
        title="Results",
        description="Parts of your results that were too large for one answer.",
        scopes=frozenset({SCOPE}),
        tools=(read_result, search_result, show_content),
    )
