"""Refusals that Confluence documents, changes, and bad input: each with the text that a client gets; and a call."""

from typing import Any

from tests.support.confluence_double import refuse
from tests.support.module_app import ModuleApp
from tests.support.vendor_double import VendorRefusal

REFUSALS: list[tuple[VendorRefusal, str, str]] = [
    (refuse(404, "made-up", "NOT_FOUND"), "get_page", "no such object"),
    (refuse(404, "made-up", version=1), "search", "no such object"),
    (refuse(403, "made-up", "FORBIDDEN"), "get_page", "lacks the permission"),
    (refuse(409, "made-up", "CONFLICT"), "get_page", "read it again"),
    (refuse(413, "made-up"), "get_page", "longer than Confluence takes"),
    (refuse(400, "Could not parse cql : made-up", version=1), "search", "cql has a mistake"),
    (refuse(400, "Invalid cursor made-up"), "search", "start at the beginning"),
    (refuse(400, "Error parsing xhtml: made-up"), "get_page", "markup that Confluence does not take"),
    (refuse(400, "A page with this title already exists: made-up"), "get_page", "a page with this title already"),
    (refuse(400, "Provided value {made-up} for 'id' is not the correct type"), "get_page", "ids from the lists"),
    (refuse(400, "made-up"), "get_page", "against the tool schema"),
    (VendorRefusal(403, {"code": 403, "message": "Forbidden; scope does not match"}), "get_page", "lacks the scope"),
    (refuse(500, "made-up", "INTERNAL_SERVER_ERROR"), "get_page", "try again later"),
    (VendorRefusal(502, "<html>made-up</html>"), "get_page", "try again later"),
    (VendorRefusal(503, {}, {"Retry-After": "600"}), "get_page", "600 s"),
]  # fmt: skip


WRITES: dict[str, dict[str, Any]] = {
    "create_page": {"title": "New", "body": "x", "space": "98306"},
    "update_page": {"page": "PAGE", "title": "New"},
    "add_comment": {"page": "PAGE", "text": "x"},
    "update_comment": {"comment": "COMMENT", "text": "x"},
    "add_labels": {"page": "PAGE", "labels": ["a"]},
}


BAD_INPUT: list[tuple[str, dict[str, Any], str]] = [
    ("get_page", {"page": "Home"}, "is no page: give its id"),
    ("get_page", {"page": "1", "version": 0}, "version"),
    ("get_page", {"page": "1", "offset": -1}, "offset"),
    ("get_page", {"page": "1", "colour": "red"}, "colour"),
    ("search", {"cql": "budget 2027"}, 'is no CQL: for words, write text ~ "words"'),
    ("search", {"cql": "type = page", "cursor": "bm8="}, "cursor"),
    ("list_pages", {"space": "Our engineering"}, "is no space: give its key"),
    ("list_pages", {"top_only": True}, "top_only needs a space"),
    ("list_pages", {"status": "gone"}, "status"),
    ("list_spaces", {"per_page": 101}, "per_page"),
    ("create_page", {"title": "x", "body": "x"}, "give space or parent"),
    ("create_page", {"title": " \t ", "body": "x", "space": "98306"}, "is empty"),
    ("create_page", {"title": "", "body": "x", "space": "98306"}, "title"),
    ("create_page", {"title": "x", "body": "`<p>`{=storage}", "space": "98306"}, "not well-formed"),
    ("create_page", {"title": "x", "body": "```{=storage}\n<table><tr>\n```", "space": "98306"}, "not well-formed"),
    ("create_page", {"title": "x", "body": "[d](date:2026-02-30)", "space": "98306"}, "2026-02-30"),
    ("create_page", {"title": "x", "body": "![a](b.png)", "space": "98306"}, "an image needs an address"),
    ("update_page", {"page": "1"}, "there is nothing to change"),
    ("update_page", {"page": "1", "body": "x", "append": "y"}, "give one of body, body_changes and append"),
    ("update_page", {"page": "1", "body_changes": [{"old": "", "new": "x"}]}, "old"),
    ("add_comment", {"text": "x"}, "give either page or reply_to"),
    ("add_comment", {"text": "x", "page": "1", "reply_to": "2"}, "give either page or reply_to"),
    ("get_comment", {"comment": "first"}, "is no comment"),
    ("add_labels", {"page": "1", "labels": ["two words"]}, "labels"),
    ("remove_label", {"page": "1", "label": "a,b"}, "label"),
]  # fmt: skip


async def call(app: ModuleApp, tool: str, /, **params: Any) -> Any:
    answer = await app.call(tool, **params)
    assert not answer.failed, answer.text
    return answer.value
