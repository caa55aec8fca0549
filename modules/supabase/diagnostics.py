"""What a project says about itself: logs, and the advisors' findings."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor
from modules.kit.parameters import READ_HINTS, CursorText, PerPage, ShortText, Timestamp, format_timestamp
from modules.kit.results import Flag, Line, ResultModel, Text, Word, read_at
from modules.kit.text_cleaning import clean_block
from modules.kit.untrusted import UntrustedPage
from modules.supabase import paging, rest_client
from modules.supabase.log_queries import LogService, build_log_query
from modules.supabase.parameters import READ_ANALYTICS, READ_DATABASE, ProjectRef

MAX_WINDOW = timedelta(hours=24)
DEFAULT_WINDOW = timedelta(hours=1)
_SHORT_MESSAGE, _WHOLE_MESSAGE = 500, 50_000
_MAX_OFFSET = 100_000


def _format_microseconds(value: Any) -> Any:
    """A moment as the logs have it, in microseconds since 1970, or as text, in UTC."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)).isoformat().replace("+00:00", "Z")
    return f"{value}Z" if isinstance(value, str) and "T" in value and not value.endswith("Z") else value


def _format_number(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) else value


_Field = Annotated[Word, BeforeValidator(_format_number)]


class LogRow(ResultModel):
    """One line. `truncated`: its message is longer; ask with whole_messages."""

    time: Annotated[Word, BeforeValidator(_format_microseconds), read_at("timestamp")] = ""
    message: Text = ""
    truncated: Flag = False
    level: _Field = ""
    status: _Field = ""
    method: _Field = ""
    path: _Field = ""
    error: _Field = ""
    function_id: _Field = ""
    milliseconds: _Field = ""
    workflow_run: _Field = ""


class LogPage(UntrustedPage):
    """Newest first, from `start` to `end`."""

    start: str
    end: str
    lines: list[LogRow]


class AdvisorFinding(ResultModel):
    """What one advisor found: `found` are the places."""

    name: Line
    title: Word = ""
    level: Word = ""
    remediation: Word = ""
    found: list[Line]


class AdvisorPage(UntrustedPage):
    findings: list[AdvisorFinding]
    total: int


class _LogAnswer(BaseModel):
    result: list[dict[str, Any]] = []
    error: Any = None


class _Lint(BaseModel):
    name: Line
    title: Word = ""
    level: Word = ""
    detail: Line = ""
    remediation: Word = ""


class _LintAnswer(BaseModel):
    lints: list[_Lint]


class _Place(BaseModel):
    """Where a page of logs begins, and the window that all pages of one look share."""

    start: datetime
    end: datetime
    offset: int = Field(ge=0, le=_MAX_OFFSET)

    @model_validator(mode="after")
    def _check(self) -> "_Place":
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError
        return self


@tool(hints=READ_HINTS, scopes=[READ_ANALYTICS])
async def get_logs(
    context: Context,
    ref: ProjectRef,
    service: Annotated[LogService, Field(description="Which logs")],
    start: Annotated[Timestamp, Field(description="With zone; an hour before end if left out")] = None,
    end: Annotated[Timestamp, Field(description="At most 24 h after start; now if left out")] = None,
    search: Annotated[ShortText, Field(description="In the message")] = "",
    whole_messages: Annotated[bool, Field(description="Do not cut messages")] = False,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> LogPage:
    """A project's logs in a window of at most 24 hours, newest first."""
    place = _parse_place(cursor) if cursor else _choose_window(start, end)
    query = {
        "sql": build_log_query(service, search, per_page + 1, place.offset),
        "iso_timestamp_start": format_timestamp(place.start),
        "iso_timestamp_end": format_timestamp(place.end),
    }
    address = build_path("/v1/projects/{}/analytics/endpoints/logs.all", ref)
    answer = await rest_client.send_request(context, "GET", address, query=query)
    found = answer.read(_LogAnswer)
    if found.error:
        raise ToolError("Supabase's log store refuses the query: narrow the window, or leave search out")
    limit = _WHOLE_MESSAGE if whole_messages else _SHORT_MESSAGE
    rows = answer.read_part(list[LogRow], [_cut_message(one, limit) for one in found.result[:per_page]])
    more = len(found.result) > per_page
    return LogPage(
        start=format_timestamp(place.start) or "", end=format_timestamp(place.end) or "", lines=rows,
        nextCursor=_build_place(place, per_page) if more else "",
    )  # fmt: skip


def _choose_window(start: datetime | None, end: datetime | None) -> _Place:
    """Raises: ToolError: the window is empty, or longer than Supabase looks back over."""
    if end is None:
        end = min(datetime.now(UTC), start + MAX_WINDOW) if start else datetime.now(UTC)
    start = start or end - DEFAULT_WINDOW
    if start >= end:
        raise ToolError("start is not before end: give an earlier start or a later end")
    if end - start > MAX_WINDOW:
        raise ToolError("start and end are more than 24 hours apart: ask for each day by itself")
    return _Place(start=start, end=end, offset=0)


def _parse_place(cursor: str) -> _Place:
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 3:
        raise build_unknown_cursor_error()
    try:
        return _Place(start=values[0], end=values[1], offset=values[2])
    except ValueError:
        raise build_unknown_cursor_error() from None


def _build_place(place: _Place, per_page: int) -> str:
    offset = place.offset + per_page
    if offset > _MAX_OFFSET:
        return ""
    return encode_cursor([format_timestamp(place.start), format_timestamp(place.end), offset])


def _cut_message(row: Mapping[str, Any], limit: int) -> dict[str, Any]:
    message = row.get("message")
    text, is_cut = clean_block(message if isinstance(message, str) else "", limit)
    return {**row, "message": text, "truncated": is_cut}


@tool(hints=READ_HINTS, scopes=[READ_DATABASE])
async def get_advisors(
    context: Context,
    ref: ProjectRef,
    type: Annotated[Literal["security", "performance"], Field(description="Which advisors")],
    per_page: PerPage = 100,
    cursor: CursorText = None,
) -> AdvisorPage:
    """What Supabase's advisors found, and how to mend it."""
    start = paging.parse_offset(cursor)
    address = build_path("/v1/projects/{}/advisors/{}", ref, type)
    lints = (await rest_client.fetch(context, _LintAnswer, address)).lints
    page, next_cursor = paging.slice_page(lints, start, per_page)
    groups: dict[str, AdvisorFinding] = {}
    for lint in page:
        group = groups.setdefault(
            lint.name,
            AdvisorFinding(name=lint.name, title=lint.title, level=lint.level, remediation=lint.remediation, found=[]),
        )
        group.found.append(lint.detail)
    return AdvisorPage(findings=list(groups.values()), total=len(lints), nextCursor=next_cursor)


TOOLS = (get_logs, get_advisors)
