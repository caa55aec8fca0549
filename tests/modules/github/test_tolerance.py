"""Tools of checks, workflows, line comments, labels, milestones, sub-issues and releases: rights that lack, rows that
lack fields, and ids that are none."""

from typing import Any

import pytest
from pydantic import ValidationError

from modules.kit import VendorProblem
from tests.modules.github.calls import WRITES
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.call import Reply
from tests.support.github_double.parts import Asset, Label, Milestone, Workflow
from tests.support.github_double.world import Comment, Release, Run

APP = {"owner": "mona", "repo": "app"}
NEEDED = {
    "update_issue_comment": "issues=write", "delete_issue_comment": "issues=write", "create_label": "issues=write",
    "update_label": "issues=write", "delete_label": "issues=write", "create_milestone": "issues=write",
    "update_milestone": "issues=write", "delete_milestone": "issues=write", "create_release": "contents=write",
    "update_release": "contents=write", "delete_release": "contents=write", "upload_release_asset": "contents=write",
    "update_release_asset": "contents=write", "delete_release_asset": "contents=write",
    "dispatch_workflow": "actions=write",
    "rerun_workflow_run": "actions=write", "cancel_workflow_run": "actions=write",
}  # fmt: skip


def furnish(app: GitHubApp) -> None:
    """Put everything there that the tables of writes name."""
    world, home, at = app.github.world, app.app, app.app.created
    issue = world.issue(home, "One", "mona")
    issue.comments.append(Comment(1, "mona", "Mine", at))
    home.parts.labels["l"] = Label("l")
    home.parts.milestones[1] = Milestone(1, "M")
    home.releases.append(Release("v0", None, None, at, id=1, assets=[Asset(1, "a.txt", b"x")]))
    home.parts.workflows.append(Workflow(1, "CI", ".github/workflows/ci.yml", inputs={}))
    home.runs.append(Run(1, "CI", "main", home.branches["main"], "push", "completed", "success", "mona", at))


@pytest.mark.parametrize("tool", NEEDED)
async def test_a_right_that_lacks_is_named(app: GitHubApp, tool: str) -> None:
    furnish(app)
    params = WRITES[tool]
    app.github.world.token("fine", "eve", scopes=None, writes=False)
    with pytest.raises(VendorProblem, match=f"this needs the permission {NEEDED[tool]}") as caught:
        await app.caller("fine").call(tool, **APP, **params)
    assert caught.value.kind == "forbidden"
    app.github.world.token("narrow", "eve", scopes=frozenset({"read:user"}))
    with pytest.raises(VendorProblem, match="this needs the scope public_repo or repo, and the token has read:user"):
        await app.caller("narrow").call(tool, **APP, **params)
    if tool != "cancel_workflow_run":  # nothing is running
        await app.hubot.call(tool, **APP, **params)


LISTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "list_workflows": ({}, "workflows", "workflows"),
    "list_workflow_jobs": ({"run_id": 1}, "jobs", "jobs"),
    "list_review_comments": ({"pull_number": 1}, "", "comments"),
    "list_labels": ({}, "", "labels"),
    "list_milestones": ({}, "", "milestones"),
    "list_sub_issues": ({"issue_number": 1}, "", "sub_issues"),
    "list_tags": ({}, "", "tags"),
    "list_releases": ({}, "", "releases"),
    "list_release_assets": ({"release_id": 1}, "", "assets"),
}


@pytest.mark.parametrize("tool", LISTS)
async def test_rows_that_lack_fields_or_are_none(app: GitHubApp, tool: str) -> None:
    """A field of another type costs that field, and a row that is none is counted."""
    params, field, shown = LISTS[tool]
    rows: list[Any] = [
        {"name": "n", "title": "t", "tag_name": "v", "path": "p", "id": "x", "line": "x", "made_up": {"a": [1]}}, 5, {}
    ]  # fmt: skip
    app.github.next_answers = [Reply(200, {field: rows} if field else rows)]
    found = await app.mona.call(tool, **APP, **params)
    assert (len(found[shown]), found["unreadable"]) == (1, 2)
    assert "id" not in found[shown][0]
    assert {"n", "t", "v", "p"} & set(map(str, found[shown][0].values()))


async def test_checks_of_which_much_is_missing(app: GitHubApp) -> None:
    run = {"name": "build", "status": 3, "app": None, "output": None}
    app.github.next_answers = [Reply(200, {"check_runs": [run, 5]}), Reply(200, {"sha": "abc", "statuses": [None]})]
    with pytest.raises(VendorProblem, match="does not have the documented form"):
        await app.mona.call("get_checks", **APP, ref="main")
    app.github.next_answers = [Reply(200, {"check_runs": [run, 5]})] * 2
    app.github.next_answers[1] = Reply(200, {"check_runs": [run], "sha": "abc", "statuses": []})
    found = await app.mona.call("get_checks", **APP, ref="main")
    assert found["check_runs"] == [{"name": "build", "status": ""}]


IDS = {
    "run_id": ("list_workflow_jobs", {}),
    "comment_id": ("get_issue_comment", {}),
    "release_id": ("delete_release", {}),
    "asset_id": ("get_release_asset", {}),
    "job_id": ("get_job_logs", {}),
    "milestone_number": ("delete_milestone", {}),
    "pull_number": ("list_review_comments", {}),
    "issue_number": ("list_sub_issues", {}),
    "sub_issue_number": ("add_sub_issue", {"issue_number": 1}),
}


@pytest.mark.parametrize("name", IDS)
async def test_ids_that_are_none_are_never_sent(app: GitHubApp, name: str) -> None:
    tool, more = IDS[name]
    for value in (0, -1, "7", 1.5, True, None, 2**60):
        with pytest.raises(ValidationError, match=name):
            await app.mona.call(tool, **{**APP, **more, name: value})
    assert app.github.seen == []


async def test_a_cursor_is_good_for_its_list_only(app: GitHubApp) -> None:
    app.app.tags = {f"v{n}": app.app.branches["main"] for n in range(3)}
    cursor = (await app.mona.call("list_tags", **APP, per_page=1))["nextCursor"]
    app.github.seen.clear()
    for tool, params in [*((tool, params) for tool, (params, *_) in LISTS.items()), ("get_checks", {"ref": "main"})]:
        if tool != "list_tags":
            with pytest.raises(Exception, match="cursor was not returned by this tool"):
                await app.mona.call(tool, **APP, **params, cursor=cursor)
    assert app.github.seen == []
