"""Searches, the connected account, its events and notifications."""

import pytest
from pydantic import ValidationError

from modules.kit import VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.world import Event, Notification, Pull


async def test_issues_over_all_repositories(app: GitHubApp) -> None:
    world = app.github.world
    world.issue(app.app, "Login fails", "eve")
    world.issue(app.secret, "Login of agents", "mona", pull=Pull("main", "main"))
    found = await app.mona.call("search_issues", q="login is:issue", order="asc")
    assert (found["total_count"], [(one["repository"], one["number"]) for one in found["items"]]) == (
        2, [("mona/app", 1), ("mona/secret", 1)],
    )  # fmt: skip
    found = await app.mona.call("search_issues", q="is:pr author:@me repo:mona/secret")
    assert [one["pull_request"] for one in found["items"]] == [True]
    assert [one["repository"] for one in (await app.eve.call("search_issues", q="is:issue"))["items"]] == ["mona/app"]
    assert [one["number"] for one in (await app.eve.call("search_issues", q="login"))["items"]] == [1]
    with pytest.raises(
        VendorProblem, match="q names a user or repository that does not exist or that the account may not"
    ):
        await app.eve.call("search_issues", q="is:issue repo:mona/secret")


async def test_a_search_ends_at_a_thousand(app: GitHubApp) -> None:
    for n in range(1010):
        app.github.world.issue(app.app, f"Issue {n}", "eve")
    page = await app.mona.call("search_issues", q="is:issue", per_page=100)
    seen, pages = len(page["items"]), 1
    while "nextCursor" in page:
        page = await app.mona.call("search_issues", q="is:issue", cursor=page["nextCursor"])
        seen, pages = seen + len(page["items"]), pages + 1
    assert (seen, pages, page["total_count"]) == (1000, 10, 1010)


async def test_code_with_the_lines_that_match(app: GitHubApp) -> None:
    app.github.world.commit(app.app, {"src/検索.py": "def find():\n    return 検索\u202e\n".encode()})
    found = await app.mona.call("search_code", q="検索 repo:mona/app")
    [hit] = found["items"]
    assert hit == {
        "repository": "mona/app", "path": "src/検索.py", "sha": hit["sha"], "fragments": ["    return 検索"],
    }  # fmt: skip
    with pytest.raises(VendorProblem, match="refuses the values: q missing"):
        await app.mona.call("search_code", q="repo:mona/app")


async def test_repositories_by_words(app: GitHubApp) -> None:
    found = await app.hubot.call("search_repositories", q="app", sort="stars")
    assert [one["full_name"] for one in found["items"]] == ["mona/app"]


@pytest.mark.parametrize("q", ["", "x" * 1001])
async def test_the_length_of_a_query(app: GitHubApp, q: str) -> None:
    with pytest.raises(ValidationError, match="q"):
        await app.mona.call("search_repositories", q=q)


async def test_who_is_connected(app: GitHubApp) -> None:
    found = await app.mona.call("get_me")
    assert found == {"login": "mona", "name": "Mona", "html_url": "https://github.test/mona"}


async def test_what_somebody_did(app: GitHubApp) -> None:
    world, sha = app.github.world, app.app.branches["main"]
    push: dict[str, object] = {"ref": "refs/heads/main", "head": sha, "before": sha}
    issue: dict[str, object] = {"action": "opened", "issue": {"number": 7, "title": "Plan\u200b"}}
    world.events += [
        Event("1", "PushEvent", "mona", app.app, ("push-event", push), world.now()),
        Event("2", "IssuesEvent", "mona", app.secret, ("issues-event", issue), world.now()),
    ]
    own = await app.mona.call("list_user_events")
    assert own["events"] == [
        {
            "type": "IssuesEvent", "repo": "mona/secret", "created_at": world.events[1].at, "action": "opened",
            "number": 7, "title": "Plan",
        },
        {"type": "PushEvent", "repo": "mona/app", "created_at": world.events[0].at, "ref": "refs/heads/main"},
    ]  # fmt: skip
    assert len((await app.eve.call("list_user_events", username="mona"))["events"]) == 1
    with pytest.raises(VendorProblem, match="there is no such account"):
        await app.mona.call("list_user_events", username="nobody")


async def test_notifications(app: GitHubApp) -> None:
    now = app.github.world.now
    app.github.world.notifications["mona"] = [
        Notification("1", app.app, 4, "Please look", "mention", unread=True, at=now()),
        Notification("2", app.app, 5, "Done", "assign", unread=False, at=now()),
    ]
    found = await app.mona.call("list_notifications")
    assert [(one["repository"], one["number"], one["reason"]) for one in found["notifications"]] == [
        ("mona/app", "4", "mention")
    ]
    assert len((await app.mona.call("list_notifications", all=True, participating=True))["notifications"]) == 2
    with pytest.raises(ValidationError, match="per_page"):
        await app.mona.call("list_notifications", per_page=51)


async def test_notifications_need_a_scope(app: GitHubApp) -> None:
    app.github.world.token("narrow", "mona", scopes=frozenset({"read:user"}))
    with pytest.raises(
        VendorProblem, match="needs the scope notifications or repo, and the token has read:user"
    ) as caught:
        await app.caller("narrow").call("list_notifications")
    assert caught.value.kind == "forbidden"
