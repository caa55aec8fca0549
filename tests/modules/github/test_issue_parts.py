"""Single comments on issues, and sub-issues."""

import pytest

from modules.kit import VendorProblem
from tests.modules.github.conftest import GitHubApp
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
