"""The double on a socket: accounts with workspaces, projects and time entries, tokens sent as the user of Basic, and
refusals that are sentences. Written from facts of Toggl's documentation, beside this file."""

import base64
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from aiohttp import web

from core.http.credential_headers import CredentialScheme, QuotaRule
from tests.support.vendor_contract import Contract
from tests.support.vendor_double import (
    EdgeRefusal,
    Operation,
    VendorCall,
    VendorDouble,
    VendorRefusal,
    VendorReply,
    serve_double,
)

Json = dict[str, Any]
API = Path(__file__).with_name("toggl_api.json")
HISTORY = timedelta(days=92)
"""How far back time entries are given."""
MOST_ENTRIES = 1_000
MOST_REPORT_DAYS = 366
USUAL_PAGE = 50
REPORT = "/reports/api/v3/workspace/{workspace_id}/search/time_entries"
TOGGL_SCHEME = CredentialScheme(
    kind="basic_user",
    fixed="api_token",
    quota=QuotaRule(402, "x-toggl-quota-resets-in", "x-toggl-quota-remaining"),
)
"""As the shipped provider has it."""


@cache
def load_toggl_description() -> Contract:
    """The description."""
    return Contract(json.loads(API.read_bytes()))


def build_quota_refusal(seconds: int) -> VendorRefusal:
    """The refusal of a request over the quota."""
    headers = {"X-Toggl-Quota-Remaining": "0", "X-Toggl-Quota-Resets-In": str(seconds)}
    return VendorRefusal(402, "You have hit your hourly limit for API calls.", headers)


@dataclass
class TogglAccount:
    """What one person sees."""

    id: int
    email: str
    name: str
    workspace: int
    time_zone: str = "Europe/Berlin"
    projects: dict[int, Json] = field(default_factory=dict[int, Json])
    entries: dict[int, Json] = field(default_factory=dict[int, Json])


@dataclass(frozen=True)
class TogglToken:
    """A token of an account; the vendor has no scopes, but a workspace may be locked for changes."""

    account: TogglAccount
    is_member: bool = True
    writes: bool = True


class TogglDouble(VendorDouble):
    """`account` is that of most tokens, `stranger` that of the token `stranger`."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(load_toggl_description(), {one: getattr(self, name) for one, name in ROUTES.items()})
        self._now = now
        self.history = HISTORY
        self._numbers = itertools.count(1_001)
        self.account = TogglAccount(1, "ada@acme.test", "Ada", 7042)
        self.stranger = TogglAccount(2, "eve@globex.test", "Eve", 8053)
        self.tokens = {
            "full": TogglToken(self.account),
            "reader": TogglToken(self.account, writes=False),
            "powerless": TogglToken(self.account, is_member=False),
            "stranger": TogglToken(self.stranger),
        }

    def reset(self) -> None:
        """Take away all projects and time entries."""
        for account in (self.account, self.stranger):
            account.projects.clear()
            account.entries.clear()

    def add_project(self, name: str, *, account: TogglAccount | None = None, **more: Any) -> Json:
        owner, number = account or self.account, next(self._numbers)
        fixed = {"id": number, "workspace_id": owner.workspace, "name": name, "active": True, "color": "#0b83d9"}
        owner.projects[number] = {**fixed, "client_name": None, "billable": None, **more}
        return owner.projects[number]

    def add_entry(
        self, start: datetime, seconds: int, description: str = "", *, account: TogglAccount | None = None, **more: Any
    ) -> Json:
        """Track a time; `seconds` below 0 leave it running."""
        owner, number = account or self.account, next(self._numbers)
        stop = None if seconds < 0 else format_moment(start + timedelta(seconds=seconds))
        owner.entries[number] = {
            "id": number, "workspace_id": owner.workspace, "project_id": None, "task_id": None, "billable": False,
            "start": format_moment(start), "stop": stop, "duration": seconds, "description": description, "tags": [],
            "tag_ids": [], "duronly": True, "at": format_moment(start), "server_deleted_at": None, "user_id": owner.id,
            **more,
        }  # fmt: skip
        return owner.entries[number]

    def read_secret(self, request: web.Request) -> str:
        scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Basic":
            return ""
        user, _, password = base64.b64decode(encoded).decode().partition(":")
        return user if password == "api_token" else ""

    def authenticate(self, request: web.Request) -> TogglToken:
        token = self.tokens.get(self.read_secret(request))
        if token is None:
            raise EdgeRefusal(403, "Incorrect username and/or password")
        return token

    def _answer(self, request: web.Request, raw: bytes) -> VendorReply:
        reply = super()._answer(request, raw)
        is_null = reply.status == 200 and reply.body is None and not reply.cut
        return VendorReply(200, b"null", {"Content-Type": "application/json"}) if is_null else reply

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return VendorRefusal(status, reason)

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        token: TogglToken = call.caller
        workspace = call.values.get("workspace_id")
        is_change = operation[0] != "get" and operation[1] != REPORT
        is_strange = workspace is not None and workspace != str(token.account.workspace)
        if is_strange or not token.is_member or (is_change and not token.writes):
            raise VendorRefusal(403, "User does not have access to this resource.")

    def get_me(self, call: VendorCall) -> Json:
        one: TogglAccount = call.caller.account
        return {
            "id": one.id, "email": one.email, "fullname": one.name, "timezone": one.time_zone, "beginning_of_week": 1,
            "default_workspace_id": one.workspace, "at": "2026-01-01T00:00:00.000000Z",
        }  # fmt: skip

    def list_workspaces(self, call: VendorCall) -> list[Json]:
        one: TogglAccount = call.caller.account
        return [{"id": one.workspace, "name": f"{one.name}'s workspace", "organization_id": 9, "premium": False}]

    def list_projects(self, call: VendorCall) -> list[Json] | None:
        page, size = int(call.query.get("page", 1)), int(call.query.get("per_page", 151))
        found = sorted(call.caller.account.projects.values(), key=lambda one: one["id"])
        return found[(page - 1) * size : page * size] or None

    def list_entries(self, call: VendorCall) -> list[Json] | None:
        given = {"start_date", "end_date"} & call.query.keys()
        if len(given) == 1:
            raise VendorRefusal(400, "start_date and end_date must be used together")
        account: TogglAccount = call.caller.account
        found = sorted(account.entries.values(), key=lambda one: one["start"], reverse=True)
        if given:
            start, end = (read_bound(call.query[name]) for name in ("start_date", "end_date"))
            if start < self._now() - self.history:
                earliest = (self._now() - self.history).date()
                raise VendorRefusal(400, f"start_date must not be earlier than {earliest}")
            if end < start:
                raise VendorRefusal(400, "end_date must not be earlier than start_date")
            found = [one for one in found if start <= read_bound(one["start"]) <= end]
        with_names = call.query.get("meta") == "true"
        return [self._show(account, one, with_names=with_names) for one in found[:MOST_ENTRIES]] or None

    def search_report(self, call: VendorCall) -> VendorReply:
        """A page of a workspace's entries on days of the account's own zone, whoever has made them."""
        account, body, zone = call.caller.account, call.body, ZoneInfo(call.caller.account.time_zone)
        if not {"start_date", "end_date"} <= body.keys():
            raise VendorRefusal(400, "start_date and end_date must be provided")
        first, last = (date.fromisoformat(body[name]) for name in ("start_date", "end_date"))
        if last < first or (last - first).days > MOST_REPORT_DAYS:
            raise VendorRefusal(400, "invalid date range")
        users = body.get("user_ids")
        found = [
            one for one in account.entries.values()
            if one["duration"] >= 0 and (users is None or one["user_id"] in users)
            and first <= read_bound(one["start"]).astimezone(zone).date() <= last
        ]  # fmt: skip
        found.sort(key=lambda one: one["start"], reverse=body.get("order_dir", "DESC") == "DESC")
        place, size = body.get("first_row_number", 1), body.get("page_size", USUAL_PAGE)
        shown = found[place - 1 : place - 1 + size]
        rows = [self._report(account, one, place + number, zone, body) for number, one in enumerate(shown)]
        more = {"X-Next-Row-Number": str(place + size)} if place - 1 + size < len(found) else {}
        return VendorReply(200, rows, more)

    def _report(self, account: TogglAccount, entry: Json, number: int, zone: ZoneInfo, body: Json) -> Json:
        project = account.projects.get(entry["project_id"]) or {}
        is_named = body.get("enrich_response", False)
        names = {"project_name": project.get("name"), "client_name": project.get("client_name")} if is_named else {}
        times = {
            name: entry[name] and read_bound(entry[name]).astimezone(zone).isoformat() for name in ("start", "stop")
        }
        return {
            "user_id": entry["user_id"], "username": account.name, "project_id": entry["project_id"], "task_id": None,
            "billable": entry["billable"], "description": entry["description"], "tag_ids": [], "row_number": number,
            "time_entries": [{"id": entry["id"], "seconds": entry["duration"], **times, "at": entry["at"]}],
            **{name: one for name, one in names.items() if one is not None},
            **({"tag_names": entry["tags"]} if is_named else {}),
        }  # fmt: skip

    def get_current(self, call: VendorCall) -> Json | None:
        entries = call.caller.account.entries.values()
        return next((one for one in entries if one["duration"] < 0), None)

    def create_entry(self, call: VendorCall) -> Json:
        account, body = call.caller.account, call.body
        if not body.get("created_with"):
            raise VendorRefusal(400, "created_with needs to be provided an a valid string")
        if str(body.get("workspace_id")) != call.values["workspace_id"]:
            raise VendorRefusal(400, "Workspace ID mismatch")
        if not {"start", "duration"} <= body.keys():
            raise VendorRefusal(400, "start and duration must be provided")
        if "project_id" in body and body["project_id"] not in account.projects:
            raise VendorRefusal(400, "Project not found")
        if body["duration"] < 0 and (running := self.get_current(call)):
            self._stop(running)
        fields = {name: body[name] for name in ("project_id", "tags", "billable") if name in body}
        return self.add_entry(
            read_bound(body["start"]), body["duration"], body.get("description", ""), account=account, **fields
        )

    def stop_entry(self, call: VendorCall) -> Json:
        found = call.caller.account.entries.get(int(call.values["time_entry_id"]))
        if found is None:
            raise VendorRefusal(404, "Time entry not found")
        if found["duration"] >= 0:
            raise VendorRefusal(409, "Time entry already stopped")
        self._stop(found)
        return found

    def _stop(self, entry: Json) -> None:
        now = self._now().replace(microsecond=0)
        entry["stop"] = format_moment(now)
        entry["duration"] = max(0, int((now - read_bound(entry["start"])).total_seconds()))

    def _show(self, account: TogglAccount, entry: Json, *, with_names: bool) -> Json:
        """A time entry with the names of what it belongs to, where they are asked for."""
        project = account.projects.get(entry["project_id"]) if with_names else None
        if project is None:
            return entry
        names = {"project_name": project["name"], "client_name": project["client_name"]}
        return {**entry, **{name: value for name, value in names.items() if value is not None}}


def read_bound(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def format_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


ROUTES: dict[Operation, str] = {
    ("get", "/api/v9/me"): "get_me",
    ("get", "/api/v9/me/workspaces"): "list_workspaces",
    ("get", "/api/v9/me/time_entries"): "list_entries",
    ("get", "/api/v9/me/time_entries/current"): "get_current",
    ("get", "/api/v9/workspaces/{workspace_id}/projects"): "list_projects",
    ("post", "/api/v9/workspaces/{workspace_id}/time_entries"): "create_entry",
    ("patch", "/api/v9/workspaces/{workspace_id}/time_entries/{time_entry_id}/stop"): "stop_entry",
    ("post", REPORT): "search_report",
}


@contextlib.asynccontextmanager
async def toggl_double() -> AsyncIterator[TogglDouble]:
    """Serve a double with the tokens `full`, `reader` and `powerless` of one account, and `stranger` of another."""
    async with serve_double(TogglDouble()) as double:
        yield double
