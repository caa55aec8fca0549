"""Confluence Cloud, through its API below api.atlassian.com, or at a company's own site with an API token."""

from modules.confluence import (
    comment_changes,
    comments,
    error_messages,
    page_changes,
    page_details,
    page_reading,
    spaces,
)
from modules.confluence.resource_changes import CHANGES
from modules.confluence.resources import RESOURCES
from modules.kit import AccountRequest, Icon, Module, ParameterSample, VendorApi
from modules.kit.resource_changes import announce_changes

TOOLS = (
    *spaces.TOOLS,
    *page_reading.TOOLS,
    *page_changes.TOOLS,
    *comments.TOOLS,
    *comment_changes.TOOLS,
    *page_details.TOOLS,
)

MODULE = Module(
    name="confluence",
    title="Confluence",
    description="Confluence pages and spaces: search, read and write pages as Markdown, comment, label.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=announce_changes(TOOLS, CHANGES),
    resources=RESOURCES,
    icon=Icon("#0b6e99", "M7 5h7l4 4v10H7ZM14 5v4h4M10 13h5M10 16h5"),
    vendor=VendorApi(
        base_url="https://api.atlassian.com/ex/confluence/{site}",
        account=AccountRequest("/wiki/rest/api/user/current", name="/displayName"),
        headers={"Accept": "application/json"},
        rate_limit=error_messages.read_rate_limit,
        lacks_scope=error_messages.lacks_scope,
    ),
    samples={
        "cql": ParameterSample("type = page"),
        "page": ParameterSample("98321", "list_pages", "/pages/0/id"),
        "comment": ParameterSample("65601", "list_comments", "/comments/0/id"),
        "space": ParameterSample("ENG", "list_spaces", "/spaces/0/key"),
        "title": ParameterSample("Plan for March"),
        "body": ParameterSample("## Budget\n\n- 10 days"),
        "text": ParameterSample("Agreed, see **chapter 2**"),
        "create_page.space": ParameterSample("ENG"),
        "update_page.append": ParameterSample("- 5 more days"),
        "add_comment.page": ParameterSample("98321"),
        "labels": ParameterSample(["approved"]),
        "label": ParameterSample("approved"),
    },
)
