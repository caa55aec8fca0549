"""Single comments on issues, sub-issues, labels and milestones."""

import pytest
from pydantic import ValidationError

from modules.kit import ToolError, VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.parts import Label, Milestone
from tests.support.github_double.world import Comment

APP = {"owner": "mona", "repo": "app"}


async def test_one_comment_read_whole_changed_and_deleted(app: GitHubApp) -> None:
    issue = app.github.world.issue(app.app, "Talk", "eve")
    issue.comments.append(Comment(5, "eve", "x" * 65_000, issue.created))
    one = {**APP, "comment_id": 5}
    assert await app.mona.call("get_issue_comment", **one) == {
        "id": 5, "user": "eve", "created_at": issue.created, "updated_at": issue.created, "body": "x" * 65_000,
        "html_url": "https://github.test/comments/5",
    }  # fmt: skip
    saved = await app.eve.call("update_issue_comment", **one, body="短く")
    assert (saved, issue.comments[0].body) == ({"id": 5, "html_url": "https://github.test/comments/5"}, "短く")
    with pytest.raises(VendorProblem, match="refuses the values: body missing_field"):
        await app.eve.call("update_issue_comment", **one, body=" ")
    assert await app.hubot.call("delete_issue_comment", **one) == {"done": True}, "who may write may delete"
    for tool, more in (
        ("get_issue_comment", {}),
        ("update_issue_comment", {"body": "b"}),
        ("delete_issue_comment", {}),
    ):
        with pytest.raises(VendorProblem, match="no such comment; it may be deleted, or be one on a pull request's"):
            await app.eve.call(tool, **one, **more)


async def test_somebody_elses_comment(app: GitHubApp) -> None:
    issue = app.github.world.issue(app.app, "Talk", "mona")
    issue.comments.append(Comment(5, "mona", "Mine", issue.created))
    for tool, more in (("update_issue_comment", {"body": "b"}), ("delete_issue_comment", {})):
        with pytest.raises(VendorProblem, match="the connected account may not do this"):
            await app.eve.call(tool, **APP, comment_id=5, **more)
    assert issue.comments[0].body == "Mine"


async def test_sub_issues_of_two_repositories(app: GitHubApp) -> None:
    world = app.github.world
    world.issue(app.app, "Whole", "mona")
    world.issue(app.app, "Part", "mona", body="x" * 400)
    world.issue(app.secret, "Hidden part", "mona", state="closed")
    parent = {**APP, "issue_number": 1}
    assert await app.mona.call("list_sub_issues", **parent) == {"sub_issues": []}
    assert await app.mona.call("add_sub_issue", **parent, sub_issue_number=2) == {"done": True}
    assert await app.mona.call("add_sub_issue", **parent, sub_issue_number=1, sub_repo="secret") == {"done": True}
    first = await app.mona.call("list_sub_issues", **parent, per_page=1)
    [part] = first["sub_issues"]
    assert (part["repository"], part["number"], len(part["body"]), part["truncated"]) == ("mona/app", 2, 300, True)
    rest = await app.mona.call("list_sub_issues", **parent, cursor=first["nextCursor"])
    assert [(one["repository"], one["number"], one["state"]) for one in rest["sub_issues"]] == [
        ("mona/secret", 1, "closed")
    ]
    assert "nextCursor" not in rest
    assert await app.mona.call("remove_sub_issue", **parent, sub_issue_number=2) == {"done": True}
    assert app.app.issues[1].sub_issues == [app.secret.issues[1].id]


async def test_what_cannot_be_a_sub_issue(app: GitHubApp) -> None:
    for title in ("Whole", "Part", "Other"):
        app.github.world.issue(app.app, title, "mona")
    parent = {**APP, "issue_number": 1}
    await app.mona.call("add_sub_issue", **parent, sub_issue_number=2)
    for given, text in (
        ({"sub_issue_number": 2}, "that issue is a sub-issue of this or another one already"),
        ({"issue_number": 3, "sub_issue_number": 2}, "that issue is a sub-issue of this or another one already"),
        ({"sub_issue_number": 9}, "sub_issue_number: there is no issue 9, or the connected account may not see it"),
        ({"sub_issue_number": 1, "sub_repo": "secret"}, "sub_issue_number: there is no issue 1, or the connected"),
        ({"issue_number": 9, "sub_issue_number": 2}, "GitHub has no such resource"),
    ):
        with pytest.raises(VendorProblem, match=text):
            await app.mona.call("add_sub_issue", **{**parent, **given})
    with pytest.raises(VendorProblem, match="no such issue, or it is no part of that one"):
        await app.mona.call("remove_sub_issue", **parent, sub_issue_number=3)
    assert app.app.issues[1].sub_issues == [app.app.issues[2].id]


@pytest.mark.parametrize("name", ["bug", "優先度/高 🔥", "ui & ux?", "50%"])
async def test_a_label_from_its_making_to_its_end(app: GitHubApp, name: str) -> None:
    assert await app.mona.call("list_labels", **APP) == {"labels": []}
    made = await app.hubot.call("create_label", **APP, name=name, color="#D73A4A", description="壊れている")
    assert made == {"name": name, "color": "d73a4a", "description": "壊れている"}
    app.github.world.issue(app.app, "One", "eve", labels=[name])
    changed = await app.hubot.call("update_label", **APP, name=name, new_name="defect", color="000000")
    assert changed == {"name": "defect", "color": "000000", "description": "壊れている"}
    assert app.app.issues[1].labels == ["defect"]
    await app.hubot.call("update_label", **APP, name="defect", new_name=name)
    assert await app.hubot.call("delete_label", **APP, name=name) == {"done": True}
    assert (app.app.parts.labels, app.app.issues[1].labels) == ({}, [])


async def test_labels_page_by_page(app: GitHubApp) -> None:
    app.app.parts.labels = {name: Label(name) for name in ("a", "b", "c")}
    first = await app.mona.call("list_labels", **APP, per_page=2)
    assert first["labels"] == [{"name": "a", "color": "ededed"}, {"name": "b", "color": "ededed"}]
    rest = await app.mona.call("list_labels", **APP, cursor=first["nextCursor"])
    assert ([one["name"] for one in rest["labels"]], "nextCursor" in rest) == (["c"], False)


async def test_labels_that_github_does_not_take(app: GitHubApp) -> None:
    app.app.parts.labels = {name: Label(name) for name in ("a", "b")}
    with pytest.raises(VendorProblem, match="refuses the values: name already_exists"):
        await app.hubot.call("create_label", **APP, name="a")
    with pytest.raises(VendorProblem, match="refuses the values: name already_exists"):
        await app.hubot.call("update_label", **APP, name="a", new_name="b")
    with pytest.raises(VendorProblem, match="no such label"):
        await app.hubot.call("update_label", **APP, name="z", color="ffffff")
    with pytest.raises(VendorProblem, match="no such label; it may be deleted already"):
        await app.hubot.call("delete_label", **APP, name="z")
    with pytest.raises(ToolError, match=r"nothing to change: give at least one of new_name, color, description$"):
        await app.hubot.call("update_label", **APP, name="a")
    app.github.seen.clear()
    for given in ({"color": "red"}, {"color": "d73a4"}, {"description": "x" * 101}, {"name": ""}, {"name": "x" * 51}):
        with pytest.raises(ValidationError, match=next(iter(given))):
            await app.hubot.call("create_label", **{**APP, "name": "c", **given})
    assert app.github.seen == []


async def test_labels_of_an_issue(app: GitHubApp) -> None:
    app.github.world.issue(app.app, "One", "eve", labels=["bug"])
    one = {**APP, "issue_number": 1}
    assert await app.hubot.call("add_issue_labels", **one, labels=["bug", "機能/検索"]) == {
        "labels": ["bug", "機能/検索"]
    }
    assert await app.hubot.call("remove_issue_label", **one, name="機能/検索") == {"labels": ["bug"]}
    assert await app.hubot.call("remove_issue_label", **one, name="bug") == {"labels": []}
    with pytest.raises(VendorProblem, match="no such issue, or it does not have this label"):
        await app.hubot.call("remove_issue_label", **one, name="bug")
    with pytest.raises(VendorProblem, match="GitHub has no such resource"):
        await app.hubot.call("add_issue_labels", **APP, issue_number=9, labels=["bug"])
    for labels in ([], ["x"] * 101, [""], "bug"):
        with pytest.raises(ValidationError, match="labels"):
            await app.hubot.call("add_issue_labels", **one, labels=labels)


async def test_a_milestone_from_its_making_to_its_end(app: GitHubApp) -> None:
    assert await app.mona.call("list_milestones", **APP) == {"milestones": []}
    made = await app.hubot.call("create_milestone", **APP, title="一", description="First", due_on="2026-02-28")
    assert made == {"number": 1, "title": "一", "state": "open", "description": "First", "due_on": "2026-02-28"}
    app.github.world.issue(app.app, "One", "eve", milestone=1)
    app.github.world.issue(app.app, "Two", "eve", milestone=1, state="closed")
    changed = await app.hubot.call("update_milestone", **APP, milestone_number=1, state="closed", due_on="2026-03-01")
    assert changed == {
        "number": 1, "title": "一", "state": "closed", "description": "First", "due_on": "2026-03-01",
        "open_issues": 1, "closed_issues": 1,
    }  # fmt: skip
    assert await app.mona.call("list_milestones", **APP) == {"milestones": []}
    assert (await app.mona.call("list_milestones", **APP, state="closed"))["milestones"] == [changed]
    assert await app.hubot.call("delete_milestone", **APP, milestone_number=1) == {"done": True}
    for tool, more in (("update_milestone", {"title": "t"}), ("delete_milestone", {})):
        with pytest.raises(VendorProblem, match="no such milestone; it may be deleted"):
            await app.hubot.call(tool, **APP, milestone_number=1, **more)


async def test_milestones_page_by_page_with_long_descriptions(app: GitHubApp) -> None:
    app.app.parts.milestones = {n: Milestone(n, f"M{n}", description="x" * 25_000) for n in range(1, 6)}
    first = await app.mona.call("list_milestones", **APP, per_page=4)
    lengths = [(len(one.get("description", "")), one["truncated"]) for one in first["milestones"]]
    assert lengths == [(20_000, True), (20_000, True), (20_000, True), (0, True)]
    rest = await app.mona.call("list_milestones", **APP, cursor=first["nextCursor"])
    assert ([one["number"] for one in rest["milestones"]], "nextCursor" in rest) == ([5], False)


async def test_milestones_that_github_does_not_take(app: GitHubApp) -> None:
    app.app.parts.milestones = {1: Milestone(1, "M")}
    with pytest.raises(VendorProblem, match="refuses the values: title already_exists"):
        await app.hubot.call("create_milestone", **APP, title="M")
    with pytest.raises(ToolError, match="nothing to change: give at least one of title, description, due_on, state"):
        await app.hubot.call("update_milestone", **APP, milestone_number=1)
    app.github.seen.clear()
    for due in ("2026-02-29", "tomorrow", "2026-02-28T10:00:00Z"):
        with pytest.raises(ValidationError, match="due_on"):
            await app.hubot.call("create_milestone", **APP, title="N", due_on=due)
    assert app.github.seen == []


async def test_labels_of_several_issues(app: GitHubApp) -> None:
    for number in range(1, 4):
        app.github.world.issue(app.app, f"Issue {number}", "mona")
    both = {**APP, "issue_numbers": [1, 2, 9, 1]}
    first = await app.mona.call("change_issue_labels", **both, add=["bug", "機能"])
    assert first["issues"] == [{"number": 1, "labels": ["bug", "機能"]}, {"number": 2, "labels": ["bug", "機能"]}]
    [failed] = first["failed"]
    assert (failed["item"], "no such issue" in failed["error"]) == ("9", True)
    # A label that an issue does not have is removed already, and one in both is there afterwards.
    again = {**APP, "issue_numbers": [1, 3]}
    assert await app.mona.call("change_issue_labels", **again, add=["機能"], remove=["bug", "機能"]) == {
        "issues": [{"number": 1, "labels": ["機能"]}, {"number": 3, "labels": ["機能"]}]
    }
    assert await app.mona.call("change_issue_labels", **again, remove=["機能"]) == {
        "issues": [{"number": 1, "labels": []}, {"number": 3, "labels": []}]
    }
    with pytest.raises(ToolError, match=r"nothing was changed\. 8: no such issue.*; 9: no such issue"):
        await app.mona.call("change_issue_labels", **APP, issue_numbers=[8, 9], remove=["bug"])
    with pytest.raises(ToolError, match="nothing to change"):
        await app.mona.call("change_issue_labels", **again)
    for wrong in ([], [0], list(range(1, 52))):
        with pytest.raises(ValidationError):
            await app.mona.call("change_issue_labels", **APP, issue_numbers=wrong, add=["bug"])
