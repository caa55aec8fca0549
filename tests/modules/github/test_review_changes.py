"""Reviews that are changed, dismissed and thrown away, and runs that are deleted; whoever may not is told."""

from typing import Any

import pytest

from tests.modules.github.calls import furnish
from tests.modules.github.conftest import Hub, named
from tests.support.github_double import Repository

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def list_reviews(hub: Hub, home: Repository) -> dict[int, Any]:
    found = await hub.call("get_pull_request", **named(home), pull_number=1, include="reviews")
    return {one["id"]: one for one in found["reviews"]}


async def test_a_review_is_changed_dismissed_and_deleted_by_its_id(hub: Hub, home: Repository) -> None:
    furnish(hub.github.world, home)
    at = {**named(home), "pull_number": 1}
    assert (await hub.call("update_review", **at, review_id=2, body="Better"))["id"] == 2
    assert (await hub.call("dismiss_review", **at, review_id=3, message="Old"))["state"] == "DISMISSED"
    await hub.call("delete_pending_review", **at, review_id=4)
    reviews = await list_reviews(hub, home)
    assert reviews.keys() == {1, 2, 3}
    assert (reviews[2]["body"], reviews[3]["state"]) == ("Better", "DISMISSED")


async def test_what_github_refuses_is_told(hub: Hub, home: Repository) -> None:
    furnish(hub.github.world, home)
    at = {**named(home), "pull_number": 1}
    for tool, params in (("update_review", {"body": "b"}), ("dismiss_review", {"message": "m"})):
        assert "no such review" in await hub.refuse(tool, **at, review_id=99, **params)
    assert "no such review" in await hub.refuse("delete_pending_review", **at, review_id=99)
    assert "only an approval" in await hub.refuse("dismiss_review", **at, review_id=1, message="m")
    assert "was submitted" in await hub.refuse("delete_pending_review", **at, review_id=2)
    assert (await list_reviews(hub, home)).keys() == {1, 2, 3, 4}


async def test_a_finished_run_is_deleted_and_a_running_one_is_not(hub: Hub, home: Repository) -> None:
    furnish(hub.github.world, home)
    assert await hub.refuse("delete_workflow_run", **named(home), run_id=2)
    await hub.call("delete_workflow_run", **named(home), run_id=1)
    assert [one.id for one in home.runs] == [2]
