"""Requests to Confluence's API, and its lists page by page
(https://developer.atlassian.com/cloud/confluence/rest/v2/intro/; searches and labels are version 1)."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from modules.confluence.error_messages import explain_problem
from modules.confluence.results import add_base, get_mapping
from modules.kit import Context, ToolError, VendorAnswer, VendorProblem
from modules.kit.paging import NextLink, PagingWay, ReadPage, parse_cursor, read_page
from modules.kit.results import read_object

PAGING = NextLink(size="limit", next=("_links", "next"), tokens=("cursor",))

Model = TypeVar("Model", bound=BaseModel)


async def send_request(context: Context, method: str, address: str, **options: Any) -> VendorAnswer:
    """Send one request; `options` are those of :meth:`modules.kit.Vendor.request`.

    Raises:
        VendorProblem: Confluence refused it; the text says what to do.
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
    context: Context,
    shape: type[Model],
    address: str,
    *,
    cursor: str | None,
    per_page: int,
    query: Mapping[str, Any] | None = None,
    way: PagingWay = PAGING,
    name: str = "",
) -> ReadPage[Model]:
    """Fetch one page of a list, whose rows get whole addresses. `name` is that of the list, if not its address."""
    asked = parse_cursor(cursor, way, name or address, per_page)
    answer = await send_request(context, "GET", address, query={**(query or {}), **asked.parameters})
    page = await read_page(answer, asked, shape, "results")
    add_base(page.rows, page.document)
    return page


async def resolve_space(context: Context, space: str) -> str:
    """Return the id of a space, whose key or id is given.

    Raises:
        ToolError: there is no space of that key.
    """
    if space.isdigit():
        return space
    answer = await send_request(context, "GET", "/wiki/api/v2/spaces", query={"keys": [space], "limit": 1})
    rows = answer.read_part(list[Any], get_mapping(answer.json()).get("results"))
    identity = get_mapping(rows[0]).get("id") if rows else None
    if not rows:
        raise ToolError(f"there is no space with the key {space}, or the account may not see it: list the spaces")
    if not isinstance(identity, str) or not identity.isdigit():
        raise answer.build_unreadable_problem()
    return identity
