"""The double on a socket: who asks, whether the request is as described and permitted, and what for."""

import contextlib
import re
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from core.database_url import DatabaseAddress
from tests.support.supabase_double.sql_runner import SqlRunner
from tests.support.supabase_double.world import FEATURES, MOMENT, REF, Json, Refused, World, legacy_key
from tests.support.vendor_contract import contract
from tests.support.vendor_double import Operation, VendorCall, VendorDouble, VendorRefusal, VendorReply, serve_double

BOUNDARY = "----formdata-undici-012345678901"
_MAX_LOG_WINDOW = timedelta(hours=24)
_LOG_QUERY = re.compile(r"select .* from (\w+).* limit (\d+) offset (\d+)")
_SEARCH = re.compile(r"strpos\(lower\(event_message\), '([^']*)'\) > 0")


class Call(NamedTuple):
    """A request of somebody who is known."""

    world: World
    sql: SqlRunner
    sent: VendorCall

    @property
    def body(self) -> Any:
        return self.sent.body

    @property
    def is_stranger(self) -> bool:
        return self.sent.caller[0] in self.world.strangers

    def project(self) -> Json:
        found = self.world.projects.get(self.sent.values["ref"])
        if found is None:
            raise Refused(404, "Project not found")
        return found

    def organization(self) -> Json:
        found = self.world.organizations.get(self.sent.values["slug"])
        if found is None:
            raise Refused(404, "Organization not found")
        return found

    def function(self) -> Json:
        self.project()
        found = self.world.functions.get(self.sent.values["function_slug"])
        if found is None:
            raise Refused(404, "Function not found")
        return found

    def branch(self) -> Json:
        asked = self.sent.values["branch_id_or_ref"]
        found = [one for one in self.world.branches.values() if asked in (one["id"], one["project_ref"])]
        if not found:
            raise Refused(404, "Branch not found")
        return found[0]


def _organization(call: Call) -> Json:
    found = call.organization()
    return {**found, "opt_in_tags": [], "allowed_release_channels": ["ga"]}


def _organization_projects(call: Call) -> Json:
    slug, query = call.organization()["slug"], call.sent.query
    found = [one for one in call.world.projects.values() if one["organization_slug"] == slug]
    found = [one for one in found if query.get("search", "").lower() in one["name"].lower() + one["ref"]]
    offset, limit = int(query.get("offset", 0)), int(query.get("limit", 100))
    rows = [_list_project(one) for one in found[offset : offset + limit]]
    return {"projects": rows, "pagination": {"count": len(found), "limit": limit, "offset": offset}}


def _list_project(project: Json) -> Json:
    names = ("ref", "name", "region", "status")
    database = {
        "region": project["region"], "status": "ACTIVE_HEALTHY", "cloud_provider": "AWS", "type": "PRIMARY",
        "identifier": project["ref"], "infra_compute_size": "micro", "disk_type": "gp3", "disk_volume_size_gb": 8,
    }  # fmt: skip
    return {
        **{name: project[name] for name in names}, "cloud_provider": "AWS", "is_branch": False,
        "inserted_at": project["created_at"], "databases": [database],
    }  # fmt: skip


def _create_project(call: Call) -> VendorReply:
    body = call.body
    if body["organization_slug"] not in call.world.organizations or call.is_stranger:
        raise Refused(404, "Organization not found")
    made = call.world.project(body["name"], body["organization_slug"], region=body["region_selection"]["code"])
    made["status"] = "COMING_UP"
    call.world.passwords[made["ref"]] = body["db_pass"]
    return VendorReply(201, {name: value for name, value in made.items() if name != "database"})


def _pause(call: Call) -> VendorReply:
    call.project()["status"] = "PAUSING"
    return VendorReply(200)


def _restore(call: Call) -> VendorReply:
    project = call.project()
    if project["status"] not in ("INACTIVE", "PAUSING"):
        raise Refused(400, "Project must be paused to be restored")
    project["status"] = "RESTORING"
    return VendorReply(200)


def _health(call: Call) -> Any:
    call.project()
    names = call.sent.repeated["services"]
    return [{"name": name, "healthy": True, "status": "ACTIVE_HEALTHY"} for name in names]


def _query(call: Call, *, read_only: bool) -> VendorReply:
    if call.project()["status"] == "INACTIVE":
        raise Refused(400, "Project is paused")
    rows = call.sql.run(call.body["query"], call.body.get("parameters", ()), read_only=read_only)
    return VendorReply(201, rows)


def _migrate(call: Call) -> VendorReply:
    call.project()
    key = call.sent.headers["Idempotency-Key"]
    if key not in {one["idempotency_key"] for one in call.world.migrations.values()}:
        call.sql.run(call.body["query"], read_only=False)
        version = f"20260101{next(call.world.numbers):06d}"
        call.world.migrations[version] = {
            "version": version, "name": call.body["name"], "statements": [call.body["query"]],
            "created_by": "ada@acme.test", "idempotency_key": key,
        }  # fmt: skip
    return VendorReply(200)


def _migration(call: Call) -> Json:
    found = call.world.migrations.get(call.sent.values["version"])
    if found is None:
        raise Refused(404, "Migration not found")
    return found


def _logs(call: Call) -> Json:
    call.project()
    query = call.sent.query
    start, end = (datetime.fromisoformat(query[f"iso_timestamp_{one}"]) for one in ("start", "end"))
    if not timedelta() < end - start <= _MAX_LOG_WINDOW:
        raise Refused(400, "The timestamp range must be no more than 24 hours")
    match = _LOG_QUERY.fullmatch(query["sql"])
    if match is None:
        return {"result": [], "error": "syntax error at line 1"}
    table, limit, offset = match[1], int(match[2]), int(match[3])
    word = _SEARCH.search(query["sql"])
    found = [one for one in call.world.logs if one["table"] == table]
    found = [one for one in found if word is None or word[1] in one["message"].lower()]
    found.sort(key=lambda one: -one["timestamp"])
    rows = [{name: value for name, value in one.items() if name != "table"} for one in found]
    return {"result": rows[offset : offset + limit]}


def _lints(call: Call, category: str) -> Json:
    call.project()
    return {"lints": [one for one in call.world.lints if category in one["categories"]]}


def _keys(call: Call) -> Any:
    call.project()
    if call.sent.query.get("reveal") == "true":
        return call.world.keys
    hidden = {"secret", None}
    return [{**one, "api_key": "sb_secret_····"} if one["type"] in hidden else one for one in call.world.keys]


def _function_body(call: Call) -> VendorReply:
    function = call.function()
    if "multipart/form-data" not in call.sent.headers.get("Accept", ""):
        return VendorReply(200, b"ESZIP2", {"Content-Type": "application/octet-stream"})
    folder = function["entrypoint_path"].removeprefix("file://").split("/", 3)[:3]
    parts = [(b'name="metadata"', b"{}")]
    for path, content in call.world.sources[function["slug"]].items():
        parts.append((f'name="file"; filename="{"/".join(folder)}/{path}"'.encode(), content))
    body = b"".join(
        b"--%b\r\nContent-Disposition: form-data; %b\r\nContent-Type: text/plain\r\n\r\n%b\r\n"
        % (BOUNDARY.encode(), name, content)
        for name, content in parts
    )
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    return VendorReply(200, body + f"--{BOUNDARY}--\r\n".encode(), {"Content-Type": kind})


def _deploy(call: Call) -> VendorReply:
    call.project()
    head = f"Content-Type: {call.sent.headers['Content-Type']}\r\n\r\n".encode()
    metadata: Json = {}
    files: dict[str, bytes] = {}
    message: Any = BytesParser(policy=HTTP).parsebytes(head + call.sent.raw)
    for part in message.get_payload():
        if part.get_param("name", header="content-disposition") == "metadata":
            metadata = orjson.loads(part.get_payload(decode=True))
        else:
            files[part.get_filename()] = part.get_payload(decode=True)
    if metadata["entrypoint_path"] not in files:
        raise Refused(400, "Entrypoint path does not exist")
    made = call.world.function(call.sent.query["slug"], files, metadata["entrypoint_path"])
    made["verify_jwt"] = metadata.get("verify_jwt", True)
    return VendorReply(201, made)


def _delete_function(call: Call) -> VendorReply:
    slug = call.function()["slug"]
    del call.world.functions[slug]
    return VendorReply(200)


def _branches(call: Call) -> Any:
    ref = call.project()["ref"]
    if not call.world.branching:
        raise Refused(422, "Preview branching is not enabled for this project.")
    return [one for one in call.world.branches.values() if one["parent_project_ref"] == ref]


def _create_branch(call: Call) -> VendorReply:
    ref, body = call.project()["ref"], call.body
    if body["branch_name"] in [one["name"] for one in call.world.branches.values()]:
        raise Refused(400, "A branch with this name already exists")
    known = {name: body[name] for name in ("persistent", "with_data", "git_branch") if name in body}
    return VendorReply(201, call.world.branch(ref, body["branch_name"], **known))


def _delete_branch(call: Call) -> Json:
    del call.world.branches[call.branch()["id"]]
    return {"message": "ok"}


def _work(call: Call, status: str) -> VendorReply:
    call.branch()["status"] = status
    return VendorReply(201, {"workflow_run_id": f"run-{next(call.world.numbers)}", "message": "ok"})


def _change_config(call: Call) -> VendorReply:
    call.project()
    body = call.body
    call.world.config["features"] = {**call.world.config["features"], **body.get("features", {})}
    call.world.config["fileSizeLimit"] = body.get("fileSizeLimit", call.world.config["fileSizeLimit"])
    return VendorReply(200)


Handler = Callable[[Call], Any]
_P, _B = "/v1/projects/{ref}", "/v1/branches/{branch_id_or_ref}"
ROUTES: dict[Operation, tuple[str, Handler]] = {
    ("get", "/v1/organizations"): (
        "organizations:read",
        lambda call: [
            {k: one[k] for k in ("id", "slug", "name")}
            for one in call.world.organizations.values()
            if not call.is_stranger
        ],
    ),
    ("get", "/v1/organizations/{slug}"): ("organizations:read", _organization),
    ("get", "/v1/organizations/{slug}/projects"): ("projects:read", _organization_projects),
    ("get", "/v1/projects"): (
        "projects:read",
        lambda call: [] if call.is_stranger else list(call.world.projects.values()),
    ),
    ("post", "/v1/projects"): ("projects:write", _create_project),
    ("get", _P): ("projects:read", Call.project),
    ("post", _P + "/pause"): ("projects:write", _pause),
    ("post", _P + "/restore"): ("projects:write", _restore),
    ("get", _P + "/health"): ("projects:read", _health),
    ("post", _P + "/database/query"): ("database:write", lambda call: _query(call, read_only=False)),
    ("post", _P + "/database/query/read-only"): ("database:read", lambda call: _query(call, read_only=True)),
    ("get", _P + "/database/migrations"): (
        "database:read",
        lambda call: [{k: one[k] for k in ("version", "name")} for one in call.world.migrations.values()],
    ),
    ("post", _P + "/database/migrations"): ("database:write", _migrate),
    ("get", _P + "/database/migrations/{version}"): ("database:read", _migration),
    ("get", _P + "/analytics/endpoints/logs.all"): ("analytics:read", _logs),
    ("get", _P + "/advisors/security"): ("database:read", lambda call: _lints(call, "SECURITY")),
    ("get", _P + "/advisors/performance"): ("database:read", lambda call: _lints(call, "PERFORMANCE")),
    ("get", _P + "/api-keys"): ("secrets:read", _keys),
    ("get", _P + "/types/typescript"): ("database:read", lambda call: {"types": call.world.types}),
    ("get", _P + "/functions"): ("edge_functions:read", lambda call: list(call.world.functions.values())),
    ("get", _P + "/functions/{function_slug}"): ("edge_functions:read", Call.function),
    ("delete", _P + "/functions/{function_slug}"): ("edge_functions:write", _delete_function),
    ("get", _P + "/functions/{function_slug}/body"): ("edge_functions:read", _function_body),
    ("post", _P + "/functions/deploy"): ("edge_functions:write", _deploy),
    ("get", _P + "/branches"): ("environment:read", _branches),
    ("post", _P + "/branches"): ("environment:write", _create_branch),
    ("delete", _B): ("environment:write", _delete_branch),
    ("post", _B + "/merge"): ("environment:write", lambda call: _work(call, "RUNNING_MIGRATIONS")),
    ("post", _B + "/reset"): ("environment:write", lambda call: _work(call, "CREATING_PROJECT")),
    ("post", _B + "/push"): ("environment:write", lambda call: _work(call, "MIGRATIONS_FAILED")),
    ("get", _P + "/storage/buckets"): ("storage:read", lambda call: call.world.buckets),
    ("get", _P + "/config/storage"): ("storage:read", lambda call: call.world.config),
    ("patch", _P + "/config/storage"): ("storage:write", _change_config),
}
SCOPES = frozenset(scope for scope, _ in ROUTES.values())


class SupabaseDouble(VendorDouble):
    """A Supabase of its own."""

    def __init__(self, address: DatabaseAddress) -> None:
        self.world = World()
        self.sql = SqlRunner(address)
        routes = {operation: self._on_world(handler) for operation, (_, handler) in ROUTES.items()}
        super().__init__(contract("supabase"), routes)

    def _on_world(self, handler: Handler) -> Callable[[VendorCall], Any]:
        return lambda call: handler(Call(self.world, self.sql, call))

    def authenticate(self, request: web.Request) -> tuple[str, frozenset[str]]:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        scopes = self.world.scopes.get(secret) if scheme == "Bearer" else None
        if scopes is None:
            raise Refused(401, "Unauthorized")
        return secret, scopes

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return Refused(status, reason)

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        if call.caller[0] in self.world.strangers and call.values:
            raise Refused(404, "Not Found")
        if ROUTES[operation][0] not in call.caller[1]:
            raise Refused(403, "Your account does not have the necessary privileges to access this endpoint.")

    def slow_down(self, seconds: int) -> None:
        """Answer the next request with the rate limit, in Supabase's form: no Retry-After."""
        names = {"X-RateLimit-Limit": "120", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(seconds)}
        self.refusals.append(Refused(429, "ThrottlerException: Too Many Requests", names))


@contextlib.asynccontextmanager
async def supabase_double(address: DatabaseAddress) -> AsyncIterator[SupabaseDouble]:
    """Serve a double with the project `REF` of the organization `acme`, for the tokens `full` and `reader`; `stranger`
    is somebody else's."""
    double = SupabaseDouble(address)
    world = double.world
    world.scopes |= {"full": SCOPES, "reader": frozenset(one for one in SCOPES if one.endswith(":read"))}
    world.scopes["stranger"] = SCOPES
    world.strangers.add("stranger")
    world.organization("acme")
    world.project("Shop", "acme", ref=REF)
    secret = {"description": None, "inserted_at": MOMENT}
    world.keys += [
        {"name": "anon", "type": "legacy", "api_key": legacy_key("anon"), "id": "anon", **secret},
        {"name": "service_role", "type": "legacy", "api_key": legacy_key("service_role"), "id": "service", **secret},
        {"name": "default", "type": "publishable", "api_key": "sb_publishable_abc", "id": "p", **secret},
        {"name": "default", "type": "secret", "api_key": "sb_secret_never-shown", "id": "s", **secret},
    ]
    world.config = {
        "fileSizeLimit": 52_428_800, "features": dict(FEATURES), "migrationVersion": "x", "databasePoolMode": "x",
        "capabilities": {"list_v2": True, "iceberg_catalog": False}, "external": {"upstreamTarget": "main"},
    }  # fmt: skip
    try:
        async with serve_double(double):
            yield double
    finally:
        double.sql.close()
