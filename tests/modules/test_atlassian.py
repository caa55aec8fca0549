"""Jira and Confluence with one grant of Atlassian's, through `/mcp`: connected once, together, for one site."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from broker.providers.catalogue import load_builtin_providers
from tests.modules.atlassian_app import SITE, SITE_NAME, SITES, AtlassianApp, open_atlassian
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person

MODULES = load_builtin_providers().get("atlassian").modules
BASE = {"offline_access", "read:me"}
READING = {scope for one in MODULES.values() for scope in one.reading}
BOTH = [("jira", "confluence"), ("confluence", "jira")]
JOINED = pytest.mark.parametrize(("module", "other"), BOTH, ids=["from jira", "from confluence"])


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[AtlassianApp]:
    async with open_atlassian(database, tmp_path) as made:
        made.jira.world.add("The sign-in page is slow")
        made.confluence.world.add("Meeting notes")
        yield made


async def read_both(app: AtlassianApp, person: Person) -> dict[str, Any]:
    """Call a tool of each service, which works; their rows."""
    issues = await app.call(person, "jira", "search_issues", jql="project = ABC")
    pages = await app.call(person, "confluence", "search", cql="type = page")
    assert not issues.failed, issues.text
    assert not pages.failed, pages.text
    return {"jira": issues.value["issues"], "confluence": pages.value["results"]}


async def find_refusals(app: AtlassianApp, person: Person) -> dict[str, str]:
    """Call a tool of each service, which is refused before Atlassian is asked; what is said."""
    asked = len(app.jira.seen) + len(app.confluence.seen)
    issues = await app.call(person, "jira", "search_issues", jql="project = ABC")
    pages = await app.call(person, "confluence", "search", cql="type = page")
    assert issues.failed, issues.text
    assert pages.failed, pages.text
    assert len(app.jira.seen) + len(app.confluence.seen) == asked
    return {"jira": issues.text, "confluence": pages.text}


@JOINED
async def test_one_consent_asks_for_both_and_both_work_at_the_site(app: AtlassianApp, module: str, other: str) -> None:
    scopes, page = await app.connect(app.ada, module, **{f"also.{other}": "on"})
    assert len(scopes) == len(set(scopes))
    assert set(scopes) == BASE | READING
    assert f"at {SITE_NAME}" in page
    rows = await read_both(app, app.ada)
    assert [one["summary"] for one in rows["jira"]] == ["The sign-in page is slow"]
    assert [one["title"] for one in rows["confluence"]] == ["Meeting notes"]
    assert app.jira.seen[-1].partition(" ")[2].startswith(f"/ex/jira/{SITE}/")
    assert app.confluence.seen[-1].partition(" ")[2].startswith(f"/ex/confluence/{SITE}/")
    assert set(app.jira.secrets) == set(app.confluence.secrets) == app.vendor.state.grants[0].access
    assert len(app.vendor.state.grants) == len(await app.list_accounts(app.ada)) == 1
    assert await app.list_states(app.ada) == {"jira": "connected", "confluence": "connected"}


async def test_the_only_site_of_a_grant_is_taken_for_both(app: AtlassianApp) -> None:
    app.vendor.resources["/oauth/token/accessible-resources"] = [one for one in SITES if one["id"] == SITE]
    _, page = await app.connect(app.ada, "jira", **{"also.confluence": "on"})
    assert f"at {SITE_NAME}" in page
    await read_both(app, app.ada)


@JOINED
async def test_ending_one_ends_both(app: AtlassianApp, module: str, other: str) -> None:
    await app.connect(app.ada, module, **{f"also.{other}": "on"})
    await read_both(app, app.ada)
    assert "access was revoked at the vendor" in await app.disconnect(app.ada, other)
    assert [one.dead for one in app.vendor.state.grants] == [True]
    assert await app.list_accounts(app.ada) == []
    await within(1.0, lambda: are_unconnected(app, app.ada))
    for name, text in (await find_refusals(app, app.ada)).items():
        assert f"/connect/{name}" in text


async def are_unconnected(app: AtlassianApp, person: Person) -> bool:
    return set((await app.list_states(person)).values()) == {"needs_connect"}


@pytest.mark.guarantee("G9")
async def test_nobody_else_has_either(app: AtlassianApp) -> None:
    await app.connect(app.ada, "jira", **{"also.confluence": "on"})
    await read_both(app, app.ada)
    for person in (app.eve, app.bob):
        assert await are_unconnected(app, person)
        for name, text in (await find_refusals(app, person)).items():
            assert f"/connect/{name}" in text
    assert await app.list_accounts(app.eve) == []


async def test_two_tenants_of_one_site_have_a_grant_each(app: AtlassianApp) -> None:
    for person in (app.ada, app.eve):
        await app.connect(person, "jira", **{"also.confluence": "on"})
        await read_both(app, person)
    first, second = app.vendor.state.grants
    assert app.jira.secrets == app.confluence.secrets == [*first.access, *second.access]
    await app.disconnect(app.ada, "jira")
    await within(1.0, lambda: are_unconnected(app, app.ada))
    await read_both(app, app.eve)


async def test_only_one_is_connected_where_only_one_is_wanted(app: AtlassianApp) -> None:
    scopes, _ = await app.connect(app.ada, "jira")
    assert set(scopes) == BASE | set(MODULES["jira"].reading)
    assert await app.list_states(app.ada) == {"jira": "connected", "confluence": "needs_connect"}
    asked = len(app.confluence.seen)
    assert (await app.call(app.ada, "confluence", "search", cql="type = page")).failed
    assert len(app.confluence.seen) == asked


async def test_asked_for_changes_of_one_the_other_keeps_what_it_has(app: AtlassianApp) -> None:
    await app.connect(app.ada, "jira", **{"also.confluence": "on"})
    await read_both(app, app.ada)
    asked = len(app.jira.seen)
    refused = await app.call(app.ada, "jira", "add_comment", issue="ABC-1", text="Mended")
    assert "/connect/jira" in refused.text
    assert len(app.jira.seen) == asked
    scopes, _ = await app.connect(app.ada, "jira", writing="on")
    assert set(scopes) == BASE | READING | set(MODULES["jira"].writing)

    async def is_added() -> bool:
        return not (await app.call(app.ada, "jira", "add_comment", issue="ABC-1", text="Mended")).failed

    await within(1.0, is_added)
    await read_both(app, app.ada)
    refused = await app.call(app.ada, "confluence", "create_page", title="New", body="x", space="98306")
    assert "/connect/confluence" in refused.text
    assert len(await app.list_accounts(app.ada)) == 1


async def test_a_token_that_has_ended_is_renewed_once_for_both(app: AtlassianApp) -> None:
    await app.connect(app.ada, "jira", **{"also.confluence": "on"})
    await read_both(app, app.ada)
    (grant,) = app.vendor.state.grants
    grant.access.clear()
    await read_both(app, app.ada)
    assert len(app.vendor.state.presented) == 1
    assert {app.jira.secrets[-1], app.confluence.secrets[-1]} == grant.access
