"""What is cut can be read on: texts page by page, and what a list shortens by the tool that shows it whole."""

from typing import Any

import pytest

from modules.github.shared.text_pages import PAGE_CHARACTERS
from tests.modules.github.conftest import Hub, named
from tests.support.github_double import Repository
from tests.support.github_double.call import Refused, Reply
from tests.support.github_double.world import Pull, Review

pytestmark = pytest.mark.asyncio(loop_scope="package")
LONG = "".join(f"{n} 行\n" for n in range(8_000))  # 62,890 characters
LARGEST_BODY = "長" * 65_536


async def read_all(hub: Hub, tool: str, field: str = "text", **params: Any) -> str:
    """All pages of a text."""
    page = await hub.call(tool, **params)
    text = page.get(field, "")
    while "nextCursor" in page:
        assert page["truncated"]
        page = await hub.call(tool, **params, cursor=page["nextCursor"])
        text += page.get(field, "")
    return text


async def test_a_file_above_a_megabyte(hub: Hub, home: Repository) -> None:
    content = "".join(f"{n:07}\n" for n in range(140_000))
    hub.github.world.commit(home, {"big.txt": content.encode()})
    one = {**named(home), "path": "big.txt"}
    first = await hub.call("get_file_contents", **one)
    assert (first["size"], len(first["text"]), first["truncated"]) == (1_120_000, PAGE_CHARACTERS, True)
    second = await hub.call("get_file_contents", **one, cursor=first["nextCursor"])
    assert first["text"] + second["text"] == content[: 2 * PAGE_CHARACTERS]
    hub.github.next_answers = [None, Reply(200, text="<html>Sign in</html>")]
    assert "does not have the documented form" in await hub.refuse("get_file_contents", **one)
    hub.github.world.commit(home, {"big.txt": content.encode() + b"!"})
    said = await hub.refuse("get_file_contents", **one, cursor=first["nextCursor"])
    assert said.startswith("the file has changed since the page before")


async def test_a_patch_that_a_list_cuts(hub: Hub, home: Repository) -> None:
    made = hub.github.world.commit(home, {'docs/長い "文書".md': LONG.encode(), "b": b"1\n"})
    [_, cut] = (await hub.call("get_commit", **named(home), ref=made.sha, detail="patch"))["files"]
    assert (len(cut["patch"]), cut["truncated"]) == (20_000, True)
    diff = await read_all(hub, "get_diff", **named(home), ref=made.sha, path=cut["filename"])
    assert diff.startswith('diff --git "a/docs/\\351\\225\\267')
    assert [line[1:] for line in diff.splitlines() if line.startswith("+") and "行" in line] == LONG.splitlines()
    assert "a/b b/b" not in diff


async def test_a_diff_of_a_commit_of_a_pull_request_and_between_refs(hub: Hub, home: Repository) -> None:
    base = home.branches["main"]
    made = hub.github.world.commit(home, {"src/main.py": b"print('two')\n", "README.md": None}, branch="feature/x")
    home.commits[made.sha] = made
    hub.github.world.issue(home, "Two", "hubot", pull=Pull("feature/x", "main"))
    expected = (
        "diff --git a/src/main.py b/src/main.py\nnew file mode 100644\n--- /dev/null\n+++ b/src/main.py\n"
        "@@ -0,0 +1 @@\n+print('two')\n"
    )
    assert await hub.call("get_diff", **named(home), ref="feature/x") == {"text": expected}
    changed = "diff --git a/src/main.py b/src/main.py\n--- a/src/main.py\n+++ b/src/main.py\n"
    for given in ({"pull_number": 1}, {"base": base, "ref": "feature/x"}, {"base": "main", "ref": made.sha}):
        found = await hub.call("get_diff", **named(home), **given)
        assert f"{changed}@@ -1 +1 @@\n-print('one')\n+print('two')\n" in found["text"]
        only = await hub.call("get_diff", **named(home), **given, path="README.md")
        assert only["text"].startswith("diff --git a/README.md b/README.md\ndeleted file mode")
        assert "main.py" not in only["text"]
    assert await hub.call("get_diff", **named(home), base="main", ref="main") == {"text": ""}


async def test_a_diff_that_cannot_be(hub: Hub, home: Repository) -> None:
    for given, text in (
        ({}, "give either pull_number or ref"),
        ({"pull_number": 1, "ref": "main"}, "give either pull_number or ref"),
        ({"pull_number": 1, "base": "main"}, "base: a pull request has its own"),
        ({"ref": "gone"}, "no such commit, branch or tag"),
        ({"ref": "main", "path": "no.txt"}, "path: the diff has no such file; names are case-sensitive"),
        ({"pull_number": 7}, "GitHub has no such resource"),
        ({"ref": "main", "cursor": "W10="}, "cursor was not returned by this tool"),
    ):
        assert text in await hub.refuse("get_diff", **named(home), **given)
    message = "Sorry, the diff exceeded the maximum number of lines (20000)"
    hub.github.next_answers = [Refused(406, message).reply]
    said = await hub.refuse("get_diff", **named(home), ref="main")
    assert said == (
        "GitHub refuses: the change is too large for GitHub to send as one diff: read its files page by page"
    )


async def test_a_diff_that_changes_between_two_pages(hub: Hub, home: Repository) -> None:
    hub.github.world.commit(home, {"a": LONG.encode()}, branch="dev")
    first = await hub.call("get_diff", **named(home), ref="dev")
    hub.github.world.commit(home, {"a": LONG.upper().encode() + b"x"}, branch="dev")
    said = await hub.refuse("get_diff", **named(home), ref="dev", cursor=first["nextCursor"])
    assert said.startswith("the diff has changed since the page before: leave out cursor")


async def test_bodies_that_lists_cut_are_shown_whole(hub: Hub, home: Repository) -> None:
    world = hub.github.world
    world.commit(home, {"a": b"1"}, branch="dev")
    review = Review(1, "eve", LARGEST_BODY, "COMMENTED", home.branches["main"], home.created)
    world.issue(home, "Two", "hubot", body=LARGEST_BODY, pull=Pull("dev", "main", reviews=[review]))
    world.issue(home, "One", "eve", body=LARGEST_BODY)
    for tool, field in (("list_issues", "issues"), ("list_pull_requests", "pull_requests")):
        [listed] = (await hub.call(tool, **named(home)))[field]
        assert (len(listed["body"]), listed["truncated"]) == (300, True)
    issue = (await hub.call("get_issue", **named(home), issue_number=2))["issue"]
    found = await hub.call("get_pull_request", **named(home), pull_number=1, include="reviews")
    for whole in (issue, found["pull_request"], found["reviews"][0]):
        assert whole["body"] == LARGEST_BODY
        assert "truncated" not in whole
    made = world.commit(home, {"a": b"1"}, LONG)
    [listed, _] = (await hub.call("list_commits", **named(home)))["commits"]
    assert (len(listed["message"]), listed["truncated"]) == (500, True)
    commit = (await hub.call("get_commit", **named(home), ref=made.sha, detail="none"))["commit"]
    assert commit["message"] == LONG
