"""The module through the product's own vendor session: what a session makes of paths, headers and refusals fits."""

import pytest

from modules.kit import VendorProblem
from tests.modules.github.conftest import GitHubApp

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
