"""Requests to Jira's API, and its lists page by page
(https://developer.atlassian.com/cloud/jira/platform/rest/v3/intro/)."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from modules.jira.error_messages import explain_problem
from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.paging import BodyCursor, Offset, ReadPage, parse_cursor, read_page
from modules.kit.results import read_object

BY_START = Offset(size="maxResults", parameter="startAt", total="total", last="isLast")
USERS = Offset(size="maxResults", parameter="startAt", reach=1000)
# Of a page's users, Jira leaves out those who cannot be assigned.
ASSIGNABLE_USERS = Offset(size="maxResults", parameter="startAt", reach=1000, filters=True)
BY_TOKEN = BodyCursor(size="maxResults", parameter="nextPageToken", next="nextPageToken", last="isLast")

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


async def fetch_object(context: Context, address: str, **options: Any) -> tuple[dict[str, Any], VendorAnswer]:
    """Fetch one JSON object."""
    answer = await send_request(context, "GET", address, **options)
    return answer.read(dict[str, Any]), answer


async def fetch_before(context: Context, address: str) -> dict[str, Any]:
    """Fetch a comment or a worklog that is to be changed, as it is now.

    Raises:
        VendorProblem: the answer is none: what it does not show, such as who may see it, would be lost by the change.
    """
    before, answer = await fetch_object(context, address)
    if not before.get("id"):
        raise answer.build_unreadable_problem()
    return before


async def fetch_page(
    context: Context,
    shape: type[Model],
    address: str,
    *,
    rows: str = "",
    cursor: str | None,
    per_page: int,
    query: Mapping[str, Any] | None = None,
    way: Offset = BY_START,
) -> ReadPage[Model]:
    """Fetch one page of a list; `rows` is where its rows stand, "" for a bare array."""
    asked = parse_cursor(cursor, way, address, per_page)
    answer = await send_request(context, "GET", address, query={**(query or {}), **asked.parameters})
    return await read_page(answer, asked, shape, rows)


async def search(
    context: Context, shape: type[Model], address: str, body: Mapping[str, Any], *, cursor: str | None, per_page: int
) -> ReadPage[Model]:
    """Fetch one page of a search with JQL, whose cursors belong to that JQL."""
    asked = parse_cursor(cursor, BY_TOKEN, f"{address} {body['jql']}", per_page)
    answer = await send_request(context, "POST", address, json={**body, **asked.parameters}, repeatable=True)
    return await read_page(answer, asked, shape, "issues")
