"""Issues and comments."""

import pytest
from pydantic import ValidationError

from modules.kit import ToolError, VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.world import Comment, Pull

APP = {"owner": "mona", "repo": "app"}


async def test_an_issue_from_its_opening_to_its_end(app: GitHubApp) -> None:
    opened = await app.eve.call("create_issue", **APP, title="壊れた 🐛", body="Steps:\r\n1. …")
    assert (opened["number"], opened["state"]) == (1, "open")
    await app.hubot.call(
        "update_issue",
        **APP,
        issue_number=1,
        labels=["bug"],
        assignees=["hubot"],
        state="closed",
        state_reason="completed",
    )
    said = await app.eve.call("add_issue_comment", **APP, issue_number=1, body="ありがとう")
    assert said["html_url"].startswith("https://")
    found = await app.mona.call("get_issue", **APP, issue_number=1, comments=True)
    one = app.app.issues[1]
    assert found == {
        "issue": {
            "number": 1, "title": "壊れた 🐛", "state": "closed", "state_reason": "completed", "user": "eve",
            "labels": ["bug"], "assignees": ["hubot"], "comments": 1, "body": "Steps:\n1. …",
            "created_at": one.created, "updated_at": one.updated, "html_url": "https://github.test/mona/app/issues/1",
        },
        "comments": [{"id": said["id"], "user": "eve", "created_at": one.comments[0].at, "body": "ありがとう"}],
    }  # fmt: skip


async def test_a_list_leaves_pull_requests_out(app: GitHubApp) -> None:
    world = app.github.world
    world.issue(app.app, "One", "eve", labels=["bug", "ui"], body="x" * 400)
    world.commit(app.app, {"a": b"1"}, branch="dev")
    world.issue(app.app, "Two", None, pull=Pull("dev", "main"), assignees=["hubot"])
    world.issue(app.app, "Three", "eve", state="closed")
    world.issue(app.app, "Four", None, assignees=["hubot"])
    found = (await app.mona.call("list_issues", **APP))["issues"]
    assert [one["number"] for one in found] == [4, 1]
    assert "user" not in found[0]
    assert (len(found[1]["body"]), found[1]["truncated"]) == (300, True)
    for asked, numbers in (
        ({"state": "all"}, [4, 3, 1]),
        ({"state": "closed"}, [3]),
        ({"labels": ["bug", "ui"]}, [1]),
        ({"assignee": "hubot"}, [4]),
        ({"assignee": "none"}, [1]),
        ({"creator": "eve"}, [1]),
        ({"since": app.app.issues[2].updated}, [4]),
        ({"sort": "updated", "per_page": 1}, [4]),
        ({"sort": "created", "direction": "asc"}, [1, 4]),
    ):
        found = await app.mona.call("list_issues", **APP, **asked)
        assert [one["number"] for one in found["issues"]] == numbers, asked


async def test_comments_page_by_page(app: GitHubApp) -> None:
    one = app.github.world.issue(app.app, "Talk", "eve")
    one.comments += [Comment(n, "eve", f"Comment {n}", one.created) for n in range(1, 6)]
    first = await app.mona.call("get_issue", **APP, issue_number=1, comments=True, per_page=3)
    rest = await app.mona.call("get_issue", **APP, issue_number=1, comments=True, cursor=first["nextCursor"])
    assert [said["id"] for page in (first, rest) for said in page["comments"]] == [1, 2, 3, 4, 5]
    assert "nextCursor" not in rest


async def test_long_comments_share_the_room_of_a_page(app: GitHubApp) -> None:
    one = app.github.world.issue(app.app, "Talk", "eve")
    one.comments += [Comment(n, "eve", "x" * 25_000, one.created) for n in range(4)]
    found = await app.mona.call("get_issue", **APP, issue_number=1, comments=True)
    assert [len(said.get("body", "")) for said in found["comments"]] == [20_000, 20_000, 20_000, 0]
    assert all(said["truncated"] for said in found["comments"])


async def test_what_may_be_left_out_of_a_change(app: GitHubApp) -> None:
    app.github.world.issue(app.app, "Title", "eve", body="Body", labels=["bug"])
    await app.hubot.call("update_issue", **APP, issue_number=1, labels=[], body="")
    one = app.app.issues[1]
    assert (one.title, one.body, one.labels, one.state) == ("Title", "", [], "open")
    with pytest.raises(ToolError, match="nothing to change: give at least one of title, body, state"):
        await app.hubot.call("update_issue", **APP, issue_number=1)


async def test_values_that_github_refuses_are_named(app: GitHubApp) -> None:
    with pytest.raises(VendorProblem, match=r"refuses the values: assignees invalid$") as caught:
        await app.mona.call("create_issue", **APP, title="t", assignees=["eve"])
    assert caught.value.kind == "invalid"
    with pytest.raises(VendorProblem, match=r"refuses the values: title missing_field$"):
        await app.mona.call("create_issue", **APP, title=" ")


async def test_no_such_issue_and_issues_switched_off(app: GitHubApp) -> None:
    with pytest.raises(VendorProblem, match="GitHub has no such resource"):
        await app.mona.call("get_issue", **APP, issue_number=9)
    app.app.has_issues = False
    with pytest.raises(VendorProblem, match="issues are switched off in this repository"):
        await app.mona.call("create_issue", **APP, title="t")


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", ""), ("title", "x" * 257), ("body", "x" * 65_537), ("labels", ["x"] * 101), ("issue_number", 0)],
)
async def test_limits_of_what_is_sent(app: GitHubApp, field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        await app.mona.call("update_issue", **{**APP, "issue_number": 1, field: value})
    assert app.github.seen == []
