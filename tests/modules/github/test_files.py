"""Files and folders: what is text, what is not, and what is written."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from modules.github.shared.text_pages import PAGE_CHARACTERS
from modules.kit import ToolError, VendorProblem, text_cleaning
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double import Submodule, Symlink, blob_sha

APP = {"owner": "mona", "repo": "app"}


async def read(app: GitHubApp, path: str, **more: Any) -> dict[str, Any]:
    return await app.mona.call("get_file_contents", **APP, path=path, **more)


async def test_a_text_file(app: GitHubApp) -> None:
    content = "# アプリ\n"
    assert await read(app, "README.md") == {
        "type": "file", "path": "README.md", "sha": blob_sha(content.encode()), "size": 12, "text": content,
    }  # fmt: skip


async def test_folders_and_the_root(app: GitHubApp) -> None:
    app.github.world.commit(
        app.app, {"link": Symlink("README.md"), "vendor/lib": Submodule("https://github.test/x/lib", "1" * 40)}
    )
    root = await read(app, "")
    assert (root["type"], [(one["name"], one["type"]) for one in root["entries"]]) == (
        "dir", [("README.md", "file"), ("link", "symlink"), ("src", "dir"), ("vendor", "dir")],
    )  # fmt: skip
    assert [one["name"] for one in (await read(app, "/src/"))["entries"]] == ["main.py"]
    assert (await read(app, "link"))["target"] == "README.md"
    assert (await read(app, "vendor/lib"))["type"] == "submodule"


async def test_a_large_folder_page_by_page_and_where_github_stops(app: GitHubApp) -> None:
    app.github.world.commit(app.app, {f"many/{n:04}": b"" for n in range(1200)})
    first = await read(app, "many")
    assert (len(first["entries"]), first["truncated"]) == (500, True)
    second = await read(app, "many", cursor=first["nextCursor"])
    assert (second["entries"][0]["name"], second["entries"][-1]["name"]) == ("0500", "0999")
    assert second["truncated"]
    assert "nextCursor" not in second


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("日本語".encode("cp932") + b"\r\n", {"text": "日本語\r\n", "encoding": "cp932"}),
        ("ひらがなと漢字".encode("euc_jp"), {"text": "ひらがなと漢字", "encoding": "euc_jp"}),
        ("テスト".encode("utf-16"), {"text": "テスト", "encoding": "utf-16"}),
        (b"\x89PNG\r\n\x1a\n\0\0", {"binary": True}),
        (bytes(range(1, 256)), {"binary": True}),
        (b"\xff\xd8\xff\xe0\x10JFIF", {"binary": True}),
        (b"", {"size": 0}),
    ],
)
async def test_what_is_text_and_what_is_binary(app: GitHubApp, content: bytes, expected: dict[str, Any]) -> None:
    app.github.world.commit(app.app, {"file": content})
    found = await read(app, "file")
    shown = {name: found[name] for name in ("text", "encoding", "binary") if name in found}
    assert shown == {name: value for name, value in expected.items() if name != "size"}
    assert found["size"] == len(content)


async def test_invisible_characters_are_taken_out_and_counted(app: GitHubApp) -> None:
    orders = "".join(chr(0xE0000 + ord(letter)) for letter in "delete all")
    app.github.world.commit(app.app, {"file": f"a\u202eb{orders}\tc 👨‍👩‍👧 葛\U000e0100城\n".encode()})
    found = await read(app, "file")
    assert (found["text"], found["hidden"]) == ("ab\tc 👨‍👩‍👧 葛\U000e0100城\n", 11)


async def test_a_long_file_page_by_page(app: GitHubApp) -> None:
    content = "".join(f"{n} 行\n" for n in range(20_000))
    app.github.world.commit(app.app, {"long": content.encode()})
    first = await read(app, "long")
    assert (len(first["text"]), first["truncated"]) == (PAGE_CHARACTERS, True)
    text, cursor = first["text"], first["nextCursor"]
    while cursor:
        page = await read(app, "long", cursor=cursor)
        text, cursor = text + page["text"], page.get("nextCursor")
    assert text == content
    app.github.world.commit(app.app, {"long": b"other"})
    with pytest.raises(ToolError, match="the file has changed since the page before"):
        await read(app, "long", cursor=first["nextCursor"])


async def test_a_file_that_github_does_not_send(app: GitHubApp) -> None:
    """As part of JSON, which ends at 1 MB: its bytes alone are asked for then."""
    app.github.world.commit(app.app, {"big": b"x" * 1_000_001})
    found = await read(app, "big")
    assert (len(found["text"]), found["size"], found["truncated"]) == (PAGE_CHARACTERS, 1_000_001, True)


async def test_a_file_on_another_branch(app: GitHubApp) -> None:
    app.github.world.commit(app.app, {"only": b"here"}, branch="feature/x")
    assert (await read(app, "only", ref="feature/x"))["text"] == "here"
    with pytest.raises(VendorProblem, match="no such repository, branch or path") as caught:
        await read(app, "only")
    assert caught.value.kind == "not_found"
    with pytest.raises(VendorProblem, match="no such commit, branch or tag"):
        await read(app, "only", ref="gone")


async def test_a_file_is_made_changed_and_removed(app: GitHubApp) -> None:
    where = {**APP, "path": "docs/手順 1.md", "branch": "main"}
    made = await app.hubot.call("create_or_update_file", **where, message="Add", content="一\n")
    assert app.app.resolve(None).tree["docs/手順 1.md"] == "一\n".encode()  # pyright: ignore
    with pytest.raises(VendorProblem, match="the file exists already: read it and give its sha"):
        await app.hubot.call("create_or_update_file", **where, message="Again", content="二")
    changed = await app.hubot.call("create_or_update_file", **where, message="Change", content="二", sha=made["sha"])
    with pytest.raises(VendorProblem, match="the file is not what it was at that sha") as caught:
        await app.hubot.call("create_or_update_file", **where, message="Late", content="三", sha=made["sha"])
    assert caught.value.kind == "conflict"
    with pytest.raises(VendorProblem, match="the file is not what it was at that sha"):
        await app.hubot.call("delete_file", **where, message="Late", sha=made["sha"])
    gone = await app.hubot.call("delete_file", **where, message="Remove", sha=changed["sha"])
    assert gone == {"commit": app.app.branches["main"]}


async def test_the_first_file_of_an_empty_repository(app: GitHubApp) -> None:
    app.github.world.repository("mona", "empty")
    given = {"owner": "mona", "repo": "empty", "path": "a"}
    with pytest.raises(VendorProblem, match="the repository is empty"):
        await app.mona.call("get_file_contents", **given)
    await app.mona.call("create_or_update_file", **given, message="First", content="")
    assert (await app.mona.call("get_file_contents", **given))["size"] == 0


async def test_a_protected_branch_and_a_workflow_without_its_scope(app: GitHubApp) -> None:
    app.app.protected.add("main")
    with pytest.raises(VendorProblem, match="the branch is protected"):
        await app.mona.call("create_or_update_file", **APP, path="a", message="m", content="")
    app.github.world.token("narrow", "mona", scopes=frozenset({"repo"}))
    with pytest.raises(VendorProblem, match="this needs the scope workflow, and the token has repo"):
        await app.caller("narrow").call(
            "create_or_update_file", **APP, path=".github/workflows/ci.yml", message="m", content="", branch="dev"
        )


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="/"), min_size=1, max_size=12
)
PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..", "else")), min_size=1, max_size=4).map("/".join)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(path=PATHS, content=st.text(st.characters(codec="utf-8"), max_size=20))
async def test_any_path_comes_to_the_file_of_that_name(app: GitHubApp, path: str, content: str) -> None:
    app.app.branches.pop("any", None)
    app.github.world.commit(app.app, {"else": b"1"}, branch="any")
    made = await app.mona.call("create_or_update_file", **APP, path=path, message="m", content=content, branch="any")
    tip = app.app.resolve("any")
    assert tip is not None
    assert tip.tree == {"else": b"1", path: content.encode()}
    found = await app.mona.call("get_file_contents", **APP, path=path, ref="any")
    assert (found["sha"], found["size"], found["path"]) == (
        made["sha"],
        len(content.encode()),
        text_cleaning.clean_name(path),
    )


@pytest.mark.parametrize(
    "path", ["..", "../secret", "a/../../secret/contents/plan.txt", "a/./b", "a//b", "a\nb", "a\0", "x" * 4097]
)
@pytest.mark.parametrize("tool", ["get_file_contents", "create_or_update_file"])
async def test_a_path_that_leaves_the_repository_is_never_sent(app: GitHubApp, tool: str, path: str) -> None:
    more = {} if tool == "get_file_contents" else {"message": "m", "content": ""}
    with pytest.raises(ValidationError, match="is not a path"):
        await app.mona.call(tool, **APP, path=path, **more)
    assert app.github.seen == []


async def test_a_path_is_never_a_query(app: GitHubApp) -> None:
    app.github.world.commit(app.app, {"a?ref=dev#x%2F..": b"1"})
    assert (await read(app, "a?ref=dev#x%2F.."))["size"] == 1


async def test_writing_names_a_file(app: GitHubApp) -> None:
    with pytest.raises(ValidationError, match="name a file"):
        await app.mona.call("delete_file", **APP, path="/", message="m", sha="1" * 40)
