"""What users of other servers ask for (docs/modules/wishes.md), through `/mcp`: review threads, releases, labels,
milestones, and comments that can be corrected."""

import pytest

from tests.modules.github.conftest import Hub, named
from tests.support.github_double import Repository
from tests.support.github_double.parts import LineComment
from tests.support.github_double.world import Pull

pytestmark = pytest.mark.asyncio(loop_scope="package")
AT = "2026-01-01T00:00:00Z"


async def test_an_answer_stands_in_its_thread_which_is_resolved(hub: Hub, home: Repository) -> None:
    """Wish 12: the answer is no comment elsewhere, and the thread says whether it is done."""
    world = hub.github.world
    world.commit(home, {"src/main.py": b"print('two')\n"}, branch="dev")
    number = world.issue(home, "Two", "hubot", pull=Pull("dev", "main")).number
    pull = home.issues[number].pull
    assert pull is not None
    pull.line_comments.append(LineComment(world.id(), "hubot", "src/main.py", 1, "なぜ？", AT))
    one = {**named(home), "pull_number": number}
    [thread] = (await hub.call("list_review_threads", **one))["threads"]
    [asked] = thread["comments"]
    answer = await hub.call("reply_to_review_comment", **one, comment_id=asked["id"], body="لأن")
    assert (await hub.call("resolve_review_thread", thread_id=thread["id"]))["resolved"] is True
    [thread] = (await hub.call("list_review_threads", **one))["threads"]
    assert [comment["id"] for comment in thread["comments"]] == [asked["id"], answer["id"]]
    assert (thread["resolved"], thread["comments"][1]["body"]) == (True, "لأن")
    await hub.call("resolve_review_thread", thread_id=thread["id"], resolved=False)
    [thread] = (await hub.call("list_review_threads", **one))["threads"]
    assert "resolved" not in thread
    stranger = await hub.product.call_as(hub.product.eve, "resolve_review_thread", thread_id=thread["id"])
    assert stranger.failed, "somebody in another tenant may not"


async def test_a_release_with_its_file_a_label_and_a_milestone(hub: Hub, home: Repository) -> None:
    """Wish 16: each is made, listed, changed and removed."""
    here = named(home)
    release = await hub.call("create_release", **here, tag_name="v1", name="一", body="* x", draft=True)
    one = {**here, "release_id": release["id"]}
    file = await hub.call("upload_release_asset", **one, name="notes.txt", text="ملاحظات")
    assert (await hub.call("get_release_asset", **here, asset_id=file["id"]))["text"] == "ملاحظات"
    await hub.call("update_release", **one, draft=False)
    assert (await hub.call("get_latest_release", **here))["tag_name"] == "v1"
    await hub.call("delete_release_asset", **here, asset_id=file["id"])
    assert (await hub.call("list_release_assets", **one))["assets"] == []
    await hub.call("delete_release", **one)
    assert (await hub.call("list_releases", **here))["releases"] == []

    await hub.call("create_label", **here, name="不具合", color="d73a4a")
    await hub.call("update_label", **here, name="不具合", new_name="bug")
    assert [label["name"] for label in (await hub.call("list_labels", **here))["labels"]] == ["bug"]
    await hub.call("delete_label", **here, name="bug")
    assert (await hub.call("list_labels", **here))["labels"] == []

    milestone = await hub.call("create_milestone", **here, title="五月", due_on="2026-05-31")
    which = {**here, "milestone_number": milestone["number"]}
    await hub.call("update_milestone", **which, due_on="2026-06-30")
    [listed] = (await hub.call("list_milestones", **here))["milestones"]
    assert (listed["title"], listed["due_on"]) == ("五月", "2026-06-30")
    await hub.call("delete_milestone", **which)
    assert (await hub.call("list_milestones", **here))["milestones"] == []


async def test_a_comment_is_corrected_and_removed(hub: Hub, home: Repository) -> None:
    """Wish 11."""
    number = hub.github.world.issue(home, "One", "mona").number
    issue = {**named(home), "issue_number": number}
    said = await hub.call("add_issue_comment", **issue, body="furst")
    one = {**named(home), "comment_id": said["id"]}
    await hub.call("update_issue_comment", **one, body="first")
    assert (await hub.call("get_issue_comment", **one))["body"] == "first"
    await hub.call("delete_issue_comment", **one)
    assert "no such" in await hub.refuse("get_issue_comment", **one)
