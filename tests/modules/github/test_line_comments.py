"""Comments on lines of a pull request, their threads, and who is asked to review."""

import pytest
from pydantic import ValidationError

from modules.kit import ToolError, VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.parts import LineComment
from tests.support.github_double.world import Pull

APP = {"owner": "mona", "repo": "app"}
ONE = {**APP, "pull_number": 1}


@pytest.fixture
def pull(app: GitHubApp) -> Pull:
    """hubot's pull request, with a thread of eve's on its only line."""
    made = Pull("dev", "main")
    app.github.world.commit(app.app, {"src/main.py": b"print('two')\n"}, branch="dev")
    app.github.world.issue(app.app, "Two", "hubot", pull=made)
    made.line_comments.append(LineComment(40, "eve", "src/main.py", 1, "Why?", "2026-01-01T00:00:00Z"))
    return made


async def test_a_thread_from_its_first_comment_to_its_end(app: GitHubApp, pull: Pull) -> None:
    said = await app.hubot.call("reply_to_review_comment", **ONE, comment_id=40, body="なぜなら")
    assert said == {"id": said["id"], "html_url": f"https://github.test/r/{said['id']}"}
    await app.hubot.call("update_review_comment", **APP, comment_id=said["id"], body="やめました <!-- hidden -->")
    found = await app.mona.call("list_review_comments", **ONE)
    assert found == {
        "comments": [
            {
                "id": 40, "path": "src/main.py", "line": 1, "user": "eve", "created_at": "2026-01-01T00:00:00Z",
                "body": "Why?",
            },
            {
                "id": said["id"], "in_reply_to": 40, "path": "src/main.py", "line": 1, "user": "hubot",
                "created_at": pull.line_comments[1].at, "body": "やめました ",
            },
        ]
    }  # fmt: skip
    assert await app.hubot.call("delete_review_comment", **APP, comment_id=said["id"]) == {"done": True}
    assert [one.id for one in pull.line_comments] == [40]
    for tool, more in (("update_review_comment", {"body": "x"}), ("delete_review_comment", {})):
        with pytest.raises(VendorProblem, match="no such comment on a pull request's lines; it may be deleted"):
            await app.hubot.call(tool, **APP, comment_id=said["id"], **more)


async def test_only_the_first_comment_of_a_thread_can_be_replied_to(app: GitHubApp, pull: Pull) -> None:
    said = await app.hubot.call("reply_to_review_comment", **ONE, comment_id=40, body="Because")
    with pytest.raises(VendorProblem, match="no such comment on a pull request's lines"):
        await app.hubot.call("reply_to_review_comment", **ONE, comment_id=said["id"], body="More")
    with pytest.raises(VendorProblem, match="refuses the values: body missing_field"):
        await app.hubot.call("reply_to_review_comment", **ONE, comment_id=40, body=" ")
    with pytest.raises(VendorProblem, match="the connected account may not do this"):
        await app.eve.call("delete_review_comment", **APP, comment_id=said["id"])
    assert len(pull.line_comments) == 2


async def test_lines_that_a_comment_is_about(app: GitHubApp, pull: Pull) -> None:
    hunk = "@@ -1,120 +1,120 @@\n" + "".join(f"+line {n:03}\n" for n in range(120)) + "+the\u202e line"
    pull.line_comments = [
        LineComment(41, "eve", "a", 90, "Here", "2026-01-01T00:00:00Z", 80, hunk=hunk),
        LineComment(42, None, "a", 3, "There", "2026-01-01T00:00:00Z", side="LEFT"),
        LineComment(43, "eve", "a", None, "Once", "2026-01-01T00:00:00Z"),
    ]
    plain = (await app.mona.call("list_review_comments", **ONE))["comments"]
    assert [(one.get("start_line"), one.get("line"), one.get("side"), one.get("user")) for one in plain] == [
        (80, 90, None, "eve"), (None, 3, "LEFT", None), (None, None, None, "eve"),
    ]  # fmt: skip
    shown = (await app.mona.call("list_review_comments", **ONE, hunks=True))["comments"]
    assert shown[0]["diff_hunk"].endswith("+line 119\n+the line"), "the end is what the comment is about"
    assert len(shown[0]["diff_hunk"]) == 999
    assert "truncated" not in shown[0]
    assert not any("diff_hunk" in one for one in plain)


async def test_comments_page_by_page(app: GitHubApp, pull: Pull) -> None:
    pull.line_comments = [LineComment(n, "eve", "a", n, "x" * 40_000, "2026-01-01T00:00:00Z") for n in (1, 2, 3)]
    first = await app.mona.call("list_review_comments", **ONE, per_page=2)
    assert [(len(one["body"]), one.get("truncated", False)) for one in first["comments"]] == [
        (40_000, False), (25_536, True),
    ]  # fmt: skip
    rest = await app.mona.call("list_review_comments", **ONE, cursor=first["nextCursor"])
    assert ([one["id"] for one in rest["comments"]], "nextCursor" in rest) == ([3], False)
    pull.line_comments.clear()
    assert await app.mona.call("list_review_comments", **ONE) == {"comments": []}
    with pytest.raises(VendorProblem, match="GitHub has no such resource"):
        await app.mona.call("list_review_comments", **APP, pull_number=9)


async def test_a_review_of_several_lines(app: GitHubApp, pull: Pull) -> None:
    line = {"path": "src/main.py", "line": 3, "body": "All of this"}
    comments = [{**line, "start_line": 1}, {**line, "start_line": 2, "side": "LEFT"}, line]
    await app.mona.call("create_pull_request_review", **ONE, event="COMMENT", comments=comments)
    assert [(one.start_line, one.line, one.side) for one in pull.line_comments[1:]] == [
        (1, 3, "RIGHT"), (2, 3, "LEFT"), (None, 3, "RIGHT"),
    ]  # fmt: skip
    with pytest.raises(ToolError, match="comments: start_line has to be above line"):
        await app.mona.call("create_pull_request_review", **ONE, event="COMMENT", comments=[{**line, "start_line": 3}])
    with pytest.raises(ValidationError, match="side"):
        await app.mona.call("create_pull_request_review", **ONE, event="COMMENT", comments=[{**line, "side": "UP"}])


async def test_reviewers_are_asked_and_no_longer_asked(app: GitHubApp, pull: Pull) -> None:
    asked = await app.hubot.call("request_reviewers", **ONE, reviewers=["mona"], team_reviewers=["core"])
    assert asked == {"number": 1, "reviewers": ["mona"], "team_reviewers": ["core"]}
    left = await app.hubot.call("request_reviewers", **ONE, team_reviewers=["core"], remove=True)
    assert left == {"number": 1, "reviewers": ["mona"]}
    none = await app.hubot.call("request_reviewers", **ONE, reviewers=["mona"], remove=True)
    assert none == {"number": 1}
    for given, text in (
        ({"reviewers": ["hubot"]}, "the author of a pull request cannot review it"),
        ({"reviewers": ["eve"]}, "reviewers must be collaborators: one of these accounts or teams is not"),
        ({"team_reviewers": ["nobody"]}, "reviewers must be collaborators: one of these accounts or teams is not"),
    ):
        with pytest.raises(VendorProblem, match=text):
            await app.hubot.call("request_reviewers", **ONE, **given)
    with pytest.raises(ToolError, match=r"nothing to change: give at least one of reviewers, team_reviewers$"):
        await app.hubot.call("request_reviewers", **ONE)
    with pytest.raises(VendorProblem, match="the connected account may not do this"):
        await app.eve.call("request_reviewers", **ONE, reviewers=["mona"])
    with pytest.raises(ValidationError, match="reviewers"):
        await app.hubot.call("request_reviewers", **ONE, reviewers=["not a login"])
    assert pull.reviewers == []
