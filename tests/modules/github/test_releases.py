"""Tags and releases."""

import pytest
from pydantic import ValidationError

from modules.kit import ToolError, VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.world import Release

APP = {"owner": "mona", "repo": "app"}


async def test_tags_page_by_page(app: GitHubApp) -> None:
    assert await app.mona.call("list_tags", **APP) == {"tags": []}
    sha = app.app.branches["main"]
    app.app.tags = {f"v{n}": sha for n in range(3)}
    first = await app.mona.call("list_tags", **APP, per_page=2)
    assert first["tags"] == [{"name": "v2", "sha": sha}, {"name": "v1", "sha": sha}]
    rest = await app.mona.call("list_tags", **APP, cursor=first["nextCursor"])
    assert rest == {"tags": [{"name": "v0", "sha": sha}]}


async def test_a_release_from_its_draft_to_its_end(app: GitHubApp) -> None:
    made = await app.hubot.call(
        "create_release", **APP, tag_name="release/1.0", name="一", body="## 新しい\r\n* x", draft=True
    )
    one = {**APP, "release_id": made["id"]}
    assert made["tag_name"] == "release/1.0"
    assert (await app.eve.call("list_releases", **APP))["releases"] == [], "drafts are for those who may write"
    with pytest.raises(VendorProblem, match="no such release; a draft is found by its id only"):
        await app.mona.call("get_release", **APP, tag="release/1.0")
    assert "published_at" not in await app.mona.call("get_release", **one)
    await app.hubot.call("update_release", **one, draft=False, prerelease=True)
    [release] = app.app.releases
    assert await app.eve.call("get_release", **APP, tag="release/1.0") == {
        "id": made["id"], "tag_name": "release/1.0", "name": "一", "published_at": release.at, "prerelease": True,
        "html_url": "https://github.test/mona/app/releases/release/1.0", "body": "## 新しい\n* x",
    }  # fmt: skip
    assert app.app.tags["release/1.0"] == app.app.branches["main"]
    assert await app.hubot.call("delete_release", **one) == {"done": True}
    assert (app.app.releases, list(app.app.tags)) == ([], ["release/1.0"])
    with pytest.raises(VendorProblem, match="no such release; it may be deleted already"):
        await app.hubot.call("delete_release", **one)


async def test_releases_page_by_page(app: GitHubApp) -> None:
    app.app.releases = [Release(f"v{n}", None, "x" * 500, app.github.world.now(), id=n) for n in (1, 2, 3)]
    first = await app.mona.call("list_releases", **APP, per_page=2)
    assert first["releases"][0] == {"id": 3, "tag_name": "v3", "published_at": app.app.releases[2].at}
    rest = await app.mona.call("list_releases", **APP, cursor=first["nextCursor"])
    assert ([one["id"] for one in rest["releases"]], "nextCursor" in rest) == ([1], False)


async def test_notes_are_read_on(app: GitHubApp) -> None:
    app.app.releases = [Release("v1", "One", "日" * 100_000, app.github.world.now())]
    first = await app.mona.call("get_release", **APP, tag="v1")
    assert (len(first["body"]), first["truncated"]) == (60_000, True)
    rest = await app.mona.call("get_latest_release", **APP, cursor=first["nextCursor"])
    assert (len(rest["body"]), "truncated" in rest, "nextCursor" in rest) == (40_000, False, False)
    app.app.releases[0].body = "Other"
    with pytest.raises(ToolError, match="the release's body has changed since the page before"):
        await app.mona.call("get_release", **APP, tag="v1", cursor=first["nextCursor"])


async def test_releases_that_github_does_not_take(app: GitHubApp) -> None:
    await app.hubot.call("create_release", **APP, tag_name="v1", generate_release_notes=True, body="Thanks")
    assert app.app.releases[0].body == "Thanks\n## What's Changed"
    with pytest.raises(VendorProblem, match="refuses the values: tag_name already_exists"):
        await app.hubot.call("create_release", **APP, tag_name="v1")
    with pytest.raises(VendorProblem, match="refuses the values: target_commitish invalid"):
        await app.hubot.call("create_release", **APP, tag_name="v2", target_commitish="gone")
    with pytest.raises(VendorProblem, match="no such release"):
        await app.hubot.call("update_release", **APP, release_id=8, name="x")
    with pytest.raises(ToolError, match="nothing to change: give at least one of tag_name, name, body, draft"):
        await app.hubot.call("update_release", **APP, release_id=app.app.releases[0].id)
    with pytest.raises(ToolError, match=r"^give either tag or release_id$"):
        await app.mona.call("get_release", **APP, tag="v1", release_id=1)
    assert (await app.mona.call("get_release", **APP))["tag_name"] == "v1"
    app.github.seen.clear()
    for given in ({"tag_name": "a//b"}, {"body": "x" * 125_001}, {"name": "x" * 257}, {"target_commitish": ".."}):
        with pytest.raises(ValidationError, match=next(iter(given))):
            await app.hubot.call("create_release", **{**APP, "tag_name": "v3", **given})
    assert app.github.seen == []
