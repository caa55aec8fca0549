"""Jira Cloud, through its API below api.atlassian.com, or at a company's own site with an API token."""

from modules.jira import (
    comments,
    error_messages,
    field_tools,
    issue_changes,
    issue_reading,
    lookups,
    record_changes,
    transitions,
    worklogs,
)
from modules.kit import AccountRequest, Module, VendorApi

TOOLS = (
    *lookups.TOOLS,
    *issue_reading.TOOLS,
    *issue_changes.TOOLS,
    *transitions.TOOLS,
    *comments.TOOLS,
    *worklogs.TOOLS,
    *record_changes.TOOLS,
    *field_tools.TOOLS,
)

MODULE = Module(
    name="jira",
    title="Jira",
    description="Jira issues: search with JQL, read, create, change, move through their workflow, comment, log work.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=TOOLS,
    vendor=VendorApi(
        base_url="https://api.atlassian.com/ex/jira/{site}",
        account=AccountRequest("/rest/api/3/myself", name="/displayName"),
        headers={"Accept": "application/json"},
        rate_limit=error_messages.read_rate_limit,
        lacks_scope=error_messages.lacks_scope,
    ),
)
