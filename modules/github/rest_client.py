"""Requests to GitHub's REST API, and its answers as shapes (https://docs.github.com/en/rest)."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field

from modules.github.error_messages import explain_problem
from modules.kit import Context, ToolError, VendorAnswer, VendorProblem, VendorSettings, build_path
from modules.kit.paging import LinkHeader, ReadPage, parse_cursor, read_page
from modules.kit.results import read_object

PAGING = LinkHeader()

HEADERS = {
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
    "User-Agent": "MCPist",
}

Model = TypeVar("Model", bound=BaseModel)


class GitHubSettings(VendorSettings):
    """GitHub takes 100 requests at once from a person, whatever programs they use
    (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api)."""

    concurrency: Annotated[int, Field(ge=1, le=100, description="Requests at once with one credential")] = 32


async def send_request(
    context: Context,
    method: str,
    address: str,
    *,
    query: Mapping[str, Any] | None = None,
    json: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    missing: str = "",
) -> VendorAnswer:
    """Send one request. None values in `json` are left out, as in a query. `missing` is what a 404 means here.

    Raises:
        VendorProblem: GitHub refused it; the text says what to do.
    """
    body = None if json is None else {name: value for name, value in json.items() if value is not None}
    try:
        return await context.vendor.request(method, address, query=query, json=body, headers=headers)
    except VendorProblem as problem:
        raise explain_problem(problem, missing) from None


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
    field: str = "",
    **options: Any,
) -> ReadPage[Model]:
    """Fetch one page of a list. `field` names the list's field where the answer is an object."""
    asked = parse_cursor(cursor, PAGING, address, per_page)
    answer = await send_request(context, "GET", address, query={**(query or {}), **asked.parameters}, **options)
    return await read_page(answer, asked, shape, field)


def require_change(fields: Mapping[str, Any]) -> None:
    """Go on only if something is to be changed.

    Raises:
        ToolError: all of it is None.
    """
    if all(value is None for value in fields.values()):
        raise ToolError(f"there is nothing to change: give at least one of {', '.join(fields)}")


def build_repository_path(owner: str, repo: str) -> str:
    """Build the path of a repository."""
    return build_path("/repos/{}/{}", owner, repo)


def encode_segments(text: str) -> str:
    """Encode a file path or a ref as part of a path: its slashes stay, as GitHub documents it."""
    return "/".join(build_path("{}", segment) for segment in text.split("/"))
