"""Jira's operations on a :class:`World`."""

import base64
import contextlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from copy import deepcopy
from datetime import datetime
from functools import cache
from typing import Any

from aiohttp import web

from tests.support.jira_double.forms import (
    check_document,
    check_fields,
    delete_part,
    edit_part,
    find_part,
    make_id,
    page,
    refuse,
    show_link,
    show_step,
)
from tests.support.jira_double.more_operations import MORE_OPERATIONS
from tests.support.jira_double.world import (
    ADA,
    BOB,
    FIELDS,
    LINK_TYPES,
    MOMENT,
    SITE,
    STEPS,
    TYPES,
    World,
    make_status,
)
from tests.support.vendor_contract import DESCRIPTIONS, Contract, contract
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
READ, WRITE, USERS = "read:jira-work", "write:jira-work", "read:jira-user"
NOTHING = "nothing"
"""Who has this beside scopes may use the site, and sees nothing in it."""
ISSUE = "/rest/api/3/issue/{issueIdOrKey}"


@cache
def load_description() -> Contract:
    """The description, as Jira behaves: its times have no colon in the zone, which RFC 3339 demands, and it takes no
    other; and an accountId of null assigns an issue to nobody."""
    contract("jira")  # skips without the descriptions
    document = json.loads((DESCRIPTIONS / "jira.openapi.json").read_text())
    document["components"]["schemas"]["User"]["properties"]["accountId"]["nullable"] = True
    document["paths"] |= deepcopy(MORE_OPERATIONS)
    return Contract(_drop_format(document))


def _drop_format(part: Any) -> Any:
    if isinstance(part, list):
        return [_drop_format(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {name: _drop_format(one) for name, one in part.items() if (name, one) != ("format", "date-time")}


class JiraDouble(VendorDouble):
    """A site. `tokens` are the scopes of each bearer token."""

    def __init__(self) -> None:
        super().__init__(load_description(), {one: handler for one, (_, handler) in self._list_routes().items()})
        self.world = World()
        self.tokens = {"full": {READ, WRITE, USERS}, "reader": {READ, USERS}}

    def _list_routes(self) -> Mapping[Operation, tuple[str, Handler]]:
        return {operation: (scope, getattr(self, name)) for operation, (scope, name) in ROUTES.items()}

    def authenticate(self, request: web.Request) -> Any:
        kind, _, secret = request.headers.get("Authorization", "").partition(" ")
        if kind == "Basic" and base64.b64decode(secret).decode() == PAIR:
            return {READ, WRITE, USERS}
        if kind != "Bearer" or secret not in self.tokens:
            raise EdgeRefusal(401, {"code": 401, "message": "Unauthorized"})
        return self.tokens[secret]

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return refuse(status, reason)

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        if ROUTES[operation][0] not in call.caller:
            raise EdgeRefusal(401, {"code": 401, "message": "Unauthorized; scope does not match"})
        if NOTHING in call.caller and call.values:
            raise refuse(404, "It does not exist, or you do not have permission to see it.")
        if "issueIdOrKey" in call.values and call.values["issueIdOrKey"] not in self.world.issues:
            raise refuse(404, "Issue does not exist or you do not have permission to see it.")

    # Reading

    def myself(self, _: VendorCall) -> Any:
        return ADA

    def projects(self, call: VendorCall) -> Any:
        known = [
            {"id": str(number), "key": key, "name": name, "projectTypeKey": "software", "lead": ADA}
            for number, (key, name) in enumerate(self.world.projects.items(), 1)
            if NOTHING not in call.caller
        ]
        return page([one for one in known if call.query.get("query", "") in one["name"]], call, "values")

    def users(self, call: VendorCall) -> Any:
        known = [one for one in self.world.people if call.query["query"].lower() in str(one["displayName"]).lower()]
        start = int(call.query.get("startAt", 0))
        return known[start : start + int(call.query["maxResults"])]

    def search(self, call: VendorCall) -> Any:
        if call.body["jql"].lower().startswith("order by"):
            raise refuse(400, "Unbounded JQL queries are not allowed here.")
        token = call.body.get("nextPageToken", "t:0")
        if not re.fullmatch("t:[0-9]+", token):
            raise refuse(400, "The next page token is wrong.")
        start, end = int(token[2:]), int(token[2:]) + call.body["maxResults"]
        keys = [] if NOTHING in call.caller else self.world.issues
        rows = [self.show(key, call.body["fields"]) for key in keys]
        following = {"nextPageToken": f"t:{end}"} if end < len(rows) else {}
        return {"issues": rows[start:end], "isLast": end >= len(rows), **following}

    def count(self, call: VendorCall) -> Any:
        return {"count": 0 if NOTHING in call.caller else len(self.world.issues)}

    def get(self, call: VendorCall) -> Any:
        wanted = call.query["fields"].split(",")
        names = {"names": {one["id"]: one["name"] for one in FIELDS}} if call.query.get("expand") else {}
        return {**self.show(call.values["issueIdOrKey"], wanted), **names}

    def show(self, key: str, wanted: list[str]) -> Json:
        """Show an issue with the fields that are wanted."""
        known = self.world.issues[key]
        shown = known if "*all" in wanted else {name: known.get(name) for name in wanted}
        links = [one for one in self.world.links if key in (one["inwardIssue"]["key"], one["outwardIssue"]["key"])]
        is_linked = not {"*all", "issuelinks"}.isdisjoint(wanted)
        made = {**shown, "issuelinks": [show_link(one, key) for one in links]} if is_linked else shown
        identity = key.split("-")[1]
        parts = "renderedFields,names,schema,operations,editmeta,changelog,versionedRepresentations"
        return {"expand": parts, "id": identity, "self": f"{SITE}/issue/{identity}", "key": key, "fields": made}

    def changelog(self, call: VendorCall) -> Any:
        return page(self.world.changes[call.values["issueIdOrKey"]], call, "values")

    def fields(self, _: VendorCall) -> Any:
        return FIELDS

    def types(self, call: VendorCall) -> Any:
        return page(TYPES, call, "issueTypes")

    def create_fields(self, call: VendorCall) -> Any:
        rows = [
            {"fieldId": one["id"], "key": one["id"], "name": one["name"], "operations": ["set"],
             "schema": one["schema"],
             "required": one["id"] == "summary", "hasDefaultValue": False,
             **({"allowedValues": [{"id": "1", "value": "Red"}]} if one["schema"]["type"] == "option" else {})}
            for one in FIELDS
        ]  # fmt: skip
        return page(rows, call, "fields")

    # Writing

    def create(self, call: VendorCall) -> Any:
        fields = call.body["fields"]
        missing = {name: "is required" for name in ("project", "issuetype", "summary") if name not in fields}
        if missing or fields["project"] != {"key": "ABC"} or NOTHING in call.caller:
            raise refuse(400, **(missing or {"project": "valid project is required"}))
        check_fields(fields)
        key = self.world.add(**{name: value for name, value in fields.items() if name != "project"})
        return VendorReply(201, {"id": key.split("-")[1], "key": key})

    def edit(self, call: VendorCall) -> Any:
        fields, update = call.body.get("fields", {}), call.body.get("update", {})
        check_fields(fields)
        if update not in ({}, {"parent": [{"set": {"none": True}}]}) or fields.keys() & update.keys():
            raise refuse(400, "Field is set in both fields and update, or the operation is unknown.")
        self.change(call.values["issueIdOrKey"], **fields, **dict.fromkeys(update))
        return VendorReply(204)

    def change(self, key: str, **fields: Any) -> None:
        """Change fields of an issue, and write it into its history."""
        for name, value in fields.items():
            before = self.world.issues[key].get(name)
            item = {"field": name, "fieldtype": "jira", "fieldId": name, "from": "", "fromString": str(before),
                    "to": "", "toString": str(value)}  # fmt: skip
            entry = {"id": "1", "author": ADA, "created": MOMENT, "items": [item]}
            self.world.changes[key].append(entry)
        self.world.issues[key] |= fields

    def delete(self, call: VendorCall) -> Any:
        del self.world.issues[call.values["issueIdOrKey"]]
        return VendorReply(204)

    def assign(self, call: VendorCall) -> Any:
        known = {None: None, "-1": BOB, **{str(one["accountId"]): one for one in (ADA, BOB)}}
        identity = call.body["accountId"]
        if identity not in known:
            raise refuse(400, assignee="User does not exist.")
        self.change(call.values["issueIdOrKey"], assignee=known[identity])
        return VendorReply(204)

    def transitions(self, call: VendorCall) -> Any:
        return {"transitions": [show_step(one) for one in STEPS]}

    def transition(self, call: VendorCall) -> Any:
        step = next((one for one in STEPS if one["id"] == call.body["transition"]["id"]), None)
        if step is None or step.get("needs", "") not in ("", *call.body.get("fields", {})):
            raise refuse(400, "It seems that you have tried to perform an illegal workflow operation.")
        key = call.values["issueIdOrKey"]
        self.change(key, status=make_status(step["to"]), **call.body.get("fields", {}))
        for one in call.body.get("update", {}).get("comment", []):
            self.add_comment(key, **one["add"])
        return VendorReply(204)

    def comments(self, call: VendorCall) -> Any:
        known = self.world.comments[call.values["issueIdOrKey"]]
        return page(known[::-1] if call.query["orderBy"] == "-created" else known, call, "comments")

    def comment(self, call: VendorCall) -> Any:
        return VendorReply(201, self.add_comment(call.values["issueIdOrKey"], **call.body))

    def add_comment(self, key: str, body: Json, **more: Any) -> Json:
        """Add a comment to an issue."""
        check_document(body, "comment")
        identity = make_id(self.world.comments[key])
        marks = {one["key"]: one["value"] for one in more.pop("properties", ())}
        is_public = not marks.get("sd.public.comment", {}).get("internal", False)
        made = {
            "self": f"{SITE}/issue/{key}/comment/{identity}", "id": identity, "author": ADA, "updateAuthor": ADA,
            "created": MOMENT, "updated": MOMENT, "jsdPublic": is_public, "body": body, **more,
        }  # fmt: skip
        self.world.comments[key].append(made)
        return made

    def get_comment(self, call: VendorCall) -> Any:
        return find_part(self.world.comments, call)

    def edit_comment(self, call: VendorCall) -> Any:
        return edit_part(self.world.comments, call)

    def delete_comment(self, call: VendorCall) -> Any:
        return delete_part(self.world.comments, call)

    def get_worklog(self, call: VendorCall) -> Any:
        return find_part(self.world.worklogs, call)

    def edit_worklog(self, call: VendorCall) -> Any:
        found = edit_part(self.world.worklogs, call)
        seconds = call.body.get("timeSpentSeconds")
        found["timeSpent"] = call.body.get("timeSpent") or f"{seconds // 60}m"
        return found

    def delete_worklog(self, call: VendorCall) -> Any:
        return delete_part(self.world.worklogs, call)

    def worklogs(self, call: VendorCall) -> Any:
        return page(self.world.worklogs[call.values["issueIdOrKey"]], call, "worklogs")

    def worklog(self, call: VendorCall) -> Any:
        if "started" in call.body:
            datetime.strptime(call.body["started"], "%Y-%m-%dT%H:%M:%S.%f%z")
        return VendorReply(201, self.add_worklog(call.values["issueIdOrKey"], **call.body))

    def add_worklog(self, key: str, **body: Any) -> Json:
        """Log work on an issue."""
        spent = body.get("timeSpent") or f"{body.get('timeSpentSeconds', 3600) // 60}m"
        identity = make_id(self.world.worklogs[key])
        made = {
            "self": f"{SITE}/issue/{key}/worklog/{identity}", "author": ADA, "updateAuthor": ADA, "created": MOMENT,
            "updated": MOMENT, "started": MOMENT, "timeSpentSeconds": 3600, "issueId": key.split("-")[1], **body,
            "id": identity, "timeSpent": spent,
        }  # fmt: skip
        self.world.worklogs[key].append(made)
        return made

    def link_types(self, _: VendorCall) -> Any:
        return {"issueLinkTypes": LINK_TYPES}

    def link(self, call: VendorCall) -> Any:
        names = [call.body[name]["key"] for name in ("inwardIssue", "outwardIssue")]
        if NOTHING in call.caller or any(name not in self.world.issues for name in names):
            raise refuse(404, "Issue does not exist.")
        self.world.links.append({**call.body, "id": str(10_000 + len(self.world.links))})
        return VendorReply(201)

    def unlink(self, call: VendorCall) -> Any:
        kept = [one for one in self.world.links if one["id"] != call.values["linkId"]]
        if len(kept) == len(self.world.links):
            raise refuse(404, "No issue link with id was found.")
        self.world.links[:] = kept
        return VendorReply(204)


ROUTES: dict[Operation, tuple[str, str]] = {
    ("get", "/rest/api/3/myself"): (USERS, "myself"),
    ("get", "/rest/api/3/project/search"): (READ, "projects"),
    ("get", "/rest/api/3/user/search"): (USERS, "users"),
    ("get", "/rest/api/3/user/assignable/search"): (USERS, "users"),
    ("post", "/rest/api/3/search/jql"): (READ, "search"),
    ("post", "/rest/api/3/search/approximate-count"): (READ, "count"),
    ("get", ISSUE): (READ, "get"),
    ("put", ISSUE): (WRITE, "edit"),
    ("delete", ISSUE): (WRITE, "delete"),
    ("post", "/rest/api/3/issue"): (WRITE, "create"),
    ("put", f"{ISSUE}/assignee"): (WRITE, "assign"),
    ("get", f"{ISSUE}/transitions"): (READ, "transitions"),
    ("post", f"{ISSUE}/transitions"): (WRITE, "transition"),
    ("get", f"{ISSUE}/comment"): (READ, "comments"),
    ("post", f"{ISSUE}/comment"): (WRITE, "comment"),
    ("get", f"{ISSUE}/comment/{{id}}"): (READ, "get_comment"),
    ("put", f"{ISSUE}/comment/{{id}}"): (WRITE, "edit_comment"),
    ("delete", f"{ISSUE}/comment/{{id}}"): (WRITE, "delete_comment"),
    ("get", f"{ISSUE}/worklog/{{id}}"): (READ, "get_worklog"),
    ("put", f"{ISSUE}/worklog/{{id}}"): (WRITE, "edit_worklog"),
    ("delete", f"{ISSUE}/worklog/{{id}}"): (WRITE, "delete_worklog"),
    ("get", f"{ISSUE}/worklog"): (READ, "worklogs"),
    ("post", f"{ISSUE}/worklog"): (WRITE, "worklog"),
    ("get", f"{ISSUE}/changelog"): (READ, "changelog"),
    ("get", "/rest/api/3/field"): (READ, "fields"),
    ("get", "/rest/api/3/issue/createmeta/{projectIdOrKey}/issuetypes"): (READ, "types"),
    ("get", "/rest/api/3/issue/createmeta/{projectIdOrKey}/issuetypes/{issueTypeId}"): (READ, "create_fields"),
    ("get", "/rest/api/3/issueLinkType"): (READ, "link_types"),
    ("post", "/rest/api/3/issueLink"): (WRITE, "link"),
    ("delete", "/rest/api/3/issueLink/{linkId}"): (WRITE, "unlink"),
}


@contextlib.asynccontextmanager
async def jira_double() -> AsyncIterator[JiraDouble]:
    """Serve a double."""
    async with serve_double(JiraDouble()) as double:
        yield double
