"""Searches over everything that the connected account may see. GitHub shows at most the first 1,000 results."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BeforeValidator, Field

from modules.github.issues import ListedIssue
from modules.github.repositories import Repository
from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO
from modules.kit import Context, text_cleaning, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, limit_length
from modules.kit.results import Count, Flag, Identifier, Line, ListPage, Missable, Name, ResultModel, read_at

# GitHub refuses a search that has none of these.
_KIND = re.compile(r"(?i)(?:^|[\s(-])(?:is|type):(?:issue|pr|pull-request)\b")
MAX_FRAGMENTS = 2
MAX_MATCHES = 100
MAX_FRAGMENT_LENGTH = 300
TEXT_MATCHES = {"Accept": "application/vnd.github.text-match+json"}

Words = Annotated[str, limit_length(1, 1000)]
Order = Annotated[Literal["desc", "asc"], Field(description="Direction")]


def _extract_repository(url: Any) -> Any:
    """owner/name of a repository's API address."""
    return "/".join(url.rsplit("/", 2)[-2:]) if isinstance(url, str) else url


def _extract_fragments(matches: Any) -> Any:
    if not isinstance(matches, list):
        return ()
    first = cast("list[Any]", matches)[:MAX_MATCHES]
    mappings = (cast("Mapping[str, Any]", item) for item in first if isinstance(item, Mapping))
    fragments = [item.get("fragment") for item in mappings]
    return [
        text_cleaning.clean_block(item, MAX_FRAGMENT_LENGTH).text
        for item in fragments[:MAX_FRAGMENTS]
        if isinstance(item, str)
    ]


class FoundIssue(ListedIssue):
    repository: Annotated[Line, BeforeValidator(_extract_repository), read_at("repository_url")]


class CodeMatch(ResultModel):
    repository: Annotated[Line, read_at("repository", "full_name")]
    path: Name
    sha: Identifier
    fragments: Annotated[tuple[str, ...], BeforeValidator(_extract_fragments), read_at("text_matches")] = ()


class FoundRepository(Repository):
    stargazers_count: Count = 0


class _Results(ListPage):
    """`incomplete_results` says that GitHub ran out of time and left some out."""

    total_count: Missable[int] = None
    incomplete_results: Flag = False


Results = TypeVar("Results", bound=_Results)


class FoundIssues(_Results):
    items: list[FoundIssue]


class CodeMatches(_Results):
    items: list[CodeMatch]


class FoundRepositories(_Results):
    items: list[FoundRepository]


@tool(hints=READ_HINTS, scopes=[REPO])
async def search_issues(
    context: Context,
    q: Annotated[Words, Field(description="Such as is:pr author:@me repo:o/r")],
    sort: Annotated[
        OptionalParameter[Literal["comments", "reactions", "created", "updated"]], Field(description="Order")
    ] = None,
    order: Order = "desc",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> FoundIssues:
    """Issues of all repositories, or pull requests where q has is:pr."""
    query = {"q": q if _KIND.search(q) else f"{q} is:issue", "sort": sort, "order": order}
    return await _search(context, FoundIssues, FoundIssue, "/search/issues", query, per_page, cursor)


@tool(hints=READ_HINTS, scopes=[REPO])
async def search_code(
    context: Context,
    q: Annotated[Words, Field(description="Such as parse repo:o/r language:python")],
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> CodeMatches:
    """Code on default branches, with the lines that match."""
    return await _search(context, CodeMatches, CodeMatch, "/search/code", {"q": q}, per_page, cursor, TEXT_MATCHES)


@tool(hints=READ_HINTS, scopes=[REPO])
async def search_repositories(
    context: Context,
    q: Annotated[Words, Field(description="Such as mcp in:name org:acme")],
    sort: Annotated[OptionalParameter[Literal["stars", "forks", "updated"]], Field(description="Order")] = None,
    order: Order = "desc",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> FoundRepositories:
    """Repositories by name, description or topic."""
    query = {"q": q, "sort": sort, "order": order}
    return await _search(context, FoundRepositories, FoundRepository, "/search/repositories", query, per_page, cursor)


async def _search(
    context: Context,
    results: type[Results],
    shape: type[ResultModel],
    address: str,
    query: Mapping[str, str | None],
    per_page: int,
    cursor: str | None,
    headers: Mapping[str, str] | None = None,
) -> Results:
    page = await rest_client.fetch_page(
        context, shape, address, query=query, field="items", cursor=cursor, per_page=per_page, headers=headers
    )
    found = {
        "total_count": page.fields["total"],
        "incomplete_results": page.document.get("incomplete_results"),
        "items": page.rows,
    }
    return results.model_validate({**found, **page.fields})


TOOLS = (search_issues, search_code, search_repositories)
