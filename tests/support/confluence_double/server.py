"""Confluence's operations on a :class:`World`."""

import base64
import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import web

from tests.support.confluence_double.answers import (
    check_storage,
    refuse,
    refuse_missing,
    show_comment,
    show_file,
    show_found,
    show_page,
    show_space,
    show_whole,
)
from tests.support.confluence_double.description import load_description
from tests.support.confluence_double.world import ADA, BASE, Comment, Page, World, make_version
from tests.support.vendor_double import (
    EdgeRefusal,
    Handler,
    Operation,
    VendorCall,
    VendorDouble,
    VendorRefusal,
    VendorReply,
    serve_double,
)

Json = dict[str, Any]
PAIR = "a.lovelace@vendor.test:ATATT3x0123456789abcdef"
"""E-mail address and API token, as Basic has them."""
V1, V2 = "/wiki/rest/api", "/wiki/api/v2"
PAGES, PAGE, COMMENT = f"{V2}/pages", f"{V2}/pages/{{id}}", f"{V2}/footer-comments/{{comment-id}}"
SCOPES = {
    "reader": {
        *(f"read:{name}:confluence" for name in ("page", "space", "comment", "attachment", "hierarchical-content")),
        "read:user:confluence", "search:confluence",
    },
    "full": {
        *(f"{kind}:{name}:confluence" for kind in ("write", "delete") for name in ("page", "comment")),
        "write:label:confluence",
    },
}  # fmt: skip


class ConfluenceDouble(VendorDouble):
    """A site. `tokens` are the scopes of each bearer token; an API token has all. Who has the token `stranger` may use
    the site and sees nothing in it."""

    def __init__(self) -> None:
        super().__init__(load_description(), {one: handler for one, (_, handler) in self._list_routes().items()})
        self.world = World()
        self.tokens = {"full": SCOPES["reader"] | SCOPES["full"], "reader": SCOPES["reader"]}
        self.tokens["stranger"] = self.tokens["full"] | {"nothing"}

    def _list_routes(self) -> Mapping[Operation, tuple[str, Handler]]:
        return {operation: (scope, getattr(self, name)) for operation, (scope, name) in ROUTES.items()}

    def authenticate(self, request: web.Request) -> Any:
        kind, _, secret = request.headers.get("Authorization", "").partition(" ")
        if kind == "Basic" and base64.b64decode(secret).decode() == PAIR:
            return {scope for scope, _ in ROUTES.values()}
        if kind != "Bearer" or secret not in self.tokens:
            raise EdgeRefusal(401, {"code": 401, "message": "Unauthorized"})
        return self.tokens[secret]

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return refuse(status, reason)

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        if ROUTES[operation][0] not in call.caller:
            raise EdgeRefusal(401, {"code": 401, "message": "Unauthorized; scope does not match"})
        if operation[1].startswith(V1) and operation[0] != "get" and "X-Atlassian-Token" not in call.headers:
            raise VendorRefusal(403, {"message": "XSRF check failed"})
        if "nothing" in call.caller and (call.values or operation[0] == "post"):
            raise refuse_missing("content")

    # Finding

    def search(self, call: VendorCall) -> Any:
        forms = r'type = page(?: AND title ~ "([^"*]*)\*")?(?: ORDER BY lastmodified DESC)?|text ~ "([^"]*)"'
        terms = re.fullmatch(forms, call.query["cql"])
        if not terms:
            raise refuse(400, f"Could not parse cql : {call.query['cql']}", version=1)
        known = [one for one in self._current() if (terms[1] or terms[2] or "") in one.title + one.body]
        known = [] if "nothing" in call.caller else known
        page = self._page([show_found(one, self.world.spaces[one.space]) for one in known], call, f"{V1}/search")
        return {
            **page, "start": 0, "limit": int(call.query["limit"]), "size": len(page["results"]),
            "totalSize": len(known), "cqlQuery": call.query["cql"], "searchDuration": 12, "archivedResultCount": 0,
        }  # fmt: skip

    def spaces(self, call: VendorCall) -> Any:
        wanted = call.repeated.get("keys")
        rows = [
            show_space(identity, key)
            for identity, key in self.world.spaces.items()
            if (wanted is None or key in wanted) and call.query.get("status") != "archived"
            and call.query.get("type") in (None, "personal" if key[0] == "~" else "global")
        ]  # fmt: skip
        return self._page(rows, call, f"{V2}/spaces")

    # Reading pages

    def _current(self, status: str = "current") -> list[Page]:
        return [one for one in self.world.pages.values() if one.status == status]

    def _get(self, call: VendorCall) -> Page:
        page = self.world.pages.get(call.values["id"])
        if page is None or page.status == "trashed":
            raise refuse_missing("page")
        return page

    def pages(self, call: VendorCall) -> Any:
        known = self._current(call.query.get("status", "current"))
        space = call.values.get("id")
        if space is not None and space not in self.world.spaces:
            raise refuse_missing("space")
        rows = [
            one
            for one in known
            if space in (None, one.space)
            and call.query.get("title") in (None, one.title)
            and (call.query.get("depth") != "root" or one.parent is None)
        ]
        if call.query.get("sort") == "-modified-date":
            rows.reverse()
        address = f"{V2}/spaces/{space}/pages" if space else PAGES
        return self._page([show_page(one, self.world.spaces[one.space]) for one in rows], call, address)

    def page(self, call: VendorCall) -> Any:
        page = self._get(call)
        number = int(call.query.get("version", len(page.bodies)))
        if not 1 <= number <= len(page.bodies):
            raise refuse_missing("version")
        shown = show_whole(page, self.world.spaces[page.space], number)
        return shown if call.query.get("body-format") == "storage" else {**shown, "body": {}}

    def children(self, call: VendorCall) -> Any:
        above = self._get(call)
        rows = [
            {"id": one.id, "status": "current", "title": one.title, "type": "page", "spaceId": one.space,
             "childPosition": 100}
            for one in self._current() if one.parent == above.id
        ]  # fmt: skip
        rows.append({"id": "70001", "status": "current", "title": "Drawings", "type": "whiteboard",
                     "spaceId": above.space, "childPosition": 200})  # fmt: skip
        return self._page(rows, call, f"{PAGES}/{above.id}/direct-children")

    def versions(self, call: VendorCall) -> Any:
        page = self._get(call)
        names = ("createdAt", "message", "number", "minorEdit", "authorId")
        known = [make_version(number + 1, message) for number, message in enumerate(page.messages)]
        rows = [{**{name: one[name] for name in names}, "page": {"title": page.title, "id": page.id}} for one in known]
        if call.query.get("sort") == "-modified-date":
            rows.reverse()
        return self._page(rows, call, f"{PAGES}/{page.id}/versions")

    # Changing pages

    def create(self, call: VendorCall) -> Any:
        body = call.body
        if body["spaceId"] not in self.world.spaces:
            raise refuse_missing("space")
        if body.get("parentId") is not None and body["parentId"] not in self.world.pages:
            raise refuse(400, "Invalid parent: parent page does not exist")
        self._check(body, "", body["spaceId"])
        made = self.world.add(body["title"], body["body"]["value"], space=body["spaceId"], parent=body.get("parentId"))
        return self._show(self.world.pages[made])

    def _show(self, page: Page) -> Json:
        return show_whole(page, self.world.spaces[page.space])

    def _check(self, body: Json, identity: str, space: str) -> None:
        others = [one for one in self._current() if one.id != identity and one.space == space]
        if any(one.title == body["title"] for one in others):
            raise refuse(400, "A page already exists with the same TITLE in this space: title already exists")
        check_storage(body["body"]["value"])

    def update(self, call: VendorCall) -> Any:
        page, body = self._get(call), call.body
        current, given = len(page.bodies), body["version"].get("number")
        if given != current + 1:
            raise refuse(
                409, "Version must be incremented when updating a page. "
                f"Current Version: [{current}]. Provided version: [{given}]", "CONFLICT",
            )  # fmt: skip
        self._check(body, page.id, page.space)
        page.titles.append(body["title"])
        page.bodies.append(body["body"]["value"])
        page.messages.append(body["version"].get("message", ""))
        page.parent = body.get("parentId", page.parent)
        return self._show(page)

    def delete(self, call: VendorCall) -> Any:
        page = self.world.pages.get(call.values["id"])
        if page is None or (page.status == "trashed") != (call.query.get("purge") == "true"):
            raise refuse_missing("page") if page is None else refuse(400, "Cannot purge: not in the trash")
        if page.status == "trashed":
            del self.world.pages[page.id]
        page.status = "trashed"
        return VendorReply(204)

    # Comments

    def _get_comment(self, call: VendorCall, name: str = "comment-id") -> Comment:
        if call.values[name] not in self.world.comments:
            raise refuse_missing("comment")
        return self.world.comments[call.values[name]]

    def _show_comment(self, comment: Comment) -> Json:
        page = self.world.pages[comment.page]
        return show_comment(comment, page, self.world.spaces[page.space])

    def comments(self, call: VendorCall) -> Any:
        page = self._get(call)
        known = [one for one in self.world.comments.values() if one.page == page.id and one.parent is None]
        return self._list_comments(known, call, f"{PAGES}/{page.id}/footer-comments")

    def replies(self, call: VendorCall) -> Any:
        above = self._get_comment(call, "id")
        known = [one for one in self.world.comments.values() if one.parent == above.id]
        return self._list_comments(known, call, f"{V2}/footer-comments/{above.id}/children")

    def _list_comments(self, known: Sequence[Comment], call: VendorCall, address: str) -> Json:
        rows = [self._show_comment(one) for one in known]
        return self._page(rows[::-1] if call.query["sort"] == "-created-date" else rows, call, address)

    def comment(self, call: VendorCall) -> Any:
        return self._show_comment(self._get_comment(call))

    def add_comment(self, call: VendorCall) -> Any:
        body = call.body
        above = self.world.comments.get(body.get("parentCommentId", ""))
        page = above.page if above else body.get("pageId", "")
        if page not in self.world.pages or (above is None and "parentCommentId" in body):
            raise refuse_missing("container")
        check_storage(body["body"]["value"])
        made = self.world.add_comment(page, body["body"]["value"], above.id if above else None)
        return VendorReply(201, self._show_comment(self.world.comments[made]))

    def update_comment(self, call: VendorCall) -> Any:
        comment, body = self._get_comment(call), call.body
        if body["version"]["number"] != len(comment.bodies) + 1:
            raise refuse(409, "Version must be incremented when updating a comment.", "CONFLICT")
        check_storage(body["body"]["value"])
        comment.bodies.append(body["body"]["value"])
        return self._show_comment(comment)

    def delete_comment(self, call: VendorCall) -> Any:
        del self.world.comments[self._get_comment(call).id]
        return VendorReply(204)

    # What hangs on a page

    def labels(self, call: VendorCall) -> Any:
        page = self._get(call)
        rows = [{"id": str(5_001 + number), "name": one, "prefix": "global"} for number, one in enumerate(page.labels)]
        return self._page(rows, call, f"{PAGES}/{page.id}/labels")

    def add_labels(self, call: VendorCall) -> Any:
        page = self._get(call)
        if any(len(one["name"]) > 255 or " " in one["name"] for one in call.body):
            raise refuse(400, "Label name is not valid", version=1)
        page.labels += [one["name"] for one in call.body if one["name"] not in page.labels]
        rows = [
            {"prefix": "global", "name": one, "id": str(5_001 + number), "label": one}
            for number, one in enumerate(page.labels)
        ]
        return {"results": rows, "start": 0, "limit": 200, "size": len(rows), "_links": {"base": BASE}}

    def remove_label(self, call: VendorCall) -> Any:
        page = self._get(call)
        if call.query["name"] not in page.labels:
            raise refuse(404, "No label", version=1)
        page.labels.remove(call.query["name"])
        return VendorReply(204)

    def attachments(self, call: VendorCall) -> Any:
        page = self._get(call)
        wanted = call.query.get("filename")
        rows = [show_file(page, number, name) for number, name in enumerate(one["title"] for one in page.files)]
        return self._page(
            [one for one in rows if wanted in (None, one["title"])], call, f"{PAGES}/{page.id}/attachments"
        )

    # People

    def people(self, call: VendorCall) -> Any:
        return {"results": [ADA for one in call.body["accountIds"] if one == ADA["accountId"]]}

    def myself(self, _: VendorCall) -> Any:
        return {"type": "known", "accountId": ADA["accountId"], "displayName": ADA["displayName"]}

    def _page(self, rows: Sequence[Json], call: VendorCall, address: str) -> Json:
        """Build a page of a list, with the next one's address as Confluence has it: below the site, with a cursor."""
        rows = [] if "nothing" in call.caller else rows
        size = int(call.query["limit"])
        cursor = call.query.get("cursor", "")
        form = re.fullmatch(r"at:(\d+)", base64.b64decode(cursor).decode()) if cursor else None
        if cursor and not form:
            raise refuse(400, "Invalid cursor")
        start = int(form[1]) if form else 0
        links = {"base": BASE}
        if start + size < len(rows):
            following = quote(base64.b64encode(f"at:{start + size}".encode()).decode(), safe="")
            links["next"] = f"{address}?limit={size}&cursor={following}"
        return {"results": list(rows[start : start + size]), "_links": links}


READ, WRITE = "read:page:confluence", "write:page:confluence"
READ_COMMENT, WRITE_COMMENT = "read:comment:confluence", "write:comment:confluence"
ROUTES: dict[Operation, tuple[str, str]] = {
    ("get", f"{V1}/search"): ("search:confluence", "search"),
    ("get", f"{V2}/spaces"): ("read:space:confluence", "spaces"),
    ("get", PAGES): (READ, "pages"),
    ("post", PAGES): (WRITE, "create"),
    ("get", f"{V2}/spaces/{{id}}/pages"): (READ, "pages"),
    ("get", PAGE): (READ, "page"),
    ("put", PAGE): (WRITE, "update"),
    ("delete", PAGE): ("delete:page:confluence", "delete"),
    ("get", f"{PAGE}/direct-children"): ("read:hierarchical-content:confluence", "children"),
    ("get", f"{PAGE}/versions"): (READ, "versions"),
    ("get", f"{PAGE}/footer-comments"): (READ_COMMENT, "comments"),
    ("get", f"{V2}/footer-comments/{{id}}/children"): (READ_COMMENT, "replies"),
    ("post", f"{V2}/footer-comments"): (WRITE_COMMENT, "add_comment"),
    ("get", COMMENT): (READ_COMMENT, "comment"),
    ("put", COMMENT): (WRITE_COMMENT, "update_comment"),
    ("delete", COMMENT): ("delete:comment:confluence", "delete_comment"),
    ("get", f"{PAGE}/labels"): (READ, "labels"),
    ("post", f"{V1}/content/{{id}}/label"): ("write:label:confluence", "add_labels"),
    ("delete", f"{V1}/content/{{id}}/label"): ("write:label:confluence", "remove_label"),
    ("get", f"{PAGE}/attachments"): ("read:attachment:confluence", "attachments"),
    ("post", f"{V2}/users-bulk"): ("read:user:confluence", "people"),
    ("get", f"{V1}/user/current"): ("read:content-details:confluence", "myself"),
}


@contextlib.asynccontextmanager
async def confluence_double() -> AsyncIterator[ConfluenceDouble]:
    """Serve a double."""
    async with serve_double(ConfluenceDouble()) as double:
        yield double
