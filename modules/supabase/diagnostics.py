"""Diagnostics of a project: logs, and the advisors' findings."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import BaseModel, BeforeValidator, Field

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.cursors import build_unknown_cursor_error
from modules.kit.paging import Offset, PageParameters, RequestedPage, format_cursor, parse_cursor
from modules.kit.parameters import READ_HINTS, CursorText, PerPage, ShortText, Timestamp, format_timestamp
from modules.kit.result_texts import TextResult
from modules.kit.results import CountedPage, Flag, Line, ListPage, ResultModel, Text, Word, read_at, read_rows
from modules.kit.text_cleaning import clean_block
from modules.kit.whole_lists import WHOLE, cut_page
from modules.supabase import rest_client
from modules.supabase.log_queries import LogService, build_log_query
from modules.supabase.parameters import READ_ANALYTICS, READ_DATABASE, ProjectRef

MAX_WINDOW = timedelta(hours=24)
DEFAULT_WINDOW = timedelta(hours=1)
_SHORT_MESSAGE, _WHOLE_MESSAGE = 500, 50_000
_LINE_FIELDS = ("time", "message", "truncated")
_MAX_OFFSET = 100_000
_PAGING = Offset(size="", parameter="offset", tokens=("start", "end"))


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

    def format(self, day: str) -> str:
        """The row as lines of a log; `day` is that of which only the time is told."""
        values = {name: value for name, value in self if value and name not in _LINE_FIELDS}
        words = [self.time.removeprefix(day), *(f"{name}={value}" for name, value in values.items())]
        message = self.message.replace("\n", "\n  ") + (" (cut)" if self.truncated else "")
        return " ".join([*words, message])


class LogPage(TextResult, ListPage):
    """Newest first, from `start` to `end`. As text a line of the log each, without the day where it is that of
    `start`."""

    text_field = "lines"

    start: str
    end: str
    lines: list[LogRow]

    def format_text(self) -> str:
        """The lines as those of a log."""
        return "\n".join([one.format(self.start[: len("2026-01-01T")]) for one in self.lines])


class AdvisorFinding(ResultModel):
    """What one advisor found: `found` are the places."""

    name: Line
    title: Word = ""
    level: Word = ""
    remediation: Word = ""
    found: list[Line]


class AdvisorPage(CountedPage):
    findings: list[AdvisorFinding]


class _Lint(BaseModel):
    name: Line
    title: Word = ""
    level: Word = ""
    detail: Line = ""
    remediation: Word = ""


class _Window(NamedTuple):
    """The span that all pages of one look at the logs share."""

    start: datetime
    end: datetime


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
    address = build_path("/v1/projects/{}/analytics/endpoints/logs.all", ref)
    asked = parse_cursor(cursor, _PAGING, f"{address} {service} {search}", per_page)
    window = _read_window(asked) if cursor else _choose_window(start, end)
    offset = int(asked.place.get("offset", 0))
    first, last = format_timestamp(window.start) or "", format_timestamp(window.end) or ""
    query = {
        "sql": build_log_query(service, search, asked.size + 1, offset),
        "iso_timestamp_start": first,
        "iso_timestamp_end": last,
    }
    answer = await rest_client.send_request(context, "GET", address, query=query)
    document = answer.read(dict[str, Any])
    if document.get("error"):
        raise ToolError("Supabase's log store refuses the query: narrow the window, or leave search out")
    found = answer.read_part(list[Any], document.get("result", []))
    limit = _WHOLE_MESSAGE if whole_messages else _SHORT_MESSAGE
    read = await read_rows(answer, LogRow, [_cut_message(one, limit) for one in found[: asked.size]])
    following = offset + asked.size if len(found) > asked.size else 0
    is_reachable = following <= _MAX_OFFSET
    place: PageParameters = {"start": first, "end": last, "offset": following}
    return LogPage(
        start=first, end=last, lines=read.rows, unreadable=read.unreadable, incomplete=not is_reachable,
        nextCursor=format_cursor(asked, place) if following and is_reachable else "",
    )  # fmt: skip


def _choose_window(start: datetime | None, end: datetime | None) -> _Window:
    """Raises: ToolError: the window is empty, or longer than Supabase looks back over."""
    if end is None:
        end = min(datetime.now(UTC), start + MAX_WINDOW) if start else datetime.now(UTC)
    start = start or end - DEFAULT_WINDOW
    if start >= end:
        raise ToolError("start is not before end: give an earlier start or a later end")
    if end - start > MAX_WINDOW:
        raise ToolError("start and end are more than 24 hours apart: ask for each day by itself")
    return _Window(start, end)


def _read_window(asked: RequestedPage) -> _Window:
    """Raises: ToolError: the cursor holds no window."""
    try:
        window = _Window(*(datetime.fromisoformat(str(asked.place.get(name))) for name in ("start", "end")))
    except ValueError:
        raise build_unknown_cursor_error() from None
    if any(moment.tzinfo is None for moment in window) or "offset" not in asked.place:
        raise build_unknown_cursor_error()
    return window


def _cut_message(row: Any, limit: int) -> Any:
    if not isinstance(row, dict):
        return row
    line = cast("dict[str, Any]", row)
    message = line.get("message")
    text, is_cut = clean_block(message if isinstance(message, str) else "", limit)
    return {**line, "message": text, "truncated": is_cut}


@tool(hints=READ_HINTS, scopes=[READ_DATABASE])
async def get_advisors(
    context: Context,
    ref: ProjectRef,
    type: Annotated[Literal["security", "performance"], Field(description="Which advisors")],
    per_page: PerPage = 100,
    cursor: CursorText = None,
) -> AdvisorPage:
    """List what Supabase's advisors found, and how to mend it."""
    address = build_path("/v1/projects/{}/advisors/{}", ref, type)
    asked = parse_cursor(cursor, WHOLE, address, per_page)
    answer = await rest_client.send_request(context, "GET", address)
    lints = answer.read_part(list[Any], answer.read(dict[str, Any]).get("lints"))
    page = cut_page(asked, await read_rows(answer, _Lint, lints))
    groups: dict[str, AdvisorFinding] = {}
    for lint in page.rows:
        group = groups.setdefault(
            lint.name,
            AdvisorFinding(name=lint.name, title=lint.title, level=lint.level, remediation=lint.remediation, found=[]),
        )
        group.found.append(lint.detail)
    return AdvisorPage(findings=list(groups.values()), **page.fields)


TOOLS = (get_logs, get_advisors)
