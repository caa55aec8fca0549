"""Requests to Google Calendar's API, and its lists page by page (https://developers.google.com/workspace/calendar/api)."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from modules.google_calendar.error_messages import explain_problem
from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor

LARGE_ANSWER_BYTES = 256 * 1024
"""Bytes of an answer that is read one item at a time."""
_TOKEN = re.compile(r"[A-Za-z0-9+/=_:.%~-]{1,600}", re.ASCII)
_MOMENT = re.compile(r"[0-9T:+Z-]{0,40}", re.ASCII)

Model = TypeVar("Model", bound=BaseModel)


async def send_request(context: Context, method: str, address: str, **options: Any) -> VendorAnswer:
    """Send one request; `options` are those of :meth:`modules.kit.Vendor.request`.

    Raises:
        VendorProblem: Google refused it; the text says what to do.
    """
    try:
        return await context.vendor.request(method, address, **options)
    except VendorProblem as problem:
        raise explain_problem(problem) from None


async def fetch_one(
    context: Context, shape: type[Model], address: str, *, method: str = "GET", **options: Any
) -> Model:
    """Send one request and read its answer as one `shape`."""
    return (await send_request(context, method, address, **options)).read(shape)


class CalendarListing(BaseModel):
    """A page of a list, as Google sends it."""

    items: list[dict[str, Any]] = []
    nextPageToken: str | None = None  # noqa: N815
    timeZone: str | None = None  # noqa: N815

    def build_cursor(self, start: str = "") -> str:
        """Build our cursor for the next page; "" where there is none. `start` is what the first page began with: the
        following ones must begin with the same."""
        is_known = self.nextPageToken is not None and _TOKEN.fullmatch(self.nextPageToken)
        return encode_cursor([self.nextPageToken, start]) if is_known else ""

    @property
    def is_incomplete(self) -> bool:
        """Check whether there is more, and no cursor for it."""
        return self.nextPageToken is not None and not _TOKEN.fullmatch(self.nextPageToken)


def parse_cursor(cursor: str | None) -> tuple[str | None, str]:
    """Parse Google's token, and what the first page began with, out of our cursor; None and "" for the first page.

    Raises:
        ToolError: the cursor is not one of a :class:`CalendarListing`.
    """
    if cursor is None:
        return None, ""
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 2 or not all(isinstance(one, str) for one in values):
        raise build_unknown_cursor_error()
    if not _TOKEN.fullmatch(values[0]) or not _MOMENT.fullmatch(values[1]):
        raise build_unknown_cursor_error()
    return values[0], values[1]


async def fetch_list(
    context: Context, shape: type[Model], address: str, *, query: Mapping[str, Any]
) -> tuple[list[Model], CalendarListing]:
    """Fetch one page of a list."""
    answer = await send_request(context, "GET", address, query=query)
    listing = answer.read(CalendarListing)
    items: list[Model] = []
    for one in listing.items:
        items.append(answer.read_part(shape, one))
        if len(answer.body) > LARGE_ANSWER_BYTES:
            await asyncio.sleep(0)  # others are served between two items
    return items, listing
