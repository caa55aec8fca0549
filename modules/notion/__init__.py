"""Notion, through its API at api.notion.com."""

from modules.kit import AccountRequest, Icon, Module, ParameterSample, VendorApi
from modules.kit.resource_changes import announce_changes
from modules.notion import blocks, comments, databases, pages, rest_client
from modules.notion.prompts import PROMPTS
from modules.notion.resource_changes import CHANGES
from modules.notion.resources import RESOURCES

TOOLS = (*pages.TOOLS, *blocks.TOOLS, *databases.TOOLS, *comments.TOOLS)
_EXAMPLE_ID = "59833787-2cf9-4fdf-8782-e53db20768a5"

MODULE = Module(
    name="notion",
    title="Notion",
    description="Notion pages, databases and comments: search, read, write as Markdown, query.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=announce_changes(TOOLS, CHANGES),
    resources=RESOURCES,
    icon=Icon("#57534e", "M6 5h12v14H6ZM9 9h6M9 12h6M9 15h3"),
    prompts=PROMPTS,
    vendor=VendorApi(
        base_url="https://api.notion.com",
        account=AccountRequest("/v1/users/me", name="/bot/workspace_name"),
        headers=rest_client.HEADERS,
    ),
    samples={
        "page_id": ParameterSample(_EXAMPLE_ID, "search_pages", "/results/0/id", arguments={"kind": "page"}),
        "block_id": ParameterSample(_EXAMPLE_ID, "search_pages", "/results/0/id", arguments={"kind": "page"}),
        "get_block.block_id": ParameterSample(_EXAMPLE_ID, "list_block_children", "/blocks/0/id"),
        "database_id": ParameterSample(_EXAMPLE_ID, "get_data_source", "/parent", part=1),
        "data_source_id": ParameterSample(
            _EXAMPLE_ID, "search_pages", "/results/0/id", arguments={"kind": "data_source"}
        ),
        "comment_id": ParameterSample(_EXAMPLE_ID, "list_comments", "/comments/0/id"),
        "parent_id": ParameterSample(_EXAMPLE_ID),
        "parent_page_id": ParameterSample(_EXAMPLE_ID),
        "create_comment.page_id": ParameterSample(_EXAMPLE_ID),
        "property_name": ParameterSample("title"),
        "title": ParameterSample("Tasks"),
        "markdown": ParameterSample("## Budget\n\n- 10 days"),
        "update_block.markdown": ParameterSample("Budget: 10 days"),
        "text": ParameterSample("Agreed, see **chapter 2**"),
        "create_page.title": ParameterSample("Plan for March"),
        "update_page.title": ParameterSample("Plan for April"),
        "update_page_markdown.append": ParameterSample("- 5 more days"),
        "update_database.title": ParameterSample("Tasks of the team"),
        "update_data_source.add": ParameterSample({"Due": "date"}),
    },
)
