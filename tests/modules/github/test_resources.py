"""What is attached to a chat from GitHub, through `/mcp`: files of all kinds, and what is none."""

import base64
from typing import Any
from urllib.parse import quote

import pytest

from modules.github.resources import MAX_DATA_BYTES
from modules.kit.resources import MAX_TEXT_CHARACTERS
from tests.modules.github.conftest import Hub
from tests.support.github_double import Repository, Submodule, Symlink

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def read(hub: Hub, home: Repository, below: str) -> Any:
    """The content of a resource, or the text of the error."""
    uri = f"github://repos/{home.owner}/{home.name}/{below}"
    message = (await hub.product.node.post(hub.product.ada.token, "resources/read", {"uri": uri})).message
    if "error" in message:
        assert message["error"]["data"] == {"uri": uri}
        return message["error"]["message"]
    (content,) = message["result"]["contents"]
    return content


async def complete_path(hub: Hub, home: Repository, typed: str) -> list[str]:
    params = {
        "ref": {"type": "ref/resource", "uri": "github://repos/{owner}/{repo}/contents/{+path}"},
        "argument": {"name": "path", "value": typed},
        "context": {"arguments": {"owner": home.owner, "repo": home.name}},
    }
    return (await hub.product.node.post(hub.product.ada.token, "completion/complete", params)).result["completion"][
        "values"
    ]


async def test_files_have_their_type_and_are_cleaned(hub: Hub, home: Repository) -> None:
    files = {
        "docs/設計 1.md": "# a\u202eb\r\n".encode(),
        "a.py": b"x = 1\n",
        "b.json": b"{}",
        "old.txt": "日本".encode("cp932"),
    }
    hub.github.world.commit(home, files)
    found = await read(hub, home, f"contents/{quote('docs/設計 1.md')}")
    assert (found["mimeType"], found["text"]) == ("text/markdown", "# ab\r\n")
    assert (await read(hub, home, "contents/a.py"))["mimeType"] == "text/plain"
    assert (await read(hub, home, "contents/b.json"))["mimeType"] == "application/json"
    assert (await read(hub, home, "contents/old.txt"))["text"] == "日本"
    assert (await read(hub, home, "readme"))["text"] == "# アプリ\n"


async def test_bytes_come_as_they_are_up_to_what_fits_an_answer(hub: Hub, home: Repository) -> None:
    image = b"\x89PNG\r\n\x1a\n\0\0"
    largest = image + bytes(MAX_DATA_BYTES - len(image))
    hub.github.world.commit(home, {"a.PNG": image, "b.bin": largest, "c.bin": largest + b"\0"})
    found = await read(hub, home, "contents/a.PNG")
    assert (found["mimeType"], base64.b64decode(found["blob"])) == ("image/png", image)
    found = await read(hub, home, "contents/b.bin")
    assert (found["mimeType"], base64.b64decode(found["blob"])) == ("application/octet-stream", largest)
    assert "too large for a resource: 700001 bytes" in await read(hub, home, "contents/c.bin")


async def test_a_long_text_is_cut_and_says_so(hub: Hub, home: Repository) -> None:
    line = "会議\n"
    hub.github.world.commit(home, {"long.txt": (line * MAX_TEXT_CHARACTERS).encode()})
    text = (await read(hub, home, "contents/long.txt"))["text"]
    shown, mark, said = text.partition("\n[cut: ")
    assert mark
    assert set(shown.splitlines()) == {"会議"}, "whole lines"
    assert len(shown) <= MAX_TEXT_CHARACTERS
    assert said.startswith(f"these are {len(shown)} of {3 * MAX_TEXT_CHARACTERS} characters")


async def test_what_is_no_file(hub: Hub, home: Repository) -> None:
    hub.github.world.commit(
        home, {"link": Symlink("README.md"), "lib": Submodule("https://github.test/x/lib", "1" * 40)}
    )
    assert "path is a folder" in await read(hub, home, "contents/src")
    assert "a link or a submodule" in await read(hub, home, "contents/link")
    assert "a link or a submodule" in await read(hub, home, "contents/lib")
    assert "no such repository, branch or path" in await read(hub, home, "contents/gone")
    assert "Resource not found" in await read(hub, home, "issues/one")
    before = len(hub.github.seen)
    for path in ("%2E%2E/%2E%2E/user", "src//main.py", "a%00b", "a/../b"):
        said = await read(hub, home, f"contents/{path}")
        assert "is not a path" in said or "Resource not found" in said, path
    assert hub.github.seen[before:] == []


async def test_a_repository_without_a_readme(hub: Hub, home: Repository) -> None:
    bare = hub.github.world.repository("mona", f"{home.name}-bare")
    hub.github.world.commit(bare, {"a.txt": b"x"}, "First")
    assert "it has no readme" in await read(hub, bare, "readme")


async def test_paths_are_completed_folder_by_folder(hub: Hub, home: Repository) -> None:
    hub.github.world.commit(home, {"src/lib/a.py": b"x", "src/lib/b.py": b"x"})
    assert await complete_path(hub, home, "") == ["README.md", "src/"]
    assert await complete_path(hub, home, "src/m") == ["src/main.py"]
    assert await complete_path(hub, home, "src/") == ["src/lib/", "src/main.py"]
    assert await complete_path(hub, home, "src/lib/B") == ["src/lib/b.py"]
    assert await complete_path(hub, home, "gone/") == []


@pytest.mark.parametrize("below", ["issues/4711", "pulls/4711", "pulls/4711/diff"])
async def test_what_is_not_there(hub: Hub, home: Repository, below: str) -> None:
    assert "no such" in (await read(hub, home, below)).lower()
