"""Edge functions: listing, reading their source, deploying and deleting."""

from datetime import UTC, datetime
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, model_validator

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import (
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    format_timestamp,
    limit_length,
)
from modules.kit.results import CountedPage, Line, Name, ResultModel, Word
from modules.kit.untrusted import UntrustedPage
from modules.kit.whole_lists import WHOLE, cut_text
from modules.supabase import rest_client
from modules.supabase.multipart_reading import SourceFile, parse_boundary, parse_files, shorten_path
from modules.supabase.parameters import READ_FUNCTIONS, WRITE_FUNCTIONS, FunctionSlug, ProjectRef

_FUNCTION = "/v1/projects/{}/functions/{}"
_MISSING = "the project has no edge function of that slug: look at the list of its functions"


def _format_milliseconds(value: Any) -> Any:
    if isinstance(value, int) and 0 < value < 2**43:
        return format_timestamp(datetime.fromtimestamp(value / 1000, UTC))
    return value


_Moment = Annotated[Word, BeforeValidator(_format_milliseconds)]
_Path = Annotated[Word, BeforeValidator(lambda value: shorten_path(value) if isinstance(value, str) else value)]


_ACTIVE = "ACTIVE"


class FunctionRow(ResultModel):
    """What is usual is left out: status ACTIVE, verify_jwt true, a name that is the slug."""

    slug: Line
    name: Word = ""
    status: Annotated[Line, Field(exclude_if=lambda status: status in ("", _ACTIVE))] = ""
    version: int = 0
    verify_jwt: Annotated[bool, Field(exclude_if=lambda verified: verified)] = True
    updated_at: _Moment = ""

    @model_validator(mode="before")
    @classmethod
    def _drop_name(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        row = cast("dict[str, Any]", raw)
        return {**row, "name": ""} if row.get("name") == row.get("slug") else row


class FunctionDetails(FunctionRow):
    entrypoint_path: _Path = ""
    import_map_path: _Path = ""


class FunctionList(CountedPage):
    functions: list[FunctionRow]


class FunctionFile(ResultModel):
    path: Name
    bytes: int


class FunctionSource(UntrustedPage):
    """A function and one of its files; `files` are all of them."""

    function: FunctionDetails
    files: list[FunctionFile]
    path: Name = ""
    content: str = ""


class DeletedFunction(ResultModel):
    deleted: bool


@tool(hints=READ_HINTS, scopes=[READ_FUNCTIONS])
async def list_edge_functions(
    context: Context, ref: ProjectRef, per_page: PerPage = 100, cursor: CursorText = None
) -> FunctionList:
    """A project's edge functions."""
    address = build_path("/v1/projects/{}/functions", ref)
    page = await rest_client.fetch_page(context, FunctionRow, address, cursor=cursor, per_page=per_page)
    return FunctionList(functions=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_FUNCTIONS])
async def get_edge_function(
    context: Context,
    ref: ProjectRef,
    slug: FunctionSlug,
    path: Annotated[
        OptionalParameter[Annotated[str, limit_length(1, 1000)]],
        Field(description="Which file; the entry point if left out"),
    ] = None,
    cursor: CursorText = None,
) -> FunctionSource:
    """One edge function with its source, file by file."""
    address = build_path(_FUNCTION, ref, slug)
    asked = parse_cursor(cursor, WHOLE, f"{address} {path}", 1)
    details = await rest_client.fetch(context, FunctionDetails, address, missing=_MISSING)
    files = await _fetch_files(context, address + "/body")
    chosen = _choose_file(files, path, details.entrypoint_path)
    text = "" if chosen is None or chosen.content is None else chosen.content
    content, next_cursor = cut_text(asked, text)
    return FunctionSource(
        function=details, files=[FunctionFile(path=one.path, bytes=one.size) for one in files],
        path=chosen.path if chosen else "", content=content, nextCursor=next_cursor,
    )  # fmt: skip


async def _fetch_files(context: Context, address: str) -> list[SourceFile]:
    """Fetch the source; Supabase unpacks the bundle where it is asked for parts.

    Raises:
        ToolError: it answers something else.
    """
    headers = {"Accept": "multipart/form-data"}
    answer = await rest_client.send_request(context, "GET", address, missing=_MISSING, headers=headers)
    boundary = parse_boundary(answer.headers.get("content-type", ""))
    if boundary is None:
        raise ToolError("Supabase does not give this function's source as files; it can be seen in the dashboard")
    return parse_files(answer.body, boundary)


def _choose_file(files: list[SourceFile], path: str | None, entrypoint: str) -> SourceFile | None:
    """Raises: ToolError: there is no such file, or it is no text."""
    if path is None:
        return next((one for one in files if one.path == entrypoint), files[0] if files else None)
    found = next((one for one in files if one.path == path), None)
    if found is None:
        raise ToolError("path is none of the function's files: leave it out, and files lists them")
    if found.content is None:
        raise ToolError(f"path is a file of {found.size} bytes that is no text")
    return found


@tool(hints=CHANGE_HINTS, scopes=[WRITE_FUNCTIONS])
async def delete_edge_function(context: Context, ref: ProjectRef, slug: FunctionSlug) -> DeletedFunction:
    """Delete an edge function; its address answers no more."""
    await rest_client.send_request(context, "DELETE", build_path(_FUNCTION, ref, slug), missing=_MISSING)
    return DeletedFunction(deleted=True)


TOOLS = (list_edge_functions, get_edge_function, delete_edge_function)
