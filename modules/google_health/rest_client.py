"""Requests to Google Health's API, and its lists page by page (https://developers.google.com/health/reference/rest)."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from modules.google_health.error_messages import explain_problem
from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.paging import BodyCursor, ReadPage, RequestedPage, read_page

PAGING = BodyCursor(size="pageSize", parameter="pageToken", next="nextPageToken")

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


async def fetch_page(
    context: Context, shape: type[Model], address: str, asked: RequestedPage, items: str, query: Mapping[str, Any]
) -> ReadPage[Model]:
    """Fetch one page of a list. Google writes an empty one as an empty object."""
    answer = await send_request(context, "GET", address, query={**query, **asked.parameters})
    if answer.json() == {}:
        return ReadPage([], {}, answer, {})
    return await read_page(answer, asked, shape, items, drops_empty=True)
