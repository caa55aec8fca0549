"""The module as it is declared: names, hints, scopes, and what its schemas cost."""

import orjson
import pytest

from broker.oauth_client.token_response import resolve_pointer
from gateway.catalogue import build_catalogue
from modules.github import MODULE
from modules.kit import ToolError, VendorAnswer
from tests.modules.github.calls import CALLS, WRITES
from tests.modules.github.conftest import GitHubApp, scene_on
from tests.support.github_double import github_double
from tests.support.plain_vendor import vendor_callers
from tests.support.tokens import tokens

# (read-only, destructive, idempotent) of the design's table.
READS, ADDS, CHANGES, ACTS = (True, False, False), (False, False, False), (False, True, True), (False, True, False)
ENSURES = (False, False, True)
HINTS = {
    "list_repositories": READS,
    "list_commits": READS,
    "search_issues": READS,
    "get_me": READS,
    "list_user_events": READS,
    "get_file_contents": READS,
    "create_or_update_file": ACTS,
    "delete_file": ACTS,
    "search_code": READS,
    "search_repositories": READS,
    "list_issues": READS,
    "get_issue": READS,
    "create_issue": ADDS,
    "update_issue": CHANGES,
    "add_issue_comment": ADDS,
    "list_pull_requests": READS,
    "get_pull_request": READS,
    "create_pull_request": ADDS,
    "update_pull_request": CHANGES,
    "merge_pull_request": ACTS,
    "create_pull_request_review": ADDS,
    "list_branches": READS,
    "create_branch": ADDS,
    "get_commit": READS,
    "list_workflow_runs": READS,
    "get_latest_release": READS,
    "list_notifications": READS,
    "get_repository_tree": READS,
    "delete_branch": CHANGES,
    "list_tags": READS,
    "push_files": ACTS,
    "get_diff": READS,
    "create_github_issue": ADDS,
    "update_pull_request_branch": ACTS,
    "mark_notification_read": CHANGES,
    "add_issue_labels": ENSURES,
    "cancel_workflow_run": ACTS,
    "create_label": ADDS,
    "create_release": ADDS,
    "delete_issue_comment": CHANGES,
    "delete_label": CHANGES,
    "delete_release": CHANGES,
    "delete_review_comment": CHANGES,
    "dispatch_workflow": ACTS,
    "get_checks": READS,
    "get_issue_comment": READS,
    "get_release": READS,
    "list_labels": READS,
    "list_milestones": READS,
    "create_milestone": ADDS,
    "update_milestone": CHANGES,
    "delete_milestone": CHANGES,
    "list_releases": READS,
    "list_release_assets": READS,
    "get_release_asset": READS,
    "upload_release_asset": ADDS,
    "update_release_asset": CHANGES,
    "delete_release_asset": CHANGES,
    "get_job_logs": READS,
    "list_review_threads": READS,
    "resolve_review_thread": CHANGES,
    "set_pull_request_draft": CHANGES,
    "list_review_comments": READS,
    "list_sub_issues": READS,
    "list_workflow_jobs": READS,
    "list_workflows": READS,
    "remove_issue_label": CHANGES,
    "change_issue_labels": CHANGES,
    "remove_sub_issue": CHANGES,
    "add_sub_issue": ENSURES,
    "reply_to_review_comment": ADDS,
    "request_reviewers": CHANGES,
    "rerun_workflow_run": ACTS,
    "update_issue_comment": CHANGES,
    "update_label": CHANGES,
    "update_release": CHANGES,
    "update_review_comment": CHANGES,
    "update_review": CHANGES,
    "dismiss_review": CHANGES,
    "delete_pending_review": CHANGES,
    "delete_workflow_run": CHANGES,
}
# o200k tokens of name, description and parameters as a client would list them. Raise one only with a reason.
MOST_TOKENS = 260
MOST_ON_AVERAGE = 135


def test_every_tool_of_the_design_with_its_hints() -> None:
    found = {tool.name: (tool.hints.read_only, tool.hints.destructive, tool.hints.idempotent) for tool in MODULE.tools}
    assert found == HINTS
    assert all(tool.hints.open_world for tool in MODULE.tools)


def test_every_tool_is_called_through_mcp() -> None:
    assert set(WRITES) == {tool.name for tool in MODULE.tools if not tool.hints.read_only}
    assert set(CALLS) == {tool.name for tool in MODULE.tools}


def test_scopes_are_githubs() -> None:
    assert MODULE.scopes == {"repo", "workflow", "notifications", "read:user"}
    others = {tool.name: set(tool.scopes) for tool in MODULE.tools if tool.scopes != {"repo"}}
    assert others == {
        "create_or_update_file": {"repo", "workflow"},
        "delete_file": {"repo", "workflow"},
        "get_me": {"read:user"},
        "list_user_events": {"read:user"},
        "list_notifications": {"notifications"},
        "mark_notification_read": {"notifications"},
        "push_files": {"repo", "workflow"},
    }


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["github"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


def test_the_vendor_as_data() -> None:
    api = MODULE.vendor
    assert api is not None
    assert api.base_url == "https://api.github.com"
    assert api.headers == {
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "User-Agent": "MCPist",
    }


async def test_the_name_of_the_account(app: GitHubApp) -> None:
    api = MODULE.vendor
    assert api is not None
    answer = await app.mona.vendor.request("GET", api.account.path)
    assert resolve_pointer(answer.json(), api.account.name) == "mona"


async def test_an_enterprise_server_below_a_base_path() -> None:
    async with github_double("/api/v3") as double, vendor_callers() as callers:
        app = await scene_on(double, callers)
        for n in range(3):
            double.world.issue(app.app, f"Issue {n}", "eve")
        first = await app.mona.call("list_issues", owner="mona", repo="app", per_page=2)
        rest = await app.mona.call("list_issues", owner="mona", repo="app", cursor=first["nextCursor"])
        assert [one["number"] for page in (first, rest) for one in page["issues"]] == [3, 2, 1]
        assert all(" /api/v3/repos/mona/app/issues?" in one for one in double.seen)


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"items": 3}', b"null", b'[{"number": "x"}]'])
async def test_an_answer_that_is_none(app: GitHubApp, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    """A proxy in between may answer anything with 200."""

    async def odd(*_: object, **__: object) -> object:
        return VendorAnswer(200, {}, body, write=False)

    caller = app.mona
    monkeypatch.setattr(caller.vendor, "request", odd)
    repo = {"owner": "mona", "repo": "app"}
    for tool, params in (
        ("list_issues", repo),
        ("get_issue", {**repo, "issue_number": 1}),
        ("get_commit", {**repo, "ref": "x"}),
        ("list_workflow_runs", repo),
        ("search_code", {"q": "x"}),
        ("get_file_contents", {**repo, "path": "x"}),
        ("list_notifications", {}),
        ("list_user_events", {}),
    ):
        with pytest.raises(ToolError, match=r"cannot be read|does not have the documented form"):
            await caller.call(tool, **params)
