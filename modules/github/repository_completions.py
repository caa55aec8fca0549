"""Completion of what names something in a repository, by one request of the account's own lists each."""

from collections.abc import Mapping

from modules.github.files import Contents, get_file_contents
from modules.github.issues import ListedIssue, get_issue
from modules.github.pull_requests import PullRequests, list_pull_requests
from modules.github.repositories import Repositories, list_repositories
from modules.github.shared import rest_client
from modules.kit import Context
from modules.kit.completions import MAX_VALUES, Option, ask_tool, check_arguments, choose_values


async def _list_full_names(context: Context) -> list[tuple[str, str]]:
    """List the owners and names of the repositories that were changed last."""
    found = await ask_tool(context, list_repositories, Repositories, per_page=MAX_VALUES)
    parted = (row.full_name.partition("/") for row in found.repositories)
    return [(owner, name) for owner, _, name in parted]


async def complete_owner(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the owner of a repository."""
    return choose_values((Option(owner) for owner, _ in await _list_full_names(context)), typed)


async def complete_repo(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the name of a repository: of the owner, if that is known."""
    wanted = known.get("owner", "").casefold()
    names = await _list_full_names(context)
    return choose_values((Option(name) for owner, name in names if wanted in ("", owner.casefold())), typed)


async def complete_path(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the path of a file, folder by folder."""
    folder, slash, _ = typed.lstrip("/").rpartition("/")
    place = {"owner": known.get("owner"), "repo": known.get("repo"), "path": folder}
    found = await ask_tool(context, get_file_contents, Contents, **place)
    paths = (f"{folder}{slash}{one.name}{'/' if one.type == 'dir' else ''}" for one in found.entries)
    return choose_values(map(Option, paths), typed.lstrip("/"))


async def complete_issue(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the number of an issue, by its number or words of its title."""
    place = check_arguments(get_issue, owner=known.get("owner"), repo=known.get("repo"), issue_number=1)
    page = await rest_client.fetch_page(
        context, ListedIssue, rest_client.build_repository_path(place["owner"], place["repo"]) + "/issues",
        cursor=None, per_page=MAX_VALUES, query={"state": "all", "sort": "updated"},
    )  # fmt: skip
    rows = (row for row in page.rows if not row.pull_request and row.number)
    return choose_values((Option(str(row.number), row.title) for row in rows), typed)


async def complete_pull_request(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the number of a pull request, by its number or words of its title."""
    place = {"owner": known.get("owner"), "repo": known.get("repo")}
    found = await ask_tool(
        context, list_pull_requests, PullRequests, **place, state="all", sort="updated", per_page=MAX_VALUES
    )
    return choose_values((Option(str(row.number), row.title) for row in found.pull_requests if row.number), typed)


REPOSITORY = {"owner": complete_owner, "repo": complete_repo}
