"""Edge functions: listing, reading their source, deploying and deleting."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from modules.kit import BodyPart, Context, MultipartBody, ToolError, build_path, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import (
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    format_timestamp,
    limit_items,
    limit_length,
)
from modules.kit.results import Count, CountedPage, Line, Name, ResultModel, ResultPage, Word
from modules.kit.whole_lists import WHOLE, cut_text
from modules.supabase import rest_client
from modules.supabase.multipart_reading import SourceFile, parse_boundary, parse_files, shorten_path
from modules.supabase.parameters import READ_FUNCTIONS, WRITE_FUNCTIONS, FunctionSlug, ProjectRef, check_source_path

MAX_TOTAL_CHARACTERS = 3_000_000
_FUNCTION = "/v1/projects/{}/functions/{}"
_MISSING = "the project has no edge function of that slug: look at the list of its functions"


def _format_milliseconds(value: Any) -> Any:
    if isinstance(value, int) and 0 < value < 2**43:
        return format_timestamp(datetime.fromtimestamp(value / 1000, UTC))
    return value


_SourcePath = Annotated[
    str, limit_length(1, 300), AfterValidator(check_source_path), Field(description="Such as lib/a.ts")
]
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


class FunctionSource(ResultPage):
    """A function and one of its files, less `hidden` invisible characters of this page; `files` are all of them."""

    function: FunctionDetails
    files: list[FunctionFile]
    path: Name = ""
    content: str = ""
    hidden: Count = 0


class DeletedFunction(ResultModel):
    deleted: bool


class FileToDeploy(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    path: _SourcePath
    content: Annotated[str, limit_length(maximum=MAX_TOTAL_CHARACTERS)]


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
    part = cut_text(asked, text)
    return FunctionSource(
        function=details, files=[FunctionFile(path=one.path, bytes=one.size) for one in files],
        path=chosen.path if chosen else "", content=part.text, hidden=part.hidden, nextCursor=part.next_cursor,
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
async def deploy_edge_function(
    context: Context,
    ref: ProjectRef,
    slug: FunctionSlug,
    files: Annotated[list[FileToDeploy], limit_items(1, 100), Field(description="All of its files: 3M characters")],
    entrypoint_path: Annotated[OptionalParameter[_SourcePath], Field(description="File that runs, or index.ts")] = None,
    import_map_path: Annotated[OptionalParameter[_SourcePath], Field(description="Import map or deno.json")] = None,
    name: Annotated[OptionalParameter[Annotated[str, limit_length(1, 100)]], Field(description="Name")] = None,
    verify_jwt: Annotated[bool, Field(description="Callers need a JWT")] = True,
) -> FunctionRow:
    """Create an edge function or put a new version in its place: files that are not given again are gone."""
    entrypoint = entrypoint_path or (files[0].path if len(files) == 1 else "index.ts")
    _require_files(files, entrypoint, import_map_path)
    metadata = {
        "entrypoint_path": entrypoint,
        "import_map_path": import_map_path,
        "name": name,
        "verify_jwt": verify_jwt,
    }
    given = orjson.dumps({field: value for field, value in metadata.items() if value is not None})
    parts = [BodyPart("metadata", given, media_type="application/json")]
    parts += [BodyPart("file", one.content, one.path, "application/typescript") for one in files]
    address = build_path("/v1/projects/{}/functions/deploy", ref)
    return await rest_client.fetch(
        context, FunctionRow, address, method="POST", query={"slug": slug}, body=MultipartBody(parts)
    )


def _require_files(files: Sequence[FileToDeploy], entrypoint: str, import_map: str | None) -> None:
    """Raises: ToolError: they are too large, a path is given twice, or a file that is named is not there."""
    if sum(len(one.content) for one in files) > MAX_TOTAL_CHARACTERS:
        raise ToolError(
            f"files: all together may have {MAX_TOTAL_CHARACTERS:,} characters; leave out what can be imported"
        )
    paths = [one.path for one in files]
    if len(set(paths)) < len(paths):
        raise ToolError("files has two files of one path: give each once")
    for parameter, path in (("entrypoint_path", entrypoint), ("import_map_path", import_map)):
        if path is not None and path not in paths:
            raise ToolError(f"{parameter} is the path of none of the files: name one of them")


@tool(hints=CHANGE_HINTS, scopes=[WRITE_FUNCTIONS])
async def delete_edge_function(context: Context, ref: ProjectRef, slug: FunctionSlug) -> DeletedFunction:
    """Delete an edge function; its address answers no more."""
    await rest_client.send_change(context, "DELETE", build_path(_FUNCTION, ref, slug), missing=_MISSING)
    return DeletedFunction(deleted=True)


TOOLS = (list_edge_functions, get_edge_function, deploy_edge_function, delete_edge_function)
