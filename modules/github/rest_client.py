"""Requests to GitHub's REST API, and its answers as shapes (https://docs.github.com/en/rest)."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, Field

from modules.github.error_messages import explain_problem
from modules.kit import Context, ToolError, VendorAnswer, VendorProblem, VendorSettings, build_path
from modules.kit.cursors import build_next_cursor, parse_paging

MAX_ITEMS = 300
"""Of one page: the most that GitHub sends (the files of a commit)."""
LARGE_ANSWER_BYTES = 256 * 1024
"""Bytes of an answer that is read one item at a time."""

HEADERS = {
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
    "User-Agent": "MCPist",
}

Model = TypeVar("Model", bound=BaseModel)


class DecodedAnswer(NamedTuple):
    """An answer and its JSON, for what is read of it besides a page's items."""

    answer: VendorAnswer
    value: Any


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
    return (await send_request(context, method, address, **options)).read(shape)


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
) -> tuple[list[Model], str, DecodedAnswer]:
    """Fetch one page of a list: its items, the cursor of the next page or "", and the whole answer. `field` names the
    list's field where the answer is an object."""
    paged = parse_paging(cursor, per_page)
    items_read: list[Model] = []
    answer = await send_request(context, "GET", address, query={**(query or {}), **paged}, **options)
    document: Any = answer.json()
    items = cast("Any", document).get(field) if field and isinstance(document, Mapping) else document
    for item in answer.read_part(list[Any], items)[:MAX_ITEMS]:
        items_read.append(answer.read_part(shape, item))
        if len(answer.body) > LARGE_ANSWER_BYTES:
            await asyncio.sleep(0)  # each item may hold long texts, and others are served between two of them
    return items_read, build_next_cursor(answer.headers.get("link"), paged["per_page"]), DecodedAnswer(answer, document)


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
