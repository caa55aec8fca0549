"""Raindrop.io, a bookmark service, through its REST API (https://developer.raindrop.io)."""

from modules.kit import AccountRequest, Module, ParameterSample, VendorApi
from raindrop_module.tools import READ, TOOLS, WRITE

MODULE = Module(
    name="raindrop",
    title="Raindrop.io",
    description="Bookmarks at Raindrop.io: search, read, save.",
    scopes=frozenset({READ, WRITE}),
    tools=TOOLS,
    vendor=VendorApi(
        base_url="https://api.raindrop.io/rest/v1",
        account=AccountRequest("/user", name="/user/fullName"),
    ),
    samples={
        "bookmark_id": ParameterSample(1, tool="search_bookmarks", pointer="/bookmarks/0/id"),
        "link": ParameterSample("https://example.com/"),
    },
)
