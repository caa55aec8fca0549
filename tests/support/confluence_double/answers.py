"""Confluence's answers and refusals, with all that the description has."""

import re
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from tests.support.confluence_double.world import ADA, BASE, MOMENT, Comment, Page, make_version, show_links
from tests.support.vendor_double import VendorRefusal

Json = dict[str, Any]
MAX_BODY = 4 * 2**20
_NAMESPACES = 'xmlns:ac="ac" xmlns:ri="ri"'
_ENTITIES = "<!DOCTYPE r [<!ENTITY nbsp '&#160;'><!ENTITY rarr '&#8594;'><!ENTITY hellip '&#8230;'>]>"


def refuse(status: int, title: str, code: str = "INVALID_REQUEST_PARAMETER", version: int = 2) -> VendorRefusal:
    """Build a refusal in the form of version 2, or of version 1."""
    if version == 1:
        return VendorRefusal(status, {"statusCode": status, "message": title})
    return VendorRefusal(status, {"errors": [{"status": status, "code": code, "title": title, "detail": None}]})


def refuse_missing(kind: str) -> VendorRefusal:
    return refuse(404, f"Not Found: {kind}", "NOT_FOUND")


def check_storage(storage: str) -> None:
    """Refuse what is no storage format, or too much of it."""
    if len(storage.encode()) > MAX_BODY:
        raise refuse(413, "Request body is too large", "REQUEST_TOO_LARGE")
    try:
        ElementTree.fromstring(f"{_ENTITIES}<r {_NAMESPACES}>{storage}</r>")
    except ElementTree.ParseError as error:
        raise refuse(400, f"Error parsing xhtml: {error}") from None


def show_found(page: Page, key: str) -> Json:
    """Show a page as searches do."""
    links = show_links(page, key)
    content = {"id": page.id, "type": "page", "status": "current", "title": page.title,
               "ari": f"ari:cloud:confluence:11223344-a1b2-3b33-c444-def123456789:page/{page.id}",
               "_links": {"webui": links["webui"], "tinyui": links["tinyui"],
                          "self": f"{BASE}/rest/api/content/{page.id}"}}  # fmt: skip
    return {
        "content": content, "title": page.title.replace("page", "@@@hl@@@page@@@endhl@@@"),
        "excerpt": re.sub("<[^>]*>", " ", page.body)[:300], "url": links["webui"],
        "resultGlobalContainer": {"title": "Engineering", "displayUrl": f"/spaces/{key}"}, "breadcrumbs": [],
        "entityType": "content", "iconCssClass": "aui-icon content-type-page", "lastModified": MOMENT,
        "friendlyLastModified": "Jan 31, 2026", "score": 0.0,
    }  # fmt: skip


def show_space(identity: str, key: str) -> Json:
    """Show a space."""
    return {
        "id": identity, "key": key, "name": f"名前 {key}", "type": "personal" if key[0] == "~" else "global",
        "status": "current", "authorId": ADA["accountId"], "spaceOwnerId": ADA["accountId"],
        "currentActiveAlias": key, "createdAt": MOMENT, "homepageId": "98400",
        "description": {"plain": {"value": "What we know", "representation": "plain"}, "view": None},
        "icon": {"path": "/aa-avatar/5b10a", "apiDownloadLink": "/wiki/download/thumbnails/1/icon.png"},
        "_links": {"webui": f"/spaces/{key}"},
    }  # fmt: skip


def show_page(page: Page, key: str, number: int = 0) -> Json:
    """Show a page as lists do; `number` is the version, 0 for the current."""
    number = number or len(page.bodies)
    return {
        "id": page.id, "status": page.status, "title": page.titles[number - 1], "spaceId": page.space,
        "parentId": page.parent, "parentType": "page" if page.parent else None, "position": 1_200_000_345,
        "authorId": ADA["accountId"], "ownerId": ADA["accountId"], "lastOwnerId": None, "createdAt": MOMENT,
        "version": make_version(number, page.messages[number - 1]), "body": {},
        "_links": show_links(page, key),
    }  # fmt: skip


def show_whole(page: Page, key: str, number: int = 0) -> Json:
    """Show a page with its body."""
    shown = show_page(page, key, number)
    return {**shown, "body": {"storage": {"value": page.bodies[number - 1], "representation": "storage"}},
            "_links": {**shown["_links"], "base": BASE}}  # fmt: skip


def show_comment(comment: Comment, page: Page, key: str) -> Json:
    """Show a comment with its body."""
    body = {"storage": {"value": comment.bodies[-1], "representation": "storage"}}
    webui = show_links(page, key)["webui"]
    return {
        "id": comment.id, "status": "current", "title": f"Re: {page.title}", "pageId": page.id,
        "version": make_version(len(comment.bodies)), "body": body, "resolutionStatus": "open",
        "_links": {"webui": f"{webui}?focusedCommentId={comment.id}"},
        **({"parentCommentId": comment.parent} if comment.parent else {}),
    }  # fmt: skip


def show_file(page: Page, number: int, name: str) -> Json:
    """Show an attached file."""
    download = f"/download/attachments/{page.id}/{quote(name)}?version=1&modificationDate=1769860800123&api=v2"
    webui = f"/pages/viewpageattachments.action?pageId={page.id}&preview=%2F{page.id}%2F{number}%2F{quote(name)}"
    return {
        "id": f"att{60_001 + number}", "status": "current", "title": name, "createdAt": MOMENT, "pageId": page.id,
        "mediaType": "image/png", "mediaTypeDescription": "PNG Image", "comment": "", "fileSize": 12_345,
        "fileId": "a1b2c3d4-0000-4000-8000-123456789abc", "webuiLink": webui, "downloadLink": download,
        "version": make_version(1), "_links": {"webui": webui, "download": download},
    }  # fmt: skip
