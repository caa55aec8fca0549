"""Pull requests from their opening to the merge."""

from typing import Any

import pytest

from modules.kit import ToolError, VendorProblem
from tests.modules.github.conftest import GitHubApp

APP = {"owner": "mona", "repo": "app"}
ONE = {**APP, "pull_number": 1}


async def opened(app: GitHubApp, **more: Any) -> dict[str, Any]:
    app.github.world.commit(app.app, {"src/main.py": b"print('two')\n"}, "Two", branch="dev", parents=None)
    return await app.hubot.call("create_pull_request", **APP, title="Two", head="dev", base="main", **more)


@pytest.fixture
async def pulled(app: GitHubApp) -> GitHubApp:
    await app.hubot.call("create_branch", **APP, branch="dev")
    await opened(app, body="Why\x00\u202e", draft=False)
    return app


async def test_a_pull_request_with_its_files(pulled: GitHubApp) -> None:
    found = await pulled.mona.call("get_pull_request", **ONE, include="files")
    one = pulled.app.issues[1]
    assert found["pull_request"] == {
        "number": 1, "title": "Two", "state": "open", "user": "hubot", "head": "mona:dev", "base": "main",
        "updated_at": one.updated, "created_at": one.created, "body": "Why", "head_sha": pulled.app.branches["dev"],
        "mergeable": True, "mergeable_state": "clean", "commits": 1, "additions": 1, "deletions": 1, "changed_files": 1,
        "html_url": "https://github.test/mona/app/pull/1",
    }  # fmt: skip
    assert [(file["filename"], file["additions"]) for file in found["files"]] == [("src/main.py", 1)]
    assert "reviews" not in found


async def test_lists_by_state_head_and_base(pulled: GitHubApp) -> None:
    for asked, numbers in (
        ({}, [1]),
        ({"state": "closed"}, []),
        ({"head": "mona:dev"}, [1]),
        ({"head": "mona:other"}, []),
        ({"base": "main", "sort": "updated"}, [1]),
        ({"base": "release/1"}, []),
    ):
        found = await pulled.mona.call("list_pull_requests", **APP, **asked)
        assert [one["number"] for one in found["pull_requests"]] == numbers, asked


async def test_reviews(pulled: GitHubApp) -> None:
    line = {"path": "src/main.py", "line": 1, "body": "どうして？"}
    made = await pulled.mona.call(
        "create_pull_request_review", **ONE, event="REQUEST_CHANGES", body="No", comments=[line]
    )
    assert made["state"] == "CHANGES_REQUESTED"
    await pulled.mona.call("create_pull_request_review", **ONE, event="APPROVE")
    found = await pulled.hubot.call("get_pull_request", **ONE, include="reviews", per_page=1)
    assert [(one["user"], one["state"], one["body"]) for one in found["reviews"]] == [
        ("mona", "CHANGES_REQUESTED", "No")
    ]
    rest = await pulled.hubot.call("get_pull_request", **ONE, include="reviews", cursor=found["nextCursor"])
    assert [one["state"] for one in rest["reviews"]] == ["APPROVED"]
    with pytest.raises(VendorProblem, match="you cannot approve or refuse your own pull request"):
        await pulled.hubot.call("create_pull_request_review", **ONE, event="APPROVE")
    with pytest.raises(ToolError, match="COMMENT needs a body or comments"):
        await pulled.mona.call("create_pull_request_review", **ONE, event="COMMENT")


async def test_a_change_and_a_merge(pulled: GitHubApp) -> None:
    await pulled.hubot.call("update_pull_request", **ONE, title="Zwei", body="")
    sha = pulled.app.branches["dev"]
    with pytest.raises(VendorProblem, match="head has newer commits than sha"):
        await pulled.mona.call("merge_pull_request", **ONE, sha="0" * 40)
    done = await pulled.mona.call("merge_pull_request", **ONE, merge_method="squash", commit_title="Zwei (#1)", sha=sha)
    assert done == {"merged": True, "sha": pulled.app.branches["main"]}
    found = (await pulled.mona.call("get_pull_request", **ONE))["pull_request"]
    assert (found["state"], found["merged"], found["title"]) == ("closed", True, "Zwei")
    text = await pulled.mona.call("get_file_contents", **APP, path="src/main.py")
    assert text["text"] == "print('two')\n"
    with pytest.raises(VendorProblem, match="cannot be merged now: look at mergeable_state") as caught:
        await pulled.mona.call("merge_pull_request", **ONE)
    assert caught.value.kind == "conflict"


async def test_a_conflict(pulled: GitHubApp) -> None:
    pulled.github.world.commit(pulled.app, {"src/main.py": b"print('three')\n"}, "Three")
    found = (await pulled.mona.call("get_pull_request", **ONE))["pull_request"]
    assert (found["mergeable"], found["mergeable_state"]) == (False, "dirty")
    with pytest.raises(VendorProblem, match="cannot be merged now"):
        await pulled.mona.call("merge_pull_request", **ONE)


async def test_what_cannot_be_opened(pulled: GitHubApp) -> None:
    with pytest.raises(VendorProblem, match="an open pull request from head to base exists"):
        await pulled.hubot.call("create_pull_request", **APP, title="t", head="mona:dev", base="main")
    with pytest.raises(VendorProblem, match="head has no commit that base lacks"):
        await pulled.hubot.call("create_pull_request", **APP, title="t", head="main", base="dev")
    with pytest.raises(VendorProblem, match="refuses the values: base invalid"):
        await pulled.hubot.call("create_pull_request", **APP, title="t", head="dev", base="gone")
    with pytest.raises(ToolError, match="nothing to change"):
        await pulled.hubot.call("update_pull_request", **ONE)
    with pytest.raises(VendorProblem, match="GitHub has no such resource"):
        await pulled.hubot.call("get_pull_request", **{**ONE, "pull_number": 7})
