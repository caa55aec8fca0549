"""Requests to Jira's API, and its lists page by page
(https://developer.atlassian.com/cloud/jira/platform/rest/v3/intro/)."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from modules.jira.error_messages import explain_problem
from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor

LARGE_ANSWER_BYTES = 256 * 1024
"""Bytes of an answer that is read one item at a time."""
_TOKEN = re.compile(r"[A-Za-z0-9+/=_.:~%-]{1,900}")
_MAX_START = 10**7

Model = TypeVar("Model", bound=BaseModel)


async def send_request(
    context: Context,
    method: str,
    address: str,
    *,
    query: Mapping[str, Any] | None = None,
    json: Any = None,
    repeatable: bool | None = None,
) -> VendorAnswer:
    """Send one request.

    Raises:
        VendorProblem: Jira refused it; the text says what to do.
    """
    try:
        return await context.vendor.request(method, address, query=query, json=json, repeatable=repeatable)
    except VendorProblem as problem:
        raise explain_problem(problem) from None


async def fetch_object(context: Context, address: str, **options: Any) -> tuple[dict[str, Any], VendorAnswer]:
    """Fetch one JSON object."""
    answer = await send_request(context, "GET", address, **options)
    return answer.read(dict[str, Any]), answer


def parse_start(cursor: str | None) -> int:
    """Parse where a page begins out of our cursor; 0 for the first.

    Raises:
        ToolError: the cursor is not one of :func:`fetch_page`.
    """
    if cursor is None:
        return 0
    start = decode_cursor(cursor)
    if not isinstance(start, int) or isinstance(start, bool) or not 0 < start < _MAX_START:
        raise build_unknown_cursor_error()
    return start


def parse_token(cursor: str | None) -> str | None:
    """Parse Jira's token of a page of a search out of our cursor; None for the first page.

    Raises:
        ToolError: the cursor is not one of :func:`build_token_cursor`.
    """
    if cursor is None:
        return None
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 1 or not isinstance(values[0], str) or not _TOKEN.fullmatch(values[0]):
        raise build_unknown_cursor_error()
    return values[0]


def build_token_cursor(token: Any) -> str:
    """Build our cursor for the page of a search that Jira's token leads to; "" where there is none that it takes."""
    return encode_cursor([token]) if isinstance(token, str) and _TOKEN.fullmatch(token) else ""


def build_start_cursor(start: int) -> str:
    """Build our cursor for the page that begins at `start`."""
    return encode_cursor(start)


class Listed:
    """A page of a list: its rows as Jira sent them, our cursor for the next page, and how many there are in all."""

    def __init__(self, answer: VendorAnswer, rows: list[Any], next_cursor: str, total: int) -> None:
        self.answer, self.rows, self.next, self.total = answer, rows, next_cursor, total

    async def read(self, shape: type[Model]) -> list[Model]:
        """Read each row as one `shape`."""
        items: list[Model] = []
        for row in self.rows:
            items.append(self.answer.read_part(shape, row))
            if len(self.answer.body) > LARGE_ANSWER_BYTES:
                await asyncio.sleep(0)  # others are served between two items
        return items


async def fetch_page(
    context: Context,
    address: str,
    *,
    rows: str = "",
    cursor: str | None,
    per_page: int,
    query: Mapping[str, Any] | None = None,
) -> Listed:
    """Fetch one page of a list that is paged by `startAt`; `rows` is where its rows stand, "" for a bare array.

    Whether there is more is told by `isLast` or the total; where Jira tells neither, a full page has a cursor.
    """
    start = parse_start(cursor)
    paging = {**(query or {}), "startAt": start, "maxResults": per_page}
    answer = await send_request(context, "GET", address, query=paging)
    page = {"rows": answer.read(list[Any])} if not rows else answer.read(dict[str, Any])
    found = answer.read_part(list[Any], page.get(rows or "rows"))
    total = page.get("total")
    known = total if isinstance(total, int) else 0
    end = start + len(found)
    is_last = page.get("isLast")
    has_more = not is_last if isinstance(is_last, bool) else end < known if known else len(found) >= per_page
    return Listed(answer, found, build_start_cursor(end) if has_more and found else "", known)
