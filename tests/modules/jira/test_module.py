"""The module as it is declared: names, hints, scopes, what its schemas cost, and how it reads times."""

import tomllib
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

import broker
from gateway.catalogue import build_catalogue
from modules.jira import MODULE
from modules.jira.comments import JiraComment
from modules.jira.field_tools import CreateField, JiraField, JiraIssueType
from modules.jira.issue_reading import IssueRow, JiraChange, JiraIssue
from modules.jira.lookups import JiraProject, JiraUser
from modules.jira.parameters import READ_USERS, READ_WORK, WRITE_WORK
from modules.jira.transitions import JiraTransition
from modules.jira.worklogs import JiraWorklog, read_time
from tests.support.jira_double import ROUTES, JiraDouble, jira_double
from tests.support.jira_double.server import load_description
from tests.support.jira_double.world import ADA, BOB, LINK_TYPES, MOMENT, TYPES, make_status
from tests.support.module_check import check_module, list_troubles
from tests.support.odd_answers import find_losses
from tests.support.tokens import tokens

# (read-only, destructive, idempotent) of the design's table.
READS, ADDS, CHANGES, ACTS = (True, False, False), (False, False, False), (False, True, True), (False, True, False)
HINTS = {
    **dict.fromkeys(
        ("list_projects", "search_users", "get_myself", "search_issues", "get_issue", "get_changelog",
         "list_transitions", "list_comments", "list_worklogs", "list_fields", "get_create_fields"), READS),
    **dict.fromkeys(("create_issue", "link_issues", "add_comment", "add_worklog"), ADDS),
    **dict.fromkeys(
        ("update_issue", "assign_issue", "delete_issue", "unlink_issues", "update_comment", "delete_comment",
         "update_worklog", "delete_worklog"), CHANGES),
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


def make_rows() -> dict[type[BaseModel], dict[str, Any]]:
    """A row of each kind as Jira sends it."""
    text = {"type": "doc", "version": 1, "content": [{"type": "paragraph", "content": [{"type": "text", "text": "x"}]}]}
    world = JiraDouble().world
    key = world.add("An issue", assignee=BOB, labels=["a"], duedate="2026-03-01", description=text)
    other = {"key": "ABC-9", "fields": {"summary": "other", "status": make_status("1")}}
    fields = {
        **world.issues[key], "parent": other, "subtasks": [other], "customfield_1": {"value": "Red"},
        "issuelinks": [{"type": LINK_TYPES[0], "outwardIssue": other}],
        "attachment": [{"id": "1", "filename": "a.txt", "size": 3, "mimeType": "text/plain"}],
    }  # fmt: skip
    issue = {"id": "1", "key": key, "fields": fields, "names": {"customfield_1": "Team"}}
    moments = {"created": MOMENT, "updated": "2026-02-01T12:00:00.000+0100"}
    option = {"name": "Team", "required": True, "allowedValues": [{"value": "Red"}], "schema": {"type": "option"}}
    return {
        IssueRow: issue,
        JiraIssue: issue,
        JiraComment: {"id": "1", "author": ADA, "body": text, "visibility": {"type": "role", "value": "a"}, **moments},
        JiraWorklog: {"id": "1", "author": ADA, "started": MOMENT, "timeSpent": "1h", "comment": text},
        JiraChange: {"author": ADA, **moments, "items": [{"field": "a", "fromString": "b", "toString": "c"}]},
        JiraProject: {"id": "1", "key": "ABC", "name": "x", "lead": ADA, "projectCategory": {"name": "y"}},
        JiraUser: {**ADA, "emailAddress": "a@acme.test"},
        JiraField: {"id": "a", "name": "b", "custom": True, "schema": {"type": "array", "items": "option"}},
        JiraIssueType: TYPES[0],
        CreateField: {**option, "fieldId": "a", "key": "a", "hasDefaultValue": True},
        JiraTransition: {"id": "1", "name": "x", "to": make_status("3"), "fields": {"a": option}},
    }


@pytest.mark.parametrize("shape", make_rows())
def test_an_odd_field_costs_itself_only(shape: type[BaseModel]) -> None:
    assert find_losses(shape, make_rows()[shape]) == []


async def test_the_check_runs_every_reading_tool() -> None:
    async with jira_double() as jira:
        jira.world.add("An issue")
        assert list_troubles(await check_module(MODULE, jira.url, "full")) == []
