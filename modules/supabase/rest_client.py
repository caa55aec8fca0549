"""Requests to Supabase's Management API (https://api.supabase.com/api/v1)."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from modules.kit import Context, VendorAnswer, VendorProblem, build_path
from modules.kit.paging import parse_cursor
from modules.kit.results import ReadRows, read_object, read_rows
from modules.kit.whole_lists import WHOLE, CutPage, cut_page
from modules.kit.write_headers import build_idempotency_key
from modules.supabase.error_messages import explain_problem, explain_sql_problem

Model = TypeVar("Model", bound=BaseModel)


async def send_request(
    context: Context, method: str, address: str, *, missing: str = "", partners_only: bool = False, **options: Any
) -> VendorAnswer:
    """Send one request; `missing` and `partners_only` are those of :func:`explain_problem`.

    Raises:
        VendorProblem: Supabase refused it; the text says what to do.
    """
    try:
        return await context.vendor.request(method, address, **options)
    except VendorProblem as problem:
        raise explain_problem(problem, missing=missing, partners_only=partners_only) from None


async def send_change(context: Context, method: str, address: str, **options: Any) -> None:
    """Send one request whose answer says no more than that it was done; `options` are those of :func:`send_request`.

    Raises:
        VendorProblem: it was refused, or the answer leaves open whether it was done.
    """
    (await send_request(context, method, address, **options)).check_done()


async def fetch(context: Context, shape: type[Model], address: str, *, method: str = "GET", **options: Any) -> Model:
    """Send one request and read its answer as one `shape`."""
    return read_object(await send_request(context, method, address, **options), shape)


async def fetch_rows(context: Context, shape: type[Model], address: str, **options: Any) -> ReadRows[Model]:
    """Fetch a list that Supabase gives whole."""
    answer = await send_request(context, "GET", address, **options)
    return await read_rows(answer, shape, answer.read(list[Any]))


async def fetch_page(
    context: Context, shape: type[Model], address: str, *, cursor: str | None, per_page: int, **options: Any
) -> CutPage[Model]:
    """Fetch a list that Supabase gives whole, and cut one page out of it."""
    asked = parse_cursor(cursor, WHOLE, address, per_page)
    return cut_page(asked, await fetch_rows(context, shape, address, **options))


async def send_query(
    context: Context, ref: str, query: str, parameters: Sequence[Any] = (), *, writes: bool = False
) -> VendorAnswer:
    """Run SQL; the answer is a list of the rows of its last statement. Only with `writes` can it change anything:
    otherwise the endpoint itself runs it as a role that can only read. `parameters` are sent beside the query, never as
    a part of it.

    Raises:
        VendorProblem: Supabase or PostgreSQL refused it.
    """
    address = build_path("/v1/projects/{}/database/query" + ("" if writes else "/read-only"), ref)
    body: dict[str, Any] = {"query": query}
    if parameters:
        body["parameters"] = list(parameters)
    try:
        return await context.vendor.request("POST", address, json=body, repeatable=not writes)
    except VendorProblem as problem:
        raise explain_sql_problem(problem, query) from None


async def send_migration(context: Context, address: str, name: str, query: str) -> None:
    """Apply SQL as a migration; the same one again is applied once.

    Raises:
        VendorProblem: Supabase or PostgreSQL refused it.
    """
    body, headers = {"name": name, "query": query}, build_idempotency_key(address, name, query)
    try:
        answer = await context.vendor.request("POST", address, json=body, headers=headers)
    except VendorProblem as problem:
        raise explain_sql_problem(problem, query, partners_only=True) from None
    answer.check_done()
