"""Notion, through its API at api.notion.com."""

from modules.kit import AccountRequest, Module, VendorApi
from modules.notion import blocks, comments, databases, pages, rest_client

TOOLS = (*pages.TOOLS, *blocks.TOOLS, *databases.TOOLS, *comments.TOOLS)

MODULE = Module(
    name="notion",
    title="Notion",
    description="Notion pages, databases and comments: search, read, write as Markdown, query.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=TOOLS,
    vendor=VendorApi(
        base_url="https://api.notion.com",
        account=AccountRequest("/v1/users/me", name="/bot/workspace_name"),
        headers=rest_client.HEADERS,
    ),
)
