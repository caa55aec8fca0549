"""The module as it is declared: names, hints, scopes, what its schemas cost, and how it reads times."""

import tomllib
from pathlib import Path
from typing import Any

import orjson
import pytest

import broker
from gateway.catalogue import build_catalogue
from modules.jira import MODULE
from modules.jira.parameters import READ_USERS, READ_WORK, WRITE_WORK
from modules.jira.worklogs import read_time
from tests.support.jira_double import ROUTES
from tests.support.jira_double.server import load_description
from tests.support.tokens import tokens

# (read-only, destructive, idempotent) of the design's table.
READS, ADDS, CHANGES, ACTS = (True, False, False), (False, False, False), (False, True, True), (False, True, False)
HINTS = {
    **dict.fromkeys(
        ("list_projects", "search_users", "get_myself", "search_issues", "get_issue", "get_changelog",
         "list_transitions", "list_comments", "list_worklogs", "list_fields", "get_create_fields"), READS),
    **dict.fromkeys(("create_issue", "link_issues", "add_comment", "add_worklog"), ADDS),
    **dict.fromkeys(
        ("update_issue", "assign_issue", "delete_issue", "update_comment", "delete_comment", "update_worklog",
         "delete_worklog"), CHANGES),
    "transition_issue": ACTS,
}  # fmt: skip
# o200k tokens of name, description and parameters as a client would list them. Raise one only with a reason.
MOST_TOKENS = 280  # update_issue: two ways to change a description
MOST_ON_AVERAGE = 105


def test_every_tool_of_the_design_with_its_hints() -> None:
    found = {tool.name: (tool.hints.read_only, tool.hints.destructive, tool.hints.idempotent) for tool in MODULE.tools}
    assert found == HINTS
    assert all(tool.hints.open_world for tool in MODULE.tools)


def test_scopes_are_the_least_and_the_providers() -> None:
    document = tomllib.loads((Path(broker.__file__).parent / "providers.toml").read_text())
    offered = document["atlassian"]["modules"]["jira"]
    for tool in MODULE.tools:
        assert tool.hints.read_only == (WRITE_WORK not in tool.scopes), tool.name
        assert tool.scopes <= {READ_WORK, READ_USERS, WRITE_WORK}
    reading = {scope for tool in MODULE.tools if tool.hints.read_only for scope in tool.scopes}
    assert set(offered["reading"]) == reading
    assert set(offered["writing"]) == set(MODULE.scopes) - reading


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["jira"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


def test_the_double_serves_what_the_module_asks_for() -> None:
    assert set(ROUTES) <= set(load_description().operations())


TIMES: dict[str, Any] = {
    "1h 30m": {"timeSpentSeconds": 5400},
    "1h30m": {"timeSpentSeconds": 5400},
    "1.5h": {"timeSpentSeconds": 5400},
    "1:30": {"timeSpentSeconds": 5400},
    "90 minutes": {"timeSpentSeconds": 5400},
    "1 hour and 30 mins": {"timeSpentSeconds": 5400},
    "2D": {"timeSpent": "2d"},
    "1w 2d 3h 4m": {"timeSpent": "1w 2d 3h 4m"},
    **dict.fromkeys(("", "soon", "1", "h", "1.5d", "1d 1.5h", "1h 1h", "0m", "0.1m", "-1h", "1h x", "1:75", "9" * 60)),
}


@pytest.mark.parametrize("text", TIMES)
def test_times_in_jiras_form_and_in_plain_ones(text: str) -> None:
    if TIMES[text] is not None:
        assert read_time(text) == TIMES[text]
        return
    with pytest.raises(ValueError, match=r"no time|fraction|less than a minute"):
        read_time(text)
