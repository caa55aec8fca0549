"""Logs of jobs, from their end: a job's failure stands there."""

import re
from typing import Annotated, Any, NamedTuple, cast

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Id, Owner, Repo
from modules.kit import Context, Execution, ToolError, text_cleaning, tool
from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor
from modules.kit.parameters import READ_HINTS, CursorText, drop_bounds
from modules.kit.result_texts import TextResult
from modules.kit.results import ResultPage
from modules.kit.vendor import MAX_DOWNLOAD_BYTES

PAGE_BYTES = 64 * 1024
MAX_LINES = 5_000
MAX_PARTS = 6
"""Of a log whose size the file store does not tell, each of :data:`MAX_DOWNLOAD_BYTES`: a longer one is not read."""
MAX_SIZE = 10**10
NO_LOG = (
    "no such job, or it has no log: GitHub writes it when the job ends, and deletes it after a while (look at the "
    "job's status)"
)
TOO_LONG = "the log is too long to be read here: a person finds it at GitHub"
_TIMESTAMP = re.compile(r"(?m)^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z ?")
# ECMA-48 §5.4: colours, mostly; the escape character alone is taken out with other controls.
_COLOR = re.compile(r"\x1b\[[0-9;:?]{0,40}[A-Za-z]")


class JobLog(TextResult, ResultPage):
    """`text` are whole lines, but for one longer than a page. `nextCursor` leads to the lines before them. `size` is
    the whole log's, in bytes."""

    text_field = "text"

    size: int
    text: str


class _LogPlace(NamedTuple):
    """Where the page ends that a cursor stands for, and the log's size, which changes when the job runs again."""

    end: int
    size: int


@tool(hints=READ_HINTS, scopes=[REPO], execution=Execution.ASYNC)
async def get_job_logs(
    context: Context,
    owner: Owner,
    repo: Repo,
    job_id: Annotated[Id, Field(description="The job's id")],
    tail_lines: Annotated[int, Field(ge=1, le=MAX_LINES, description="At most", json_schema_extra=drop_bounds)] = 200,
    timestamps: Annotated[bool, Field(description="Before each line")] = False,
    cursor: CursorText = None,
) -> JobLog:
    """The last lines of a job's log; nextCursor leads to those before."""
    address = rest_client.build_repository_path(owner, repo, "/actions/jobs/{}/logs", job_id)
    place = _parse_place(cursor)
    if place is None:
        size = await _fetch_size(context, address)
        place = _LogPlace(size, size)
    start = max(place.end - PAGE_BYTES, 0)
    part = await rest_client.fetch_file_part(
        context, address, offset=start, limit=max(place.end - start, 1), missing=NO_LOG
    )
    if part.size is not None and part.size != place.size:
        raise ToolError("the log has changed since the page before: leave out cursor to read its end")
    shown = _cut_tail(part.content, tail_lines, is_whole=start == 0)
    before = place.end - len(shown)
    return JobLog(
        size=place.size,
        text=_clean_log(shown.decode("utf-8", "replace"), timestamps=timestamps),
        nextCursor=encode_cursor(["log", before, place.size]) if before > 0 else "",
    )


def _parse_place(cursor: str | None) -> _LogPlace | None:
    if cursor is None:
        return None
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 3 or values[0] != "log" or not all(type(value) is int for value in values[1:]):
        raise build_unknown_cursor_error()
    place = _LogPlace(values[1], values[2])
    if not 0 < place.end <= place.size < MAX_SIZE:
        raise build_unknown_cursor_error()
    return place


async def _fetch_size(context: Context, address: str) -> int:
    """Find out how long a log is. Where the file store does not say, it is read to its end, and nothing of it kept."""
    most = MAX_PARTS * MAX_DOWNLOAD_BYTES
    for place in (0, most):
        part = await rest_client.fetch_file_part(context, address, limit=1, offset=place, missing=NO_LOG)
        if part.size is not None:
            return part.size
        if place and part.content:
            raise ToolError(TOO_LONG)
    # A store that gives parts without a size says nothing behind the end either.
    offset: int | None = 0
    for _ in range(MAX_PARTS):
        part = await rest_client.fetch_file_part(
            context, address, limit=MAX_DOWNLOAD_BYTES, offset=offset or 0, missing=NO_LOG
        )
        offset, end = part.next_offset, (offset or 0) + len(part.content)
        if offset is None:
            return end
    raise ToolError(TOO_LONG)


def _cut_tail(content: bytes, lines: int, *, is_whole: bool) -> bytes:
    """Cut the last `lines` lines; a line that began before the content is left to the page before."""
    position = len(content) - 1 if content.endswith(b"\n") else len(content)
    for _ in range(lines):
        position = content.rfind(b"\n", 0, max(position, 0))
        if position < 0:
            break
    if position >= 0:
        return content[position + 1 :]
    first = 0 if is_whole else content.find(b"\n") + 1
    return content[first:] or content


def _clean_log(text: str, *, timestamps: bool) -> str:
    visible = text if timestamps else _TIMESTAMP.sub("", text)
    return text_cleaning.clean_text(_COLOR.sub("", visible)).replace("\r\n", "\n")


TOOLS = (get_job_logs,)
