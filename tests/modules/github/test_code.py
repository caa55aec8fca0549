"""Repositories, commits, branches and releases."""

from typing import Any

import pytest

from modules.kit import VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.world import Release, Run


async def test_own_repositories_without_what_a_model_does_not_need(app: GitHubApp) -> None:
    found = await app.mona.call("list_repositories")
    assert found == {
        "repositories": [
            {"full_name": "mona/secret", "private": True, "default_branch": "main", "pushed_at": app.secret.created},
            {
                "full_name": "mona/app", "private": False, "description": "The app", "default_branch": "main",
                "pushed_at": app.app.created,
            },
        ]
    }  # fmt: skip


async def test_repositories_by_visibility_and_affiliation(app: GitHubApp) -> None:
    private = await app.mona.call("list_repositories", visibility="private")
    assert [one["full_name"] for one in private["repositories"]] == ["mona/secret"]
    shared = await app.hubot.call("list_repositories", affiliation=["collaborator", "organization_member"])
    assert [one["full_name"] for one in shared["repositories"]] == ["mona/app"]


async def everything(app: GitHubApp, tool: str, field: str, **params: Any) -> list[list[Any]]:
    """All pages of a list."""
    pages: list[list[Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await app.mona.call(tool, **{**params, **cursor})
        pages.append(page[field])
        if "nextCursor" not in page:
            return pages
        # Another size in between must not lose or repeat anything.
        cursor = {"cursor": page["nextCursor"], "per_page": 100}


async def test_commits_page_by_page(app: GitHubApp) -> None:
    made = [app.github.world.commit(app.app, {"n.txt": b"%d" % n}, f"Change {n}") for n in range(7)]
    pages = await everything(app, "list_commits", "commits", owner="mona", repo="app", per_page=3)
    assert [len(page) for page in pages] == [3, 3, 2]
    assert [one["sha"] for page in pages for one in page][:7] == [one.sha for one in reversed(made)]
    assert pages[0][0] == {
        "sha": made[6].sha, "message": "Change 6", "author": "Mona", "login": "mona", "date": made[6].at,
    }  # fmt: skip


async def test_commits_of_a_file_an_author_and_a_time(app: GitHubApp) -> None:
    world = app.github.world
    world.commit(app.app, {"docs/説明.md": b"a"}, "Docs", author="hubot")
    late = world.commit(app.app, {"docs/説明.md": b"b"}, "More docs", author="mona")
    given = {"owner": "mona", "repo": "app"}
    found = await app.mona.call("list_commits", **given, path="docs/説明.md")
    assert [one["message"] for one in found["commits"]] == ["More docs", "Docs"]
    found = await app.mona.call("list_commits", **given, author="hubot")
    assert [one["message"] for one in found["commits"]] == ["Docs"]
    # 2026-01-01T09:00+09:00 is the double's first moment.
    found = await app.mona.call("list_commits", **given, since=late.at.replace("T00", "T09").replace("Z", "+09:00"))
    assert [one["message"] for one in found["commits"]] == ["More docs"]


async def test_a_long_commit_message_is_cut_and_says_so(app: GitHubApp) -> None:
    app.github.world.commit(app.app, {"a": b"1"}, "x" * 5000)
    [first, second] = (await app.mona.call("list_commits", owner="mona", repo="app"))["commits"]
    assert (len(first["message"]), first["truncated"]) == (500, True)
    assert "truncated" not in second


async def test_an_empty_repository_is_called_empty(app: GitHubApp) -> None:
    app.github.world.repository("mona", "empty")
    with pytest.raises(VendorProblem, match="the repository is empty: create a file") as caught:
        await app.mona.call("list_commits", owner="mona", repo="empty")
    assert caught.value.kind == "conflict"


async def test_a_commit_with_its_patches(app: GitHubApp) -> None:
    made = app.github.world.commit(
        app.app, {"src/main.py": b"print('two')\n", "logo.png": b"\0\1", "README.md": None}, "Second"
    )
    given = {"owner": "mona", "repo": "app", "ref": made.sha}
    found = await app.mona.call("get_commit", **given, detail="patch")
    assert found["commit"]["message"] == "Second"
    assert [(file["filename"], file["status"]) for file in found["files"]] == [
        ("README.md", "removed"), ("logo.png", "added"), ("src/main.py", "modified"),
    ]  # fmt: skip
    assert found["files"][2]["patch"] == "@@ -1 +1 @@\n-print('one')\n+print('two')"
    assert "patch" not in found["files"][1]
    found = await app.mona.call("get_commit", **given)
    assert found["files"][2] == {"filename": "src/main.py", "status": "modified", "additions": 1, "deletions": 1}
    assert "files" not in await app.mona.call("get_commit", **given, detail="none")


async def test_patches_share_the_room_of_a_page(app: GitHubApp) -> None:
    changes = {f"f{n:02}.txt": b"line\n" * 5000 for n in range(6)}
    made = app.github.world.commit(app.app, changes, "Big")
    files = (await app.mona.call("get_commit", owner="mona", repo="app", ref=made.sha, detail="patch"))["files"]
    assert [len(file.get("patch", "")) for file in files] == [20_000] * 3 + [0] * 3
    assert all(file["truncated"] for file in files)


async def test_files_of_a_commit_page_by_page(app: GitHubApp) -> None:
    made = app.github.world.commit(app.app, {f"f{n}": b"x" for n in range(5)}, "Five")
    pages = await everything(app, "get_commit", "files", owner="mona", repo="app", ref=made.sha, per_page=2)
    assert [[file["filename"] for file in page] for page in pages] == [["f0", "f1"], ["f2", "f3"], ["f4"]]


@pytest.mark.parametrize("name", ["feature/x", "機能/検索", "a.b-c_d", "50%", "a#b"])
async def test_a_branch_from_the_default_one_and_from_another(app: GitHubApp, name: str) -> None:
    start = app.app.branches["main"]
    made = await app.hubot.call("create_branch", owner="mona", repo="app", branch=name)
    assert made == {"ref": f"refs/heads/{name}", "sha": start}
    app.github.world.commit(app.app, {"b": b"1"}, branch=name)
    second = await app.hubot.call("create_branch", owner="mona", repo="app", branch=f"{name}-2", from_ref=name)
    assert second["sha"] == app.app.branches[name] != start
    with pytest.raises(VendorProblem, match="a branch of that name exists already"):
        await app.hubot.call("create_branch", owner="mona", repo="app", branch=name)


async def test_a_branch_of_nothing(app: GitHubApp) -> None:
    with pytest.raises(VendorProblem, match="no such commit, branch or tag"):
        await app.mona.call("create_branch", owner="mona", repo="app", branch="x", from_ref="nowhere")


async def test_branches_and_which_are_protected(app: GitHubApp) -> None:
    app.app.protected.add("main")
    await app.mona.call("create_branch", owner="mona", repo="app", branch="dev")
    sha = app.app.branches["main"]
    found = await app.mona.call("list_branches", owner="mona", repo="app")
    assert found == {"branches": [{"name": "dev", "sha": sha}, {"name": "main", "sha": sha, "protected": True}]}
    only = await app.mona.call("list_branches", owner="mona", repo="app", protected=False)
    assert [one["name"] for one in only["branches"]] == ["dev"]


async def test_the_latest_release(app: GitHubApp) -> None:
    with pytest.raises(VendorProblem, match="no published release"):
        await app.mona.call("get_latest_release", owner="mona", repo="app")
    now = app.github.world.now
    app.app.releases += [Release("v1", "One", "a\r\nb", now()), Release("v2", "Two", "", now(), prerelease=True)]
    found = await app.mona.call("get_latest_release", owner="mona", repo="app")
    assert (found["tag_name"], found["name"], found["body"]) == ("v1", "One", "a\nb")


async def test_workflow_runs(app: GitHubApp) -> None:
    now = app.github.world.now
    sha = app.app.branches["main"]
    app.app.runs += [
        Run(1, "Build", "main", sha, "push", "completed", "failure", "mona", now()),
        Run(2, "Deploy", "dev", sha, "schedule", "in_progress", None, "hubot", now()),
    ]
    given = {"owner": "mona", "repo": "app"}
    found = await app.mona.call("list_workflow_runs", **given)
    assert (found["total_count"], [one["id"] for one in found["workflow_runs"]]) == (2, [2, 1])
    assert "conclusion" not in found["workflow_runs"][0]
    for asked in ({"branch": "main"}, {"event": "push"}, {"status": "failure"}, {"actor": "mona"}):
        found = await app.mona.call("list_workflow_runs", **given, **asked)
        assert [one["display_title"] for one in found["workflow_runs"]] == ["Build"]
