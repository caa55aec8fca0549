"""Requests to Microsoft Graph, and its lists page by page (https://learn.microsoft.com/graph/api/resources/todo-overview).

To Do answers $select with 400, so that whole tasks are asked for.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, Field

from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor
from modules.microsoft_todo.error_messages import explain_problem

LARGE_ANSWER_BYTES = 256 * 1024
"""Bytes of an answer that is read one item at a time."""
_PLACES = ("$skiptoken", "$skip")
_TOKEN = re.compile(r"[\x21-\x7e]{1,600}", re.ASCII)

Model = TypeVar("Model", bound=BaseModel)


async def send_request(context: Context, method: str, address: str, **options: Any) -> VendorAnswer:
    """Send one request; `options` are those of :meth:`modules.kit.Vendor.request`.

    Raises:
        VendorProblem: Microsoft refused it; the text says what to do.
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


class TodoListing(BaseModel):
    """A page of a list, as Graph sends it."""

    value: list[dict[str, Any]]
    next_link: str | None = Field(default=None, alias="@odata.nextLink")

    @property
    def next(self) -> str:
        """Our cursor for the next page; "" where there is none. The address itself is never followed."""
        try:
            query = dict(parse_qsl(urlsplit(self.next_link or "").query))
        except ValueError:
            return ""
        place = next((name for name in _PLACES if _TOKEN.fullmatch(query.get(name, ""))), "")
        return encode_cursor([place, query[place]]) if place else ""

    @property
    def is_incomplete(self) -> bool:
        """Check whether there is more, and no cursor for it."""
        return bool(self.next_link) and not self.next


def parse_cursor(cursor: str | None) -> Mapping[str, str]:
    """Parse the parameter that leads to the next page out of our cursor; empty for the first page.

    Raises:
        ToolError: the cursor is not one of a :class:`TodoListing`.
    """
    if cursor is None:
        return {}
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 2 or values[0] not in _PLACES or not isinstance(values[1], str):
        raise build_unknown_cursor_error()
    if not _TOKEN.fullmatch(values[1]) or (values[0] == "$skip" and not re.fullmatch(r"[0-9]{1,9}", values[1])):
        raise build_unknown_cursor_error()
    return {values[0]: values[1]}


async def fetch_list(
    context: Context, shape: type[Model], address: str, *, cursor: str | None, query: Mapping[str, Any]
) -> tuple[list[Model], TodoListing]:
    """Fetch one page of a list."""
    answer = await send_request(context, "GET", address, query={**query, **parse_cursor(cursor)})
    listing = answer.read(TodoListing)
    items: list[Model] = []
    for one in listing.value:
        items.append(answer.read_part(shape, one))
        if len(answer.body) > LARGE_ANSWER_BYTES:
            await asyncio.sleep(0)  # others are served between two items
    return items, listing
