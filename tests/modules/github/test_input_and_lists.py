"""What a client of `/mcp` is told of bad input, and of lists with rows that are not as described."""

from typing import Any

import pytest

from tests.modules.github.calls import OF_NO_REPOSITORY
from tests.modules.github.conftest import Hub, named
from tests.support.github_double import Repository
from tests.support.github_double.call import Reply

pytestmark = pytest.mark.asyncio(loop_scope="package")
ISSUE, PULL = {"issue_number": 1}, {"pull_number": 1}
BAD_INPUT: list[tuple[str, dict[str, Any], str]] = [
    ("list_issues", {"owner": "mona/app"}, "owner: value error, is not a GitHub account name"),
    ("list_issues", {"repo": "mona/app"}, "repo: value error, is not a repository name"),
    ("list_issues", {"repo": ".."}, "repo: value error, is not a repository name"),
    ("list_issues", {"per_page": 0}, "per_page"),
    ("list_issues", {"per_page": 101}, "per_page"),
    ("list_issues", {"state": "OPEN"}, "state: input should be 'open', 'closed' or 'all'"),
    ("list_issues", {"since": "2026-01-01T00:00:00"}, "since: input should have timezone info"),
    ("list_issues", {"since": "2026-02-30T00:00:00Z"}, "since: input should be a valid datetime"),
    ("create_milestone", {"title": "m", "due_on": "2026-02-30"}, "due_on: input should be a valid date"),
    (
        "upload_release_asset",
        {"release_id": 9, "name": "a", "content_base64": ""},
        "content_base64: string",
    ),
    ("upload_release_asset", {"release_id": 9, "name": "a", "content_base64": " "}, "content_base64 is empty"),
    ("upload_release_asset", {"release_id": 9, "name": "a", "content_base64": "a"}, "content_base64 is no base64"),
    ("upload_release_asset", {"release_id": 9, "name": "a", "text": ""}, "text: string should have at least 1"),
    ("list_issues", {"labels": "bug"}, "labels: input should be a valid array"),
    ("list_issues", {"cursor": "bm8="}, "cursor was not returned by this tool"),
    ("list_issues", {"creator": "a b"}, "creator: value error, is not a GitHub account name"),
    *[("get_issue", {"issue_number": number}, "issue_number") for number in (0, -1, "1", 1.5, True, 2**31)],
    ("create_issue", {"title": ""}, "title: string should have at least 1 character"),
    ("create_issue", {"title": "x" * 257}, "title: string should have at most 256 characters"),
    ("create_issue", {"title": "t", "labels": ["a", 1]}, "labels[1]: input should be a valid string, got 1"),
    ("create_issue", {"title": "t", "assignees": ["no login"]}, "assignees[0]: value error"),
    ("update_issue", ISSUE, "there is nothing to change: give at least one of title"),
    ("update_issue", {**ISSUE, "state": "done"}, "state: input should be 'open' or 'closed'"),
    ("update_issue", {**ISSUE, "milestone": -1}, "milestone"),
    ("update_pull_request", PULL, "there is nothing to change"),
    ("merge_pull_request", {**PULL, "sha": "abc"}, "sha: string should match"),
    ("merge_pull_request", {**PULL, "merge_method": "force"}, "merge_method"),
    ("create_pull_request", {"head": "dev", "base": "main"}, "give either title, with body if any, or issue"),
    ("create_branch", {"branch": ""}, "branch: value error, is not a branch, tag or commit"),
    ("create_branch", {"branch": "a/../b"}, "branch: value error"),
    ("create_branch", {"branch": "x", "from_branch": "main"}, "from_branch is unknown; known are: owner, repo, branch"),
    ("delete_branch", {"branch": "a//b"}, "branch: value error"),
    ("get_commit", {"ref": "x" * 256}, "ref: value error, is not a branch, tag or commit: 1 to 255 characters"),
    ("get_commit", {"ref": "main", "detail": "all"}, "detail: input should be 'none', 'stats' or 'patch'"),
    ("get_repository_tree", {"path": "../x"}, "path: value error, is not a path"),
    ("get_repository_tree", {"cursor": "W10="}, "cursor was not returned by this tool"),
    ("delete_file", {"path": "a", "message": "m", "sha": "A" * 40}, "sha: string should match"),
    ("push_files", {"branch": "main", "message": "", "files": [{"path": "a", "content": ""}]}, "message: string"),
    ("list_issues", {"page": 2}, "page is unknown; known are: owner, repo, state"),
]


@pytest.mark.parametrize(("tool", "params", "text"), BAD_INPUT, ids=[f"{one[0]}-{one[2][:30]}" for one in BAD_INPUT])
async def test_bad_input_names_the_parameter(
    hub: Hub, home: Repository, tool: str, params: dict[str, Any], text: str
) -> None:
    hub.github.seen.clear()
    assert text in await hub.refuse(tool, **{**named(home), **params})
    assert hub.github.seen == []


LISTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "list_repositories": ({}, "", "repositories"),
    "list_commits": ({}, "", "commits"),
    "list_branches": ({}, "", "branches"),
    "list_issues": ({}, "", "issues"),
    "list_pull_requests": ({}, "", "pull_requests"),
    "list_user_events": ({"username": "mona"}, "", "events"),
    "list_notifications": ({}, "", "notifications"),
    "list_workflow_runs": ({}, "workflow_runs", "workflow_runs"),
    "search_issues": ({"q": "x"}, "items", "items"),
    "search_code": ({"q": "x"}, "items", "items"),
    "search_repositories": ({"q": "x"}, "items", "items"),
}
ROW = {
    "full_name": "shown", "sha": "shown", "name": "shown", "title": "shown", "type": "shown", "reason": "shown",
    "display_title": "shown", "number": "x", "id": [], "comments": {}, "user": 3, "labels": {}, "made_up": {"a": [1]},
    "commit": None, "private": "perhaps", "created_at": 7,
}  # fmt: skip


@pytest.mark.parametrize("tool", LISTS)
async def test_rows_that_lack_fields_or_are_none(hub: Hub, home: Repository, tool: str) -> None:
    """A field that is missing or of another type costs that field, and a row that is none is counted."""
    params, field, shown = LISTS[tool]
    given = params if tool in OF_NO_REPOSITORY else {**named(home), **params}
    rows = [ROW, 5, {}]
    hub.github.next_answers = [Reply(200, {field: rows, "total_count": "many"} if field else rows)]
    found = await hub.call(tool, **given)
    assert (len(found[shown]), found["unreadable"]) == (1, 2)
    assert "shown" in found[shown][0].values()
    assert not {"number", "labels", "user", "total_count"} & {*found[shown][0], *found}
    assert not found[shown][0].get("id")


@pytest.mark.parametrize("tool", LISTS)
async def test_an_empty_list_and_a_next_page_that_leads_nowhere(hub: Hub, home: Repository, tool: str) -> None:
    params, field, shown = LISTS[tool]
    given = params if tool in OF_NO_REPOSITORY else {**named(home), **params}
    empty: Any = {field: [], "total_count": 0} if field else []
    hub.github.next_answers = [Reply(200, empty)]
    found = await hub.call(tool, **given)
    assert found in ({shown: []}, {shown: [], "total_count": 0})
    odd = {"Link": '<https://elsewhere.test/?page=-1>; rel="next"'}
    hub.github.next_answers = [Reply(200, {field: [ROW]} if field else [ROW], odd)]
    found = await hub.call(tool, **given)
    assert (found["incomplete"], "nextCursor" in found) == (True, False)


async def test_files_and_comments_that_are_not_as_described(hub: Hub, home: Repository) -> None:
    commit = {"sha": "1", "commit": {"message": "m"}, "files": [{"filename": "a", "patch": 3}, {"patch": "p"}, 5]}
    hub.github.next_answers = [Reply(200, commit)]
    found = await hub.call("get_commit", **named(home), ref="main", detail="patch")
    assert found == {
        "commit": {"sha": "1", "message": "m"},
        "files": [{"filename": "a", "status": ""}, {"filename": "", "status": "", "patch": "p"}],
        "unreadable": 1,
    }
    hub.github.next_answers = [Reply(200, [{"name": "a", "size": "x"}, 5])]
    found = await hub.call("get_file_contents", **named(home), path="src")
    assert (found["entries"], found["unreadable"]) == ([{"name": "a", "type": ""}], 1)
    hub.github.next_answers = [Reply(200, {"type": "file", "path": 3, "encoding": "base64", "content": "YQ=="})]
    assert (await hub.call("get_file_contents", **named(home), path="a"))["text"] == "a"
    hub.github.next_answers = [Reply(200, {"files": []})]
    assert "documented form" in await hub.refuse("get_commit", **named(home), ref="main")
