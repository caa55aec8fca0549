"""Labels of a repository and of its issues, and milestones."""

import pytest
from pydantic import ValidationError

from modules.kit import ToolError, VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.parts import Label, Milestone

APP = {"owner": "mona", "repo": "app"}


@pytest.mark.parametrize("name", ["bug", "優先度/高 🔥", "ui & ux?", "50%"])
async def test_a_label_from_its_making_to_its_end(app: GitHubApp, name: str) -> None:
    assert await app.mona.call("list_labels", **APP) == {"labels": []}
    made = await app.hubot.call("create_label", **APP, name=name, color="#D73A4A", description="壊れている")
    assert made == {"name": name, "color": "d73a4a", "description": "壊れている"}
    app.github.world.issue(app.app, "One", "eve", labels=[name])
    changed = await app.hubot.call("update_label", **APP, name=name, new_name="defect", color="000000")
    assert changed == {"name": "defect", "color": "000000", "description": "壊れている"}
    assert app.app.issues[1].labels == ["defect"]
    await app.hubot.call("update_label", **APP, name="defect", new_name=name)
    assert await app.hubot.call("delete_label", **APP, name=name) == {"done": True}
    assert (app.app.parts.labels, app.app.issues[1].labels) == ({}, [])


async def test_labels_page_by_page(app: GitHubApp) -> None:
    app.app.parts.labels = {name: Label(name) for name in ("a", "b", "c")}
    first = await app.mona.call("list_labels", **APP, per_page=2)
    assert first["labels"] == [{"name": "a", "color": "ededed"}, {"name": "b", "color": "ededed"}]
    rest = await app.mona.call("list_labels", **APP, cursor=first["nextCursor"])
    assert ([one["name"] for one in rest["labels"]], "nextCursor" in rest) == (["c"], False)


async def test_labels_that_github_does_not_take(app: GitHubApp) -> None:
    app.app.parts.labels = {name: Label(name) for name in ("a", "b")}
    with pytest.raises(VendorProblem, match="refuses the values: name already_exists"):
        await app.hubot.call("create_label", **APP, name="a")
    with pytest.raises(VendorProblem, match="refuses the values: name already_exists"):
        await app.hubot.call("update_label", **APP, name="a", new_name="b")
    with pytest.raises(VendorProblem, match="no such label"):
        await app.hubot.call("update_label", **APP, name="z", color="ffffff")
    with pytest.raises(VendorProblem, match="no such label; it may be deleted already"):
        await app.hubot.call("delete_label", **APP, name="z")
    with pytest.raises(ToolError, match=r"nothing to change: give at least one of new_name, color, description$"):
        await app.hubot.call("update_label", **APP, name="a")
    app.github.seen.clear()
    for given in ({"color": "red"}, {"color": "d73a4"}, {"description": "x" * 101}, {"name": ""}, {"name": "x" * 51}):
        with pytest.raises(ValidationError, match=next(iter(given))):
            await app.hubot.call("create_label", **{**APP, "name": "c", **given})
    assert app.github.seen == []


async def test_labels_of_an_issue(app: GitHubApp) -> None:
    app.github.world.issue(app.app, "One", "eve", labels=["bug"])
    one = {**APP, "issue_number": 1}
    assert await app.hubot.call("add_issue_labels", **one, labels=["bug", "機能/検索"]) == {
        "labels": ["bug", "機能/検索"]
    }
    assert await app.hubot.call("remove_issue_label", **one, name="機能/検索") == {"labels": ["bug"]}
    assert await app.hubot.call("remove_issue_label", **one, name="bug") == {"labels": []}
    with pytest.raises(VendorProblem, match="no such issue, or it does not have this label"):
        await app.hubot.call("remove_issue_label", **one, name="bug")
    with pytest.raises(VendorProblem, match="GitHub has no such resource"):
        await app.hubot.call("add_issue_labels", **APP, issue_number=9, labels=["bug"])
    for labels in ([], ["x"] * 101, [""], "bug"):
        with pytest.raises(ValidationError, match="labels"):
            await app.hubot.call("add_issue_labels", **one, labels=labels)


async def test_a_milestone_from_its_making_to_its_end(app: GitHubApp) -> None:
    assert await app.mona.call("list_milestones", **APP) == {"milestones": []}
    made = await app.hubot.call("create_milestone", **APP, title="一", description="First", due_on="2026-02-28")
    assert made == {"number": 1, "title": "一", "state": "open", "description": "First", "due_on": "2026-02-28"}
    app.github.world.issue(app.app, "One", "eve", milestone=1)
    app.github.world.issue(app.app, "Two", "eve", milestone=1, state="closed")
    changed = await app.hubot.call("update_milestone", **APP, milestone_number=1, state="closed", due_on="2026-03-01")
    assert changed == {
        "number": 1, "title": "一", "state": "closed", "description": "First", "due_on": "2026-03-01",
        "open_issues": 1, "closed_issues": 1,
    }  # fmt: skip
    assert await app.mona.call("list_milestones", **APP) == {"milestones": []}
    assert (await app.mona.call("list_milestones", **APP, state="closed"))["milestones"] == [changed]
    assert await app.hubot.call("delete_milestone", **APP, milestone_number=1) == {"done": True}
    for tool, more in (("update_milestone", {"title": "t"}), ("delete_milestone", {})):
        with pytest.raises(VendorProblem, match="no such milestone; it may be deleted"):
            await app.hubot.call(tool, **APP, milestone_number=1, **more)


async def test_milestones_page_by_page_with_long_descriptions(app: GitHubApp) -> None:
    app.app.parts.milestones = {n: Milestone(n, f"M{n}", description="x" * 25_000) for n in range(1, 6)}
    first = await app.mona.call("list_milestones", **APP, per_page=4)
    lengths = [(len(one.get("description", "")), one["truncated"]) for one in first["milestones"]]
    assert lengths == [(20_000, True), (20_000, True), (20_000, True), (0, True)]
    rest = await app.mona.call("list_milestones", **APP, cursor=first["nextCursor"])
    assert ([one["number"] for one in rest["milestones"]], "nextCursor" in rest) == ([5], False)


async def test_milestones_that_github_does_not_take(app: GitHubApp) -> None:
    app.app.parts.milestones = {1: Milestone(1, "M")}
    with pytest.raises(VendorProblem, match="refuses the values: title already_exists"):
        await app.hubot.call("create_milestone", **APP, title="M")
    with pytest.raises(ToolError, match="nothing to change: give at least one of title, description, due_on, state"):
        await app.hubot.call("update_milestone", **APP, milestone_number=1)
    app.github.seen.clear()
    for due in ("2026-02-29", "tomorrow", "2026-02-28T10:00:00Z"):
        with pytest.raises(ValidationError, match="due_on"):
            await app.hubot.call("create_milestone", **APP, title="N", due_on=due)
    assert app.github.seen == []
