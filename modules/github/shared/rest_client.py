"""Requests to GitHub's REST API, and its answers as shapes (https://docs.github.com/en/rest)."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel

from modules.github.shared.error_messages import explain_problem
from modules.github.shared.result_models import Confirmation
from modules.kit import (
    Context,
    Download,
    RawBody,
    ToolError,
    VendorAnswer,
    VendorProblem,
    VendorSettings,
    build_path,
    describe_setting,
)
from modules.kit.paging import LinkHeader, ReadPage, parse_cursor, read_page
from modules.kit.results import Line, ResultModel, read_object

PAGING = LinkHeader(total="total_count")

UPLOADS, GRAPHQL = "uploads", "graphql"
HOSTS = {UPLOADS: "https://uploads.github.com", GRAPHQL: "https://api.github.com"}
HEADERS = {
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
    "User-Agent": "MCPist",
}

Model = TypeVar("Model", bound=BaseModel)

_MOVED = frozenset({301, 307, 308})
_REPOSITORY_NUMBER = re.compile(r"/repositories/([0-9]{1,19})(?:/|$)")


class _NamedRepository(ResultModel):
    full_name: Line


class GitHubSettings(VendorSettings):
    """GitHub takes 100 requests at once from a person, whatever programs they use
    (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api)."""

    concurrency: Annotated[
        int,
        describe_setting(
            "Requests at once",
            "Requests at once with one credential",
            ja=("同時リクエスト数", "1つの認証情報で同時に送るリクエストの数"),
            ge=1,
            le=100,
        ),
    ] = 32
    uploads_url: Annotated[
        str | None,
        describe_setting(
            "URL for uploads",
            "Own server's URL for files, https://HOST/api/uploads",
            ja=("アップロード用URL", "自社サーバーでファイルを送るURL (https://HOST/api/uploads)"),
            max_length=500,
        ),
    ] = None
    graphql_url: Annotated[
        str | None,
        describe_setting(
            "URL for GraphQL",
            "Own server's URL before /graphql, https://HOST/api",
            ja=("GraphQL用URL", "自社サーバーで /graphql の前に来るURL (https://HOST/api)"),
            max_length=500,
        ),
    ] = None


async def send_request(
    context: Context,
    method: str,
    address: str,
    *,
    query: Mapping[str, Any] | None = None,
    json: Mapping[str, Any] | None = None,
    nulls: Iterable[str] = (),
    headers: Mapping[str, str] | None = None,
    body: RawBody | None = None,
    host: str = "",
    missing: str = "",
    repeatable: bool | None = None,
) -> VendorAnswer:
    """Send one request. None values in `json` are left out, as in a query; `nulls` are the fields to send as null.
    `body` is sent as it is in the place of `json`, and `host` is one of :data:`HOSTS`. `missing` is what a 404 means
    here; `repeatable` is that of :meth:`modules.kit.Vendor.request`.

    Raises:
        VendorProblem: GitHub refused it; the text says what to do.
    """
    fields = None if json is None else {name: value for name, value in json.items() if value is not None}
    if fields is not None:
        fields |= dict.fromkeys(nulls)
    try:
        return await context.vendor.request(
            method, address, query=query, json=fields, headers=headers, repeatable=repeatable, body=body, host=host
        )
    except VendorProblem as problem:
        raise await _explain(context, problem, missing) from None


async def fetch_file_part(
    context: Context,
    address: str,
    *,
    limit: int,
    offset: int = 0,
    headers: Mapping[str, str] | None = None,
    missing: str = "",
) -> Download:
    """Fetch at most `limit` bytes of a file from `offset` on, which GitHub sends or gives a link to."""
    try:
        return await context.vendor.download(address, limit=limit, offset=offset, headers=headers)
    except VendorProblem as problem:
        raise await _explain(context, problem, missing) from None


async def fetch_one(
    context: Context, shape: type[Model], address: str, *, method: str = "GET", **options: Any
) -> Model:
    """Send one request and read its answer as one `shape`."""
    return read_object(await send_request(context, method, address, **options), shape)


async def fetch_confirmation(
    context: Context, method: str, address: str, *, status: int = 204, **options: Any
) -> Confirmation:
    """Send one request whose answer says no more than that it was done, by its `status`.

    Raises:
        VendorProblem: the answer is another one, such as a proxy's page.
    """
    answer = await send_request(context, method, address, **options)
    if answer.status != status:
        raise answer.build_unreadable_problem()
    if answer.body.strip():
        answer.read(dict[str, Any])
    return Confirmation()


async def fetch_page(
    context: Context,
    shape: type[Model],
    address: str,
    *,
    cursor: str | None,
    per_page: int,
    query: Mapping[str, Any] | None = None,
    field: str = "",
    name: str = "",
    **options: Any,
) -> ReadPage[Model]:
    """Fetch one page of a list. `field` names the list's field where the answer is an object. `name` is what a cursor
    is good for, by default the address alone."""
    asked = parse_cursor(cursor, PAGING, name or address, per_page)
    answer = await send_request(context, "GET", address, query={**(query or {}), **asked.parameters}, **options)
    return await read_page(answer, asked, shape, field)


async def _explain(context: Context, problem: VendorProblem, missing: str) -> VendorProblem:
    """Explain a refusal. That of a write to a renamed repository leads to its number only, so its name is asked for."""
    location = problem.answer.headers.get("location", "") if problem.answer and problem.answer.status in _MOVED else ""
    number = _REPOSITORY_NUMBER.search(location)
    if not number or problem.unknown:
        return explain_problem(problem, missing)
    try:
        answer = await context.vendor.request("GET", f"/repositories/{number[1]}")
        return explain_problem(problem, missing, moved_to=answer.read(_NamedRepository).full_name)
    except VendorProblem:
        return explain_problem(problem, missing)


def require_change(fields: Mapping[str, Any]) -> None:
    """Go on only if something is to be changed.

    Raises:
        ToolError: all of it is None.
    """
    if all(value is None for value in fields.values()):
        raise ToolError(f"there is nothing to change: give at least one of {', '.join(fields)}")


def build_repository_path(owner: str, repo: str, below: str = "", *parts: str | int) -> str:
    """Build the path of a repository, or of what is `below` it: a template whose ``{}`` are replaced by `parts`."""
    return build_path("/repos/{}/{}" + below, owner, repo, *parts)


def encode_segments(text: str) -> str:
    """Encode a file path or a ref as part of a path: its slashes stay, as GitHub documents it."""
    return "/".join(build_path("{}", segment) for segment in text.split("/"))
