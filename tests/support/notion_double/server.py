"""The double on a socket: who asks, whether the request is as described and within Notion's limits, and what for."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

from aiohttp import web

from tests.support.notion_double.world import (
    ALL,
    PERSON,
    Json,
    Refused,
    World,
    answer_content,
    answer_texts,
    build_column,
)
from tests.support.vendor_contract import contract
from tests.support.vendor_double import Operation, VendorCall, VendorDouble, VendorRefusal, serve_double

MAX_CHILDREN, MAX_TEXT, MAX_LEVELS, MAX_BLOCKS, MAX_PARTS = 100, 2000, 2, 1000, 100


class Call(NamedTuple):
    """A request of somebody who is known."""

    world: World
    values: dict[str, str]
    query: dict[str, str]
    body: Json

    def find(self, kind: str, object_id: str) -> Json:
        """An object by its id."""
        found = getattr(self.world, kind).get(object_id)
        if found is None:
            raise Refused(404, "object_not_found", f"Could not find object with ID: {object_id}. Is it shared?")
        return found

    def value(self) -> str:
        return next(iter(self.values.values()))

    def listed(self, items: list[Any], kind: str) -> Json:
        """The page of a list that was asked for; a cursor is a place."""
        asked = {**self.query, **self.body}
        size, start = int(asked.get("page_size", 100)), asked.get("start_cursor")
        if not 0 < size <= 100 or (start is not None and not str(start).startswith("at-")):
            raise Refused(400, "validation_error", "start_cursor is not valid")
        place = int(str(start).removeprefix("at-")) if start else 0
        more = place + size < len(items)
        page = {"object": "list", "results": items[place : place + size], "has_more": more, "type": kind, kind: {}}
        return {**page, "next_cursor": f"at-{place + size}" if more else None}


def _search(call: Call) -> Json:
    query, wanted = call.body.get("query", "").lower(), call.body.get("filter", {}).get("value")
    found = [*call.world.pages.values(), *call.world.sources.values()]
    kept = [one for one in found if wanted in (None, one["object"]) and query in str(one).lower()]
    return call.listed(kept, "page_or_data_source")


def _new_page(call: Call) -> Json:
    parent = call.body["parent"]
    kind, parent_id = next((name, one) for name, one in parent.items() if name != "type")
    if kind == "page_id":
        call.find("pages", parent_id)
        answered: Json = {"type": kind, kind: parent_id}
    else:
        source = call.find("sources", parent_id)
        answered = {"type": kind, kind: parent_id, "database_id": source["parent"]["database_id"]}
    page = call.world.page("", answered, {})
    _set_properties(call, page, call.body.get("properties", {}))
    _set_icon(call, page)
    call.world.append(page["id"], call.body.get("children", []))
    if "template" in call.body:
        _apply_template(call, page)
    return page


def _apply_template(call: Call, page: Json) -> None:
    """Notion fills the page a little later; here at once."""
    if "children" in call.body or "data_source_id" not in page["parent"]:
        raise Refused(400, "validation_error", "body.children should be not present with a template")
    known = call.world.templates.get(page["parent"]["data_source_id"], [])
    chosen = call.body["template"]
    wanted = ("id", chosen["template_id"]) if chosen["type"] == "template_id" else ("is_default", True)
    found = next((one for one in known if one[wanted[0]] == wanted[1]), None)
    if found is None:
        raise Refused(400, "validation_error", "body.template is not a template of the data source")
    call.world.markdown[page["id"]] = f"from {found['name']}"


def _templates(call: Call) -> Json:
    known = call.world.templates.get(call.find("sources", call.value())["id"], [])
    named = [one for one in known if call.query.get("name", "").lower() in one["name"].lower()]
    return {"templates": named, "has_more": False, "next_cursor": None}


def _set_properties(call: Call, page: Json, given: Json) -> None:
    source = call.world.sources.get(page["parent"].get("data_source_id", ""))
    for name, value in given.items():
        if source is not None and name not in source["properties"]:
            raise Refused(400, "validation_error", f"{name} is not a property that exists.")
        kind = next(one for one in value if one != "type")
        column = source["properties"][name] if source else {"id": "title", "type": "title"}
        if column["type"] != kind:
            raise Refused(400, "validation_error", f"{name} is expected to be {column['type']}.")
        page["properties"][name] = {"id": column["id"], "type": kind, kind: _answered_value(kind, value[kind])}
    for name, column in (source["properties"] if source else {}).items():
        empty: Any = [] if column["type"] in ("title", "rich_text", "multi_select", "people", "files") else None
        empty = False if column["type"] == "checkbox" else empty
        page["properties"].setdefault(name, {"id": column["id"], "type": column["type"], column["type"]: empty})


def _answered_value(kind: str, value: Any) -> Any:
    match kind:
        case "title" | "rich_text":
            return answer_texts(value)
        case "select" | "status" if value:
            return {"id": "o", "color": "default", **value}
        case "multi_select":
            return [{"id": "o", "color": "default", **one} for one in value]
        case "people":
            return [{"object": "user", **one} for one in value]
        case "date" if value:
            return {"end": None, "time_zone": None, **value}
        case _:
            return value


def _set_icon(call: Call, page: Json) -> None:
    if call.body.get("icon"):
        page["icon"] = call.body["icon"]


def _change_page(call: Call) -> Json:
    page = call.find("pages", call.value())
    if page["in_trash"] and call.body.get("in_trash") is not False:
        raise Refused(400, "validation_error", "Can't edit page on block with an archived ancestor.")
    _set_properties(call, page, call.body.get("properties", {}))
    _set_icon(call, page)
    page["in_trash"] = page["archived"] = call.body.get("in_trash", page["in_trash"])
    return page


def _move_page(call: Call) -> Json:
    page = call.find("pages", call.value())
    page["parent"] = {"type": "page_id", **call.body["parent"]}
    call.find("pages", page["parent"]["page_id"])
    return page


def _property(call: Call) -> Json:
    properties = call.find("pages", call.values["page_id"])["properties"].values()
    found = next((one for one in properties if one["id"] == call.values["property_id"]), None)
    if found is None:
        raise Refused(404, "object_not_found", "Could not find property with ID")
    kind = found["type"]
    if kind not in ("title", "rich_text", "relation", "people"):
        return {"object": "property_item", **found}
    items = [{"object": "property_item", "id": found["id"], "type": kind, kind: one} for one in found[kind]]
    page = call.listed(items, "property_item")
    return {**page, "property_item": {"id": found["id"], "type": kind, kind: {}, "next_url": None}}


def _markdown(call: Call) -> Json:
    page_id = call.find("pages", call.value())["id"]
    text = call.world.markdown.get(page_id, "")
    if call.query.get("include_transcript") == "true":
        text += "\n\nAda: Good morning"
    return {"object": "page_markdown", "id": page_id, "markdown": text, "truncated": False, "unknown_block_ids": []}


def _change_markdown(call: Call) -> Json:
    page_id = call.find("pages", call.value())["id"]
    text, kind = call.world.markdown.get(page_id, ""), call.body["type"]
    if kind == "insert_content":
        text = f"{text}\n{call.body[kind]['content']}"
    elif kind == "replace_content":
        text = call.body[kind]["new_str"]
    else:
        for one in call.body[kind]["content_updates"]:
            if text.count(one["old_str"]) != 1:
                raise Refused(400, "validation_error", "old_str was not found exactly once in the page")
            text = text.replace(one["old_str"], one["new_str"])
    call.world.markdown[page_id] = text
    return _markdown(call)


def _block(call: Call) -> Json:
    return call.find("blocks", call.value())


def _children(call: Call) -> Json:
    parent = call.value()
    if parent not in call.world.pages:
        call.find("blocks", parent)
    return call.listed([call.world.blocks[one] for one in call.world.children.get(parent, [])], "block")


def _append(call: Call) -> Json:
    parent, after = call.value(), call.body.get("after", "")
    if parent not in call.world.pages:
        call.find("blocks", parent)
    if after and after not in call.world.children.get(parent, []):
        raise Refused(404, "object_not_found", "Could not find block to append after")
    made = call.world.append(parent, call.body["children"], after)
    if after:
        known = call.world.children[parent]
        made = [call.world.blocks[one] for one in known[known.index(made[0]["id"]) :]]
    return {"object": "list", "results": made, "has_more": False, "next_cursor": None, "type": "block", "block": {}}


def _change_block(call: Call) -> Json:
    block = _block(call)
    for name, content in call.body.items():
        if name == block["type"]:
            block[name] |= answer_content(content)
        elif isinstance(content, dict):
            raise Refused(400, "validation_error", f"body.{name} should be not present")
    return block


def _delete_block(call: Call) -> Json:
    block = _block(call)
    block["in_trash"] = block["archived"] = True
    siblings = call.world.children[block["parent"][block["parent"]["type"]]]
    siblings.remove(block["id"])
    return block


def _new_database(call: Call) -> Json:
    call.find("pages", call.body["parent"]["page_id"])
    title = "".join(one["text"]["content"] for one in call.body["title"])
    return call.world.database(title, call.body["parent"], call.body["initial_data_source"]["properties"])


def _change_database(call: Call) -> Json:
    database = call.find("databases", call.value())
    if "title" in call.body:
        database["title"] = answer_texts(call.body["title"])
    database["in_trash"] = call.body.get("in_trash", database["in_trash"])
    return database


def _change_columns(call: Call) -> Json:
    source = call.find("sources", call.value())
    columns = source["properties"]
    for name, change in call.body["properties"].items():
        if change is None:
            del columns[name]
        elif name in columns:
            columns[change["name"]] = {**columns.pop(name), "name": change["name"]}
        else:
            columns[name] = build_column(name, change)
    return source


def _query(call: Call) -> Json:
    source = call.find("sources", call.value())
    rows = [one for one in call.world.pages.values() if one["parent"].get("data_source_id") == source["id"]]
    wanted = call.body.get("filter", {})
    if "checkbox" in wanted:
        rows = [
            one for one in rows if one["properties"][wanted["property"]]["checkbox"] == wanted["checkbox"]["equals"]
        ]
    for sort in reversed(call.body.get("sorts") or []):  # of numbers
        name, is_falling = sort.get("property"), sort["direction"] == "descending"
        if all("number" in row["properties"].get(name, {}) for row in rows):
            rows.sort(key=lambda row, name=name: row["properties"][name]["number"] or 0, reverse=is_falling)
    return call.listed(rows, "page_or_data_source")


def _comments(call: Call) -> Json:
    found = [one for one in call.world.comments.values() if call.query["block_id"] in one["parent"].values()]
    return call.listed(found, "comment")


def _new_comment(call: Call) -> Json:
    world = call.world
    if "discussion_id" in call.body:
        known = [one for one in world.comments.values() if one["discussion_id"] == call.body["discussion_id"]]
        if not known:
            raise Refused(404, "object_not_found", "Could not find discussion")
        parent, discussion = known[0]["parent"], known[0]["discussion_id"]
    else:
        kind, parent_id = next(iter(call.body["parent"].items()))
        call.find("pages" if kind == "page_id" else "blocks", parent_id)
        parent, discussion = {"type": kind, kind: parent_id}, world.make_id()
    return world.comment(parent, discussion, call.body["rich_text"])


def _change_comment(call: Call) -> Json:
    comment = call.find("comments", call.value())
    comment["rich_text"] = answer_texts(call.body["rich_text"])
    return comment


def _delete_comment(call: Call) -> Json:
    comment = call.find("comments", call.value())
    del call.world.comments[comment["id"]]
    return {"object": "comment", "id": comment["id"]}


BOT = {
    "object": "user", "id": "00000000-0000-4000-8000-000000000002", "name": "MCPist", "avatar_url": None, "type": "bot",
    "bot": {"owner": {"type": "workspace", "workspace": True}, "workspace_name": "Acme", "workspace_id": "w",
            "workspace_limits": {"max_file_upload_size_in_bytes": 5_242_880}},
}  # fmt: skip
ADA = {**PERSON, "name": "Ada", "avatar_url": None, "type": "person", "person": {"email": "ada@acme.test"}}

Handler = Callable[[Call], Json]
PAGE, BLOCK = "/v1/pages/{page_id}", "/v1/blocks/{block_id}"
ROUTES: dict[tuple[str, str], tuple[str, Handler]] = {
    ("post", "/v1/search"): ("read", _search),
    ("get", PAGE): ("read", lambda call: call.find("pages", call.value())),
    ("patch", PAGE): ("update", _change_page),
    ("post", "/v1/pages"): ("insert", _new_page),
    ("post", f"{PAGE}/move"): ("update", _move_page),
    ("get", f"{PAGE}/properties/{{property_id}}"): ("read", _property),
    ("get", f"{PAGE}/markdown"): ("read", _markdown),
    ("patch", f"{PAGE}/markdown"): ("update", _change_markdown),
    ("get", BLOCK): ("read", _block),
    ("patch", BLOCK): ("update", _change_block),
    ("delete", BLOCK): ("update", _delete_block),
    ("get", f"{BLOCK}/children"): ("read", _children),
    ("patch", f"{BLOCK}/children"): ("insert", _append),
    ("get", "/v1/databases/{database_id}"): ("read", lambda call: call.find("databases", call.value())),
    ("patch", "/v1/databases/{database_id}"): ("update", _change_database),
    ("post", "/v1/databases"): ("insert", _new_database),
    ("get", "/v1/data_sources/{data_source_id}"): ("read", lambda call: call.find("sources", call.value())),
    ("patch", "/v1/data_sources/{data_source_id}"): ("update", _change_columns),
    ("post", "/v1/data_sources/{data_source_id}/query"): ("read", _query),
    ("get", "/v1/data_sources/{data_source_id}/templates"): ("read", _templates),
    ("get", "/v1/comments"): ("read_comments", _comments),
    ("post", "/v1/comments"): ("insert_comments", _new_comment),
    ("get", "/v1/comments/{comment_id}"): ("read_comments", lambda call: call.find("comments", call.value())),
    ("patch", "/v1/comments/{comment_id}"): ("insert_comments", _change_comment),
    ("delete", "/v1/comments/{comment_id}"): ("insert_comments", _delete_comment),
    ("get", "/v1/users"): ("users", lambda call: call.listed([ADA, BOT], "user")),
    ("get", "/v1/users/me"): ("", lambda call: BOT),
}


def _on_world(handler: Handler) -> Callable[[VendorCall], Json]:
    return lambda call: handler(Call(call.caller[0], call.values, call.query, call.body))


class NotionDouble(VendorDouble):
    """A Notion of its own."""

    def __init__(self) -> None:
        super().__init__(
            contract("notion"), {operation: _on_world(handler) for operation, (_, handler) in ROUTES.items()}
        )
        self.world = World()
        self.strangers: set[str] = set()
        """Tokens of other workspaces, in which there is nothing."""

    def slow_down(self, retry_after: int = 30) -> None:
        """Answer the next request with the rate limit."""
        text = "You have been rate limited. Please try again in a few minutes."
        self.refusals.append(Refused(429, "rate_limited", text, {"Retry-After": str(retry_after)}))

    def add_comment(self, page_id: str, text: str) -> str:
        """Add a comment to a page; its id."""
        parent = {"type": "page_id", "page_id": page_id}
        return self.world.comment(parent, self.world.make_id(), [{"text": {"content": text}}])["id"]

    def authenticate(self, request: web.Request) -> tuple[World, frozenset[str]]:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        capabilities = self.world.tokens.get(secret) if scheme == "Bearer" else None
        if capabilities is None:
            raise Refused(401, "unauthorized", "API token is invalid.")
        if "Notion-Version" not in request.headers:
            raise Refused(400, "missing_version", "Notion-Version header failed validation")
        return World() if secret in self.strangers else self.world, capabilities

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return Refused(400, "invalid_request_url" if status == 404 else "validation_error", reason)

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        capability = ROUTES[operation][0]
        if capability and capability not in call.caller[1]:
            raise Refused(403, "restricted_resource", "Insufficient permissions for this endpoint.")
        check_limits(call.body)


def check_limits(body: Json) -> None:
    """Refuse what is beyond Notion's limits on one request."""
    children = body.get("children", [])
    if _count(children) > MAX_BLOCKS:
        raise Refused(400, "validation_error", f"body.children has more than {MAX_BLOCKS} blocks")
    _check_children(children, 0)
    _check_texts(body, "body")


def _nested(block: Json) -> list[Json]:
    return next((one.get("children", []) for one in block.values() if isinstance(one, dict)), [])


def _count(blocks: list[Json]) -> int:
    return sum(1 + _count(_nested(one)) for one in blocks)


def _check_children(blocks: list[Json], level: int) -> None:
    if blocks and level > MAX_LEVELS:
        raise Refused(400, "validation_error", "body.children[0].children should be not present")
    if len(blocks) > MAX_CHILDREN:
        raise Refused(400, "validation_error", f"body.children.length should be <= `{MAX_CHILDREN}`")
    for one in blocks:
        _check_children(_nested(one), level + 1)


def _check_texts(value: Any, place: str) -> None:
    if isinstance(value, list):
        if len(value) > MAX_PARTS and any("text" in one for one in value if isinstance(one, dict)):
            raise Refused(400, "validation_error", f"{place}.length should be <= `{MAX_PARTS}`")
        for number, one in enumerate(value):
            _check_texts(one, f"{place}[{number}]")
    elif isinstance(value, dict):
        for name, one in value.items():
            _check_texts(one, f"{place}.{name}")
        content = value.get("text", {}).get("content", "") if isinstance(value.get("text"), dict) else ""
        if len(content.encode("utf-16-le")) // 2 > MAX_TEXT:
            raise Refused(400, "validation_error", f"{place}.text.content.length should be <= `{MAX_TEXT}`")


@contextlib.asynccontextmanager
async def notion_double() -> AsyncIterator[NotionDouble]:
    """Serve a double with the connections `full` and `reader`."""
    double = NotionDouble()
    double.world.tokens |= {"full": ALL, "reader": frozenset({"read"})}
    async with serve_double(double):
        yield double
