"""Requests to Notion's API, and its lists page by page (https://developers.notion.com/reference)."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.conflicts import retry_conflicts
from modules.kit.paging import BodyCursor, ReadPage, parse_cursor, read_page
from modules.kit.results import read_object
from modules.notion.error_messages import explain_problem, is_conflict

HEADERS = {"Notion-Version": "2025-09-03"}
PAGING = BodyCursor(size="page_size", parameter="start_cursor", next="next_cursor", more="has_more")

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
    """Send one request; once more where Notion could not save it for another change in the same moment. No request
    rests on a version that was read before.

    Raises:
        VendorProblem: Notion refused it; the text says what to do.
    """

    async def send() -> VendorAnswer:
        return await context.vendor.request(method, address, query=query, json=json, repeatable=repeatable)

    try:
        return await retry_conflicts(send, is_conflict)
    except VendorProblem as problem:
        raise explain_problem(problem) from None


async def fetch_one(
    context: Context, shape: type[Model], address: str, *, method: str = "GET", **options: Any
) -> Model:
    """Send one request and read its answer as one `shape`."""
    return read_object(await send_request(context, method, address, **options), shape)


async def fetch_list(
    context: Context,
    shape: type[Model],
    address: str,
    *,
    cursor: str | None,
    per_page: int,
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
) -> ReadPage[Model]:
    """Fetch one page of a list, by GET or, with `body`, by a POST that changes nothing."""
    asked = parse_cursor(cursor, PAGING, address, per_page)
    if body is None:
        answer = await send_request(context, "GET", address, query={**(query or {}), **asked.parameters})
    else:
        json = {name: value for name, value in {**body, **asked.parameters}.items() if value is not None}
        answer = await send_request(context, "POST", address, json=json, repeatable=True)
    page = await read_page(answer, asked, shape, "results")
    page.fields["incomplete"] |= has_stopped(page.document)
    return page


def has_stopped(document: Mapping[str, Any]) -> bool:
    """Check whether Notion left out results for which it gives no cursor."""
    status = document.get("request_status")
    return isinstance(status, dict) and cast("dict[str, Any]", status).get("type") == "incomplete"
