"""The module through the product's own vendor session: what a session makes of paths, headers and refusals fits."""

import pytest

from modules.github import MODULE
from modules.kit import OUTCOME_UNKNOWN, VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.modules.github.write_tables import CONFIRMED_WRITES, FURTHER_WRITES
from tests.support.github_double.call import Reply

APP = {"owner": "mona", "repo": "app"}


@pytest.fixture
def app(session_app: GitHubApp) -> GitHubApp:
    return session_app


@pytest.mark.parametrize("path", ["docs/手順 1.md", ".github/CODEOWNERS", "a+b&c=d#e?f", "50%", "x;y", "~/.profile"])
async def test_files_of_any_name_are_written_and_read(app: GitHubApp, path: str) -> None:
    made = await app.mona.call("create_or_update_file", **APP, path=path, message="m", content="一\n")
    found = await app.mona.call("get_file_contents", **APP, path=path)
    assert (found["text"], found["sha"]) == ("一\n", made["sha"])
    assert await app.mona.call("delete_file", **APP, path=path, message="m", sha=made["sha"])


async def test_a_branch_a_pull_request_and_its_merge(app: GitHubApp) -> None:
    await app.mona.call("create_branch", **APP, branch="feature/検索")
    given = {**APP, "path": "a", "message": "m", "content": "x", "branch": "feature/検索"}
    await app.mona.call("create_or_update_file", **given)
    opened = await app.mona.call("create_pull_request", **APP, title="t", head="feature/検索", base="main")
    one = {**APP, "pull_number": opened["number"]}
    assert (await app.mona.call("get_pull_request", **one, include="files"))["files"][0]["filename"] == "a"
    assert (await app.mona.call("merge_pull_request", **one))["merged"]
    with pytest.raises(VendorProblem, match="cannot be merged now"):
        await app.mona.call("merge_pull_request", **one)


async def test_pages_and_queries(app: GitHubApp) -> None:
    for n in range(3):
        app.github.world.issue(app.app, f"Issue {n}", "eve", labels=["ui & ux"])
    first = await app.mona.call("list_issues", **APP, labels=["ui & ux"], per_page=2)
    rest = await app.mona.call("list_issues", **APP, labels=["ui & ux"], cursor=first["nextCursor"])
    assert [one["number"] for page in (first, rest) for one in page["issues"]] == [3, 2, 1]
    assert (await app.mona.call("search_code", q="print repo:mona/app"))["items"][0]["path"] == "src/main.py"
    assert (await app.mona.call("list_branches", **APP, protected=False))["branches"]


async def test_refusals_keep_their_kind_and_get_their_text(app: GitHubApp) -> None:
    for kind, text, call in (
        ("not_found", "GitHub has no such resource", app.eve.call("list_issues", owner="mona", repo="secret")),
        ("forbidden", "may not do this", app.eve.call("create_branch", **APP, branch="x")),
        ("invalid", "title missing_field", app.mona.call("create_issue", **APP, title=" ")),
        ("unauthorized", "does not accept the credential", app.caller("stolen").call("get_me")),
    ):
        with pytest.raises(VendorProblem, match=text) as caught:
            await call
        assert caught.value.kind == kind


async def test_a_renamed_repository_is_read_and_a_write_to_it_names_the_new_one(app: GitHubApp) -> None:
    app.github.world.moved |= {"mona/old": app.app, "mona/gone": app.github.world.repository("eve", "x", private=True)}
    assert (await app.mona.call("list_branches", owner="mona", repo="old"))["branches"]
    with pytest.raises(VendorProblem, match=r"renamed or moved, and nothing was changed: it is now mona/app$"):
        await app.mona.call("create_issue", owner="mona", repo="old", title="t")
    with pytest.raises(VendorProblem, match=r"nothing was changed: look for its new name and use that$"):
        await app.mona.call("create_issue", owner="mona", repo="gone", title="t")
    assert app.app.issues == {}


async def test_rate_limits_of_both_kinds(app: GitHubApp) -> None:
    app.github.slow_down(retry_after=30)
    with pytest.raises(VendorProblem, match="send fewer requests at once; try again in 30 s") as caught:
        await app.mona.call("list_branches", **APP)
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limited", 30.0)
    app.github.world.tokens["hubot-token"].remaining = 0
    with pytest.raises(VendorProblem, match=r"rate limit \(core\) .* used up; try again in 3600 s") as caught:
        await app.hubot.call("list_branches", **APP)
    assert caught.value.kind == "rate_limited"
    asked = len(app.github.seen)
    with pytest.raises(VendorProblem, match="rate limit for this credential is used up"):
        await app.hubot.call("list_branches", **APP)
    assert len(app.github.seen) == asked


@pytest.mark.parametrize("status", [403, 429])
async def test_a_secondary_limit_without_a_time_is_remembered(app: GitHubApp, status: int) -> None:
    app.github.slow_down(status, retry_after=None)
    with pytest.raises(VendorProblem, match="try again in 60 s"):
        await app.mona.call("list_branches", **APP)
    asked = len(app.github.seen)
    for tool in ("list_branches", "create_issue"):
        more = {"title": "t"} if tool == "create_issue" else {}
        with pytest.raises(VendorProblem, match="try again in 60 s") as caught:
            await app.mona.call(tool, **APP, **more)
        assert caught.value.kind == "rate_limited"
    assert len(app.github.seen) == asked, "the next calls cost no request"
    assert (await app.hubot.call("list_branches", **APP))["branches"], "somebody else's limit is their own"


WRITES: dict[str, dict[str, object]] = {
    "create_issue": {"title": "t"},
    "create_github_issue": {"owner": None, "repo": "mona/app", "title": "t", "body": "b"},
    "update_issue": {"issue_number": 1, "title": "t"},
    "add_issue_comment": {"issue_number": 1, "body": "b"},
    "create_pull_request": {"title": "t", "head": "h", "base": "main"},
    "update_pull_request": {"pull_number": 1, "title": "t"},
    "merge_pull_request": {"pull_number": 1},
    "create_pull_request_review": {"pull_number": 1, "event": "APPROVE"},
    "create_branch": {"branch": "b"},
    "create_or_update_file": {"path": "a", "message": "m", "content": "c"},
    "delete_file": {"path": "a", "message": "m", "sha": "0" * 40},
}
TRIED_ELSEWHERE = {"push_files", "delete_branch", "update_pull_request_branch", "mark_notification_read"}
TRIED_ELSEWHERE |= FURTHER_WRITES.keys() | CONFIRMED_WRITES.keys()


def test_every_writing_tool_is_here() -> None:
    assert set(WRITES) | TRIED_ELSEWHERE == {tool.name for tool in MODULE.tools if not tool.hints.read_only}


@pytest.mark.parametrize("tool", WRITES)
async def test_a_write_whose_answer_cannot_be_read_is_never_asked_for_again(app: GitHubApp, tool: str) -> None:
    """A proxy's page, nothing at all, and an answer that lacks what GitHub describes."""
    found = Reply(200, text=next(iter(app.app.commits)))  # create_branch asks for the commit first
    params = {name: value for name, value in {**APP, **WRITES[tool]}.items() if value is not None}
    for reply in (Reply(201, text="<html>Sign in to the guest network</html>"), Reply(201, text=""), Reply(201, {})):
        app.github.next_answers = [found, reply] if tool == "create_branch" else [reply]
        app.github.seen.clear()
        with pytest.raises(VendorProblem) as caught:
            await app.mona.call(tool, **params)
        assert OUTCOME_UNKNOWN in str(caught.value)
        assert "try again later" not in str(caught.value)
        assert sum(not one.startswith("GET") for one in app.github.seen) == 1
