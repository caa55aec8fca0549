"""Requests to Microsoft Graph, and its lists page by page (https://learn.microsoft.com/graph/api/resources/todo-overview).

To Do answers $select with 400, so that whole tasks are asked for.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.conflicts import retry_conflicts
from modules.kit.paging import NextLink, ReadPage, parse_cursor, read_page
from modules.kit.results import read_object
from modules.microsoft_todo.error_messages import explain_problem, is_conflict

MAX_PAGE = 100
PAGING = NextLink(size="$top", next="@odata.nextLink", numbers=("$skip",), tokens=("$skiptoken",))

Model = TypeVar("Model", bound=BaseModel)


async def send_request(context: Context, method: str, address: str, **options: Any) -> VendorAnswer:
    """Send one request; `options` are those of :meth:`modules.kit.Vendor.request`. It is sent once more where another
    change came in the same moment, unless it is for one version only.

    Raises:
        VendorProblem: Microsoft refused it; the text says what to do.
    """

    async def send() -> VendorAnswer:
        return await context.vendor.request(method, address, **options)

    is_bound = "If-Match" in (options.get("headers") or {})
    try:
        return await send() if is_bound else await retry_conflicts(send, is_conflict)
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
    context: Context,
    shape: type[Model],
    address: str,
    *,
    cursor: str | None,
    per_page: int = MAX_PAGE,
    query: Mapping[str, Any] | None = None,
) -> ReadPage[Model]:
    """Fetch one page of a list."""
    asked = parse_cursor(cursor, PAGING, address, per_page)
    answer = await send_request(context, "GET", address, query={**(query or {}), **asked.parameters})
    return await read_page(answer, asked, shape, "value")
