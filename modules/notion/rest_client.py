"""Requests to Notion's API, and its lists page by page (https://developers.notion.com/reference)."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor
from modules.notion.error_messages import explain_problem

HEADERS = {"Notion-Version": "2025-09-03"}
LARGE_ANSWER_BYTES = 256 * 1024
"""Bytes of an answer that is read one item at a time."""
_CURSOR = re.compile(r"[A-Za-z0-9+/=_:.%-]{1,500}")

Model = TypeVar("Model", bound=BaseModel)


async def send_request(
    context: Context,
    method: str,
    address: str,
    *,
    query: Mapping[str, Any] | None = None,
    json: Mapping[str, Any] | None = None,
    repeatable: bool | None = None,
) -> VendorAnswer:
    """Send one request.

    Raises:
        VendorProblem: Notion refused it; the text says what to do.
    """
    try:
        return await context.vendor.request(method, address, query=query, json=json, repeatable=repeatable)
    except VendorProblem as problem:
        raise explain_problem(problem) from None


async def fetch_one(
    context: Context, shape: type[Model], address: str, *, method: str = "GET", **options: Any
) -> Model:
    """Send one request and read its answer as one `shape`."""
    return (await send_request(context, method, address, **options)).read(shape)


class Listing(BaseModel):
    """A page of a list, as Notion sends it."""

    results: list[dict[str, Any]]
    has_more: bool = False
    next_cursor: str | None = None
    request_status: dict[str, Any] | None = None

    @property
    def next(self) -> str:
        """Our cursor for the next page; "" where there is none."""
        is_known = self.has_more and self.next_cursor is not None and _CURSOR.fullmatch(self.next_cursor)
        return encode_cursor([self.next_cursor]) if is_known else ""

    @property
    def is_incomplete(self) -> bool:
        """Check whether Notion left out results for which it gives no cursor."""
        stopped = (self.request_status or {}).get("type") == "incomplete"
        return stopped or (self.has_more and not self.next)


def parse_cursor(cursor: str | None) -> str | None:
    """Parse Notion's cursor out of ours; None for the first page.

    Raises:
        ToolError: the cursor is not one of a :class:`Listing`.
    """
    if cursor is None:
        return None
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 1 or not isinstance(values[0], str) or not _CURSOR.fullmatch(values[0]):
        raise build_unknown_cursor_error()
    return values[0]


async def fetch_list(
    context: Context,
    shape: type[Model],
    address: str,
    *,
    cursor: str | None,
    per_page: int,
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
) -> tuple[list[Model], Listing]:
    """Fetch one page of a list, by GET or, with `body`, by a POST that changes nothing."""
    paging = {"start_cursor": parse_cursor(cursor), "page_size": per_page}
    if body is None:
        answer = await send_request(context, "GET", address, query={**(query or {}), **paging})
    else:
        json = {name: value for name, value in {**body, **paging}.items() if value is not None}
        answer = await send_request(context, "POST", address, json=json, repeatable=True)
    listing = answer.read(Listing)
    items: list[Model] = []
    for one in listing.results:
        items.append(answer.read_part(shape, one))
        if len(answer.body) > LARGE_ANSWER_BYTES:
            await asyncio.sleep(0)  # others are served between two items
    return items, listing
