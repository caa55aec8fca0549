"""Jira Cloud, through its API below api.atlassian.com, or at a company's own site with an API token."""

from modules.jira import (
    comments,
    error_messages,
    field_tools,
    issue_changes,
    issue_links,
    issue_reading,
    lookups,
    transitions,
    worklogs,
)
from modules.jira.prompts import PROMPTS
from modules.jira.resource_changes import CHANGES
from modules.jira.resources import RESOURCES
from modules.kit import AccountRequest, Icon, Module, ParameterSample, VendorApi
from modules.kit.resource_changes import announce_changes

TOOLS = (
    *lookups.TOOLS,
    *issue_reading.TOOLS,
    *issue_changes.TOOLS,
    *issue_links.TOOLS,
    *transitions.TOOLS,
    *comments.TOOLS,
    *worklogs.TOOLS,
    *field_tools.TOOLS,
)

MODULE = Module(
    name="jira",
    title="Jira",
    description="Jira issues: search with JQL, read, create, change, move through their workflow, comment, log work.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=announce_changes(TOOLS, CHANGES),
    resources=RESOURCES,
    icon=Icon("#1868db", "M5 6h14v12H5ZM9 12l2.2 2.2L15.5 10"),
    prompts=PROMPTS,
    vendor=VendorApi(
        base_url="https://api.atlassian.com/ex/jira/{site}",
        account=AccountRequest("/rest/api/3/myself", name="/displayName"),
        headers={"Accept": "application/json"},
        rate_limit=error_messages.read_rate_limit,
        lacks_scope=error_messages.lacks_scope,
    ),
    samples={
        "issue": ParameterSample("ABC-1", "search_issues", "/issues/0/key"),
        "project": ParameterSample("ABC", "list_projects", "/projects/0/key"),
        "jql": ParameterSample("updated >= -3650d ORDER BY updated DESC"),
        "comment_id": ParameterSample("10001"),
        "worklog_id": ParameterSample("10001"),
        "other": ParameterSample("ABC-2"),
        "relation": ParameterSample("blocks"),
        "type": ParameterSample("Task"),
        "summary": ParameterSample("The sign-in page is slow"),
        "to": ParameterSample("Done"),
        "assignee": ParameterSample("nobody"),
        "time": ParameterSample("1h 30m"),
        "text": ParameterSample("Mended in **2.1**"),
        "search_users.query": ParameterSample("Ada", "get_myself", "/name"),
        "update_issue.summary": ParameterSample("The sign-in page takes 8 s"),
        "update_worklog.time": ParameterSample("2h"),
    },
)
