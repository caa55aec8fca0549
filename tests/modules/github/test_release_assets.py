"""Files of releases: at a host of their own, and at a file store that knows no credentials."""

import base64

import pytest
from pydantic import ValidationError

from modules.kit import ToolError, VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.call import Reply
from tests.support.github_double.parts import Asset
from tests.support.github_double.world import Release

APP = {"owner": "mona", "repo": "app"}
ONE = {**APP, "release_id": 9}


@pytest.fixture
def app(session_app: GitHubApp) -> GitHubApp:
    """With a release without files."""
    app = session_app.app
    app.releases = [Release("v1", "One", None, app.created, id=9)]
    return session_app


def assets(app: GitHubApp) -> list[Asset]:
    return app.app.releases[0].assets


async def test_files_of_a_release_page_by_page(app: GitHubApp) -> None:
    assert await app.mona.call("list_release_assets", **ONE) == {"assets": []}
    assets(app).extend(Asset(n, f"app-{n}.zip", b"x" * n, "application/zip", downloads=2) for n in (1, 2))
    assets(app)[1].state, assets(app)[1].label = "open", "日本語"
    listed = [
        {"id": 1, "name": "app-1.zip", "size": 1, "content_type": "application/zip", "download_count": 2},
        {
            "id": 2, "name": "app-2.zip", "label": "日本語", "size": 2, "content_type": "application/zip",
            "state": "open", "download_count": 2,
        },
    ]  # fmt: skip
    assert (await app.mona.call("get_release", **ONE))["assets"] == listed
    first = await app.mona.call("list_release_assets", **ONE, per_page=1)
    rest = await app.mona.call("list_release_assets", **ONE, cursor=first["nextCursor"])
    assert first["assets"] + rest["assets"] == listed
    assert "nextCursor" not in rest


async def test_a_file_from_its_upload_to_its_end(app: GitHubApp) -> None:
    made = await app.hubot.call(
        "upload_release_asset", **ONE, name="読んで notes.txt", text="一\n", label="Notes & more"
    )
    one = {**APP, "asset_id": made["id"]}
    assert app.github.seen[-1].startswith("POST /api/uploads/repos/mona/app/releases/9/assets?name=")
    assert made == {
        "id": made["id"], "name": "notes.txt", "label": "Notes & more", "size": 4,
        "content_type": "text/plain; charset=utf-8",
        "browser_download_url": "https://github.test/mona/app/releases/download/notes.txt",
    }  # fmt: skip
    assert await app.mona.call("get_release_asset", **one) == {**made, "text": "一\n"}
    renamed = await app.hubot.call("update_release_asset", **one, name="b.txt")
    assert (renamed["name"], renamed["label"]) == ("b.txt", "Notes & more")
    assert await app.hubot.call("delete_release_asset", **one) == {"done": True}
    for tool, more in (
        ("get_release_asset", {}),
        ("update_release_asset", {"name": "n"}),
        ("delete_release_asset", {}),
    ):
        with pytest.raises(VendorProblem, match="no such file of a release; it may be deleted"):
            await app.hubot.call(tool, **one, **more)


async def test_bytes_and_their_media_type(app: GitHubApp) -> None:
    content = b"PK\0\1" * 100
    encoded = base64.encodebytes(content).decode()  # with line breaks, as many write it
    given = {"name": "a.zip", "content_base64": encoded, "content_type": "application/zip"}
    made = await app.hubot.call("upload_release_asset", **ONE, **given)
    assert (assets(app)[0].content, assets(app)[0].content_type) == (content, "application/zip")
    found = await app.mona.call("get_release_asset", **APP, asset_id=made["id"])
    assert (found["binary"], found["size"], "text" in found) == (True, 400, False)


async def test_what_cannot_be_uploaded(app: GitHubApp) -> None:
    assets(app).append(Asset(1, "a.txt", b"x"))
    with pytest.raises(VendorProblem, match="refuses the values: name already_exists"):
        await app.hubot.call("upload_release_asset", **ONE, name="a.txt", text="y")
    with pytest.raises(VendorProblem, match="no such release; it may be deleted already"):
        await app.hubot.call("upload_release_asset", **APP, release_id=8, name="b.txt", text="y")
    with pytest.raises(ToolError, match="nothing to change: give at least one of name, label"):
        await app.hubot.call("update_release_asset", **APP, asset_id=1)
    app.github.seen.clear()
    for given, text in (
        ({}, "give either text or content_base64"),
        ({"text": "y", "content_base64": "eQ=="}, "give either text or content_base64"),
        ({"content_base64": "%%%"}, "content_base64 is no base64"),
        ({"content_base64": "====\n"}, "content_base64 is"),
        ({"text": "y", "content_type": "text/plain\r\nX-Evil: 1"}, "media type"),
    ):
        with pytest.raises(ToolError, match=text):
            await app.hubot.call("upload_release_asset", **ONE, name="b.txt", **given)
    for given in ({"text": ""}, {"text": "x" * 1_000_001}, {"name": ""}):
        with pytest.raises(ValidationError, match=next(iter(given))):
            await app.hubot.call("upload_release_asset", **{**ONE, "name": "b.txt", **given})
    assert app.github.seen == []


async def test_a_long_text_is_read_on_until_it_changes(app: GitHubApp) -> None:
    assets(app).append(Asset(1, "log.txt", ("日" * 100_000).encode(), "text/plain"))
    one = {**APP, "asset_id": 1}
    first = await app.mona.call("get_release_asset", **one)
    assert (len(first["text"]), first["truncated"], first["size"]) == (60_000, True, 300_000)
    rest = await app.mona.call("get_release_asset", **one, cursor=first["nextCursor"])
    assert (len(rest["text"]), "truncated" in rest, "nextCursor" in rest) == (40_000, False, False)
    assets(app)[0].updated = "2026-01-02T00:00:00Z"
    with pytest.raises(ToolError, match="the file has changed since the page before"):
        await app.mona.call("get_release_asset", **one, cursor=first["nextCursor"])


async def test_a_file_of_no_bytes(app: GitHubApp) -> None:
    assets(app).append(Asset(1, "empty.txt", b"", "text/plain"))
    found = await app.mona.call("get_release_asset", **APP, asset_id=1)
    assert (found["size"], found.get("text", ""), "binary" in found, "too_large" in found) == (0, "", False, False)


async def test_a_file_that_is_too_large(app: GitHubApp) -> None:
    assets(app).append(Asset(1, "dump.sql", b"insert\n" * 1_600_000, "text/plain"))
    found = await app.mona.call("get_release_asset", **APP, asset_id=1)
    assert (found["too_large"], found["size"], "text" in found) == (True, 11_200_000, False)
    assert sum(one.startswith("GET") for one in app.github.seen) == 2, "only its beginning was fetched"


async def test_a_server_that_sends_the_file_itself(app: GitHubApp) -> None:
    assets(app).append(Asset(1, "a.txt", b"text"))
    head = Reply(200, {"id": 1, "name": "a.txt", "size": 4, "updated_at": "x", "browser_download_url": "y"})
    app.github.next_answers = [head, Reply(200, text="text")]
    assert (await app.mona.call("get_release_asset", **APP, asset_id=1))["text"] == "text"


async def test_a_link_that_does_not_work(app: GitHubApp) -> None:
    assets(app).append(Asset(1, "a.txt", b"text"))
    head = Reply(200, {"id": 1, "name": "a.txt", "size": 4, "updated_at": "x", "browser_download_url": "y"})
    link = Reply(302, headers={"Location": f"{app.github.origin}/store/gone?sig=s3cret"}, text="")
    app.github.next_answers = [head, link]
    with pytest.raises(VendorProblem, match="the vendor's link to the file does not work") as caught:
        await app.mona.call("get_release_asset", **APP, asset_id=1)
    assert "s3cret" not in str(caught.value)
