"""Requests to Google Calendar's API, and its lists page by page (https://developers.google.com/workspace/calendar/api)."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from modules.google_calendar.error_messages import explain_problem
from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.paging import BodyCursor, ReadPage, RequestedPage, read_page
from modules.kit.results import read_object

PAGING = BodyCursor(size="maxResults", parameter="pageToken", next="nextPageToken")
# A list of events that begins now must begin with the same moment on each page.
EVENT_PAGING = BodyCursor(size="maxResults", parameter="pageToken", next="nextPageToken", kept=("timeMin",))

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


async def send_change(context: Context, method: str, address: str, **options: Any) -> None:
    """Send one request whose answer says no more than that it was done; `options` are those of :func:`send_request`.

    Raises:
        VendorProblem: it was refused, or the answer leaves open whether it was done.
    """
    (await send_request(context, method, address, **options)).check_done()


async def fetch_one(
    context: Context, shape: type[Model], address: str, *, method: str = "GET", **options: Any
) -> Model:
    """Send one request and read its answer as one `shape`."""
    return read_object(await send_request(context, method, address, **options), shape)


async def fetch_page(
    context: Context, shape: type[Model], address: str, asked: RequestedPage, *, query: Mapping[str, Any]
) -> ReadPage[Model]:
    """Fetch one page of a list."""
    answer = await send_request(context, "GET", address, query={**query, **asked.parameters})
    return await read_page(answer, asked, shape, "items", drops_empty=True)
