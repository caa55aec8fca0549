"""Issues without pull requests, milestones, branches of pull requests, notifications and searches, through `/mcp`."""

from typing import Any

import pytest

from modules.github.issues import MAX_PAGES
from tests.modules.github.conftest import Hub, named
from tests.support.github_double import Repository
from tests.support.github_double.call import Refused
from tests.support.github_double.parts import Milestone
from tests.support.github_double.world import Event, Notification, Pull

pytestmark = pytest.mark.asyncio(loop_scope="package")


def numbers(found: dict[str, Any]) -> list[int]:
    return [one["number"] for one in found["issues"]]


async def test_pages_of_nothing_but_pull_requests_are_read_over(hub: Hub, home: Repository) -> None:
    world = hub.github.world
    world.issue(home, "Oldest", "eve")
    for n in range(7):
        world.issue(home, f"Pull {n}", "hubot", pull=Pull("main", "main"))
    hub.github.seen.clear()
    first = await hub.call("list_issues", **named(home), per_page=1)
    assert (first["issues"], len(hub.github.seen)) == ([], MAX_PAGES)
    rest = await hub.call("list_issues", **named(home), cursor=first["nextCursor"])
    assert (numbers(rest), "nextCursor" in rest) == ([1], False)
    assert numbers(await hub.call("list_issues", **named(home), per_page=3)) == [1]
    assert await hub.call("list_issues", **named(home), state="closed") == {"issues": []}


async def test_issues_by_milestone_and_who_is_mentioned(hub: Hub, home: Repository) -> None:
    world = hub.github.world
    home.parts.milestones[1] = Milestone(1, "M")
    world.issue(home, "One", "eve", milestone=1)
    world.issue(home, "Two", "eve", body="@hubot, look")
    for asked, expected in (
        ({"milestone": "1"}, [1]), ({"milestone": "none"}, [2]), ({"milestone": "*"}, [1]),
        ({"mentioned": "hubot"}, [2]), ({"direction": "asc"}, [1, 2]), ({}, [2, 1]),
    ):  # fmt: skip
        assert numbers(await hub.call("list_issues", **named(home), **asked)) == expected, asked
    for wrong in ("M", "0", ""):
        assert "milestone: string should match" in await hub.refuse("list_issues", **named(home), milestone=wrong)
    await hub.call("update_issue", **named(home), issue_number=1, milestone=0)
    assert home.issues[1].milestone is None
    await hub.call("update_issue", **named(home), issue_number=2, milestone=1)
    assert home.issues[2].milestone == 1
    said = await hub.refuse("update_issue", **named(home), issue_number=2, milestone=9)
    assert said == "GitHub refuses the values: milestone invalid"


async def test_the_alias_answers_as_its_callers_know_it(hub: Hub, home: Repository) -> None:
    made = await hub.call(
        "create_github_issue", repo=home.full_name, title="壊れた 🐛", body="手順 ملاحظات", labels=["bug"]
    )
    assert made == {"issue_url": f"https://github.test/{home.full_name}/issues/1", "issue_number": 1}
    one = home.issues[1]
    assert (one.title, one.body, one.labels) == ("壊れた 🐛", "手順 ملاحظات", ["bug"])
    hub.github.seen.clear()
    for wrong in ("app", "mona/", "/app", "mona/app/x", "../app"):
        assert "repo: value error" in await hub.refuse("create_github_issue", repo=wrong, title="t", body="b")
    assert hub.github.seen == []


async def test_an_issue_becomes_a_pull_request_and_its_branch_is_updated(hub: Hub, home: Repository) -> None:
    world = hub.github.world
    await hub.call("create_branch", **named(home), branch="dev")
    world.commit(home, {"b": b"1"}, branch="dev")
    world.issue(home, "One", "eve", body="Why")
    made = await hub.call("create_pull_request", **named(home), head="dev", base="main", issue=1)
    assert made["number"] == 1
    said = await hub.refuse("create_pull_request", **named(home), head="dev", base="main", issue=1, title="t")
    assert said == "give either title, with body if any, or issue"
    one = {**named(home), "pull_number": 1}
    assert "head has all commits of base already" in await hub.refuse("update_pull_request_branch", **one)
    said = await hub.refuse("update_pull_request_branch", **one, sha="0" * 40)
    assert "head has newer commits than sha" in said
    world.commit(home, {"c": b"2"})
    done = await hub.call("update_pull_request_branch", **one, sha=home.branches["dev"])
    assert done == {"accepted": True}
    assert home.branches["main"] in home.commits[home.branches["dev"]].parents
    world.commit(home, {"b": b"3"})
    assert "cannot be merged now" in await hub.refuse("update_pull_request_branch", **one)
    for order, expected in (("asc", [1, 2]), ("desc", [2, 1])):
        if order == "asc":
            world.issue(home, "Two", "eve", pull=Pull("dev", "main"))
        found = await hub.call("list_pull_requests", **named(home), direction=order)
        assert [row["number"] for row in found["pull_requests"]] == expected


async def test_a_notification_is_read(hub: Hub, home: Repository) -> None:
    world = hub.github.world
    world.notifications["mona"] = [Notification("7", home, 4, "Look", "mention", unread=True, at=world.now())]
    [listed] = (await hub.call("list_notifications"))["notifications"]
    assert await hub.call("mark_notification_read", thread_id=listed["id"]) == {"done": True}
    assert await hub.call("list_notifications") == {"notifications": []}
    assert await hub.refuse("mark_notification_read", thread_id="8") == "there is no such notification"
    assert "thread_id: string should match" in await hub.refuse("mark_notification_read", thread_id="7/../8")


async def test_what_was_made_is_told_of_an_event(hub: Hub, home: Repository) -> None:
    made: dict[str, object] = {
        "ref": None, "ref_type": "repository", "full_ref": "", "master_branch": "main", "pusher_type": "user"
    }  # fmt: skip
    hub.github.world.events[:] = [Event("1", "CreateEvent", "mona", home, ("create-event", made), home.created)]
    [event] = (await hub.call("list_user_events"))["events"]
    assert event == {
        "type": "CreateEvent", "repo": home.full_name, "created_at": home.created, "ref_type": "repository",
    }  # fmt: skip
    hub.github.next_answers = [Refused(422, "In order to keep the API fast for everyone, pagination is limited.").reply]
    assert "GitHub shows no more of this list" in await hub.refuse("list_user_events", username="mona")


async def test_a_search_that_says_what_kind_it_is_stays_as_it_is(hub: Hub, home: Repository) -> None:
    hub.github.world.issue(home, "One", "eve")
    hub.github.world.issue(home, "Two", "eve", pull=Pull("main", "main"))
    for q, added in (
        ("one", "+is:issue"), ("is:issue one", ""), ("(is:pr OR is:issue) one", ""), ("one type:pr", ""),
        ("this:issue one", "+is:issue"),
    ):  # fmt: skip
        hub.github.seen.clear()
        await hub.product.call("search_issues", q=f"{q} repo:{home.full_name}")
        asked = hub.github.seen[0].partition("q=")[2].partition("&")[0].replace("%20", "+").replace("%3A", ":")
        assert asked.endswith(f"{home.name}{added}"), asked
