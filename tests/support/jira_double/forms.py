"""What Jira's operations share: refusals, pages, how things are shown, what is refused, and parts of an issue."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.jira_double.world import FIELDS, LATER, LINK_TYPES, make_status
from tests.support.vendor_double import VendorCall, VendorRefusal, VendorReply

Json = dict[str, Any]
MAX_TEXT = 32_767


def refuse(status: int, *messages: str, **errors: str) -> VendorRefusal:
    """Build a refusal in Jira's form."""
    return VendorRefusal(status, {"errorMessages": list(messages), "errors": errors})


def refuse_for_limit(seconds: int, reason: str) -> VendorRefusal:
    """Build the refusal of too many requests
    (https://developer.atlassian.com/cloud/jira/platform/rate-limiting/)."""
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    headers = {
        "Retry-After": str(seconds), "X-RateLimit-Limit": "350", "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": f"{moment:%Y-%m-%dT%H:%MZ}", "X-RateLimit-NearLimit": "true", "RateLimit-Reason": reason,
    }  # fmt: skip
    return VendorRefusal(429, {"errorMessages": ["Rate limit exceeded: made-up"], "errors": {}}, headers)


def page(rows: list[Json], call: VendorCall, name: str) -> Json:
    """Build a page of a list as `startAt` and `maxResults` ask for."""
    start, most = int(call.query.get("startAt", 0)), int(call.query["maxResults"])
    more = {"isLast": start + most >= len(rows)} if name == "values" else {}
    return {name: rows[start : start + most], "startAt": start, "maxResults": most, "total": len(rows), **more}


def show_step(step: Json) -> Json:
    schema = {"type": "resolution", "system": "resolution"}
    needed = {"required": True, "hasDefaultValue": False, "name": "Resolution", "key": "resolution",
              "operations": ["set"],
              "schema": schema, "allowedValues": [{"name": "Fixed"}, {"name": "Won't do"}]}  # fmt: skip
    fields = {"resolution": needed} if step.get("needs") else {}
    return {"id": step["id"], "name": step["name"], "to": make_status(step["to"]), "fields": fields}


def show_link(link: Json, key: str) -> Json:
    kind = next(one for one in LINK_TYPES if one["id"] == link["type"]["id"])
    side = "outwardIssue" if link["inwardIssue"]["key"] == key else "inwardIssue"
    return {"id": link["id"], "type": kind, side: {"key": link[side]["key"], "fields": {"summary": "linked"}}}


def check_fields(fields: Json) -> None:
    """Refuse fields that are unknown, and descriptions that are no documents."""
    known = {"summary", "description", "issuetype", "project", "parent", "priority", "labels", "duedate", "assignee",
             *(one["id"] for one in FIELDS)}  # fmt: skip
    if unknown := fields.keys() - known:
        raise refuse(400, **dict.fromkeys(unknown, "Field cannot be set. It is not on the appropriate screen."))
    if fields.get("description") is not None:
        check_document(fields["description"], "description")


def check_document(document: Any, name: str) -> None:
    """Refuse what is no document, or one with too much text."""
    if not isinstance(document, dict) or document.get("type") != "doc" or document.get("version") != 1:
        raise refuse(400, **{name: "Operation value must be an Atlassian Document"})
    if len(str(document)) > 20 * MAX_TEXT:
        raise refuse(400, **{name: "CONTENT_LIMIT_EXCEEDED"})


def make_id(rows: list[Json]) -> str:
    """Make an id that none of the rows has, nor one that was removed from before the last."""
    return str(max((int(one["id"]) for one in rows), default=0) + 1)


def find_part(known: dict[str, list[Json]], call: VendorCall) -> Json:
    """Find a comment or worklog of an issue."""
    parts = known[call.values["issueIdOrKey"]]
    found = next((one for one in parts if one["id"] == call.values["id"]), None)
    if found is None:
        raise refuse(404, "Can not find a comment or worklog for the id.")
    return found


def edit_part(known: dict[str, list[Json]], call: VendorCall) -> Json:
    """Change a comment or worklog to what is sent, so that what is left out is gone."""
    found = find_part(known, call)
    for name in ("body", "comment"):
        if name in call.body:
            check_document(call.body[name], "comment")
    for name in ("visibility", "comment"):
        found.pop(name, None)
    found.update({**call.body, "updated": LATER})
    return found


def delete_part(known: dict[str, list[Json]], call: VendorCall) -> VendorReply:
    known[call.values["issueIdOrKey"]].remove(find_part(known, call))
    return VendorReply(204)
