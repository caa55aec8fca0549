"""What every tool of Supabase's goes through."""

from collections.abc import Mapping

import pytest

from modules.supabase import MODULE
from tests.modules.supabase.calls import BRANCH, READS, WRITES
from tests.support.resource_walk import ResourceWalk
from tests.support.supabase_double import SupabaseDouble
from tests.support.supabase_double.server import SCOPES
from tests.support.supabase_double.world import MOMENT, REF, Refused, World
from tests.support.tool_calls import Calls
from tests.support.tool_walk import ToolWalk
from tests.support.vendor_double import VendorRefusal

pytestmark = pytest.mark.asyncio(loop_scope="package")
MICROSECONDS = 1_767_225_600_000_000
WORDS = "議事録 ملاحظات"


class TestEveryTool(ToolWalk):
    module = MODULE
    limits = 3
    eves = "reader"
    lacking = "the OAuth app's scopes|personal access token"
    ids = frozenset({"ref", "slug", "branch", "version"})
    reads = "/read-only"
    verbatim = frozenset({"execute_sql"})
    listing = frozenset({"execute_sql_write"})
    local = frozenset({"get_project_url"})

    def furnish(self, vendor: SupabaseDouble) -> Calls:
        world = vendor.world = World(
            vendor.world.scopes, vendor.world.strangers, keys=vendor.world.keys, config=vendor.world.config
        )
        world.organization("acme")
        world.organization("free", "free")
        world.project(WORDS, "acme", ref=REF)
        paused = world.project("Two", "acme")
        paused["status"] = "INACTIVE"
        for version in ("1", "2"):
            world.migrations[version] = {
                "version": version,
                "name": WORDS,
                "statements": [f"select '{WORDS}'"],
                "created_by": "ada@acme.test",
                "idempotency_key": version,
            }
        world.types = f"export type Json = string // {WORDS}"
        for slug in ("hello", "two"):
            world.function(slug, {"index.ts": WORDS.encode()}, "index.ts")
        world.branch(REF, "main", project_ref=BRANCH)
        world.branch(REF, "dev")
        for name in ("rls_disabled_in_public", "auth_users_exposed"):
            world.lint(name, WORDS)
        moment = {"created_at": MOMENT, "updated_at": MOMENT, "owner": "o"}
        for name in ("写真", "b"):
            world.buckets.append({"id": name, "name": name, "public": False, **moment})
            world.logs.append({"table": "edge_logs", "timestamp": MICROSECONDS, "message": f"GET /{name}"})
        return (
            READS
            | WRITES
            | {
                "list_extensions": {"ref": REF, "available": True},
                "get_logs": {
                    "ref": REF,
                    "service": "api",
                    "start": "2026-01-01T00:00:00Z",
                    "end": "2026-01-01T01:00:00Z",
                },
                "restore_project": {"ref": paused["ref"]},
            }
        )

    def make_keys(self, vendor: SupabaseDouble) -> Mapping[str, str]:
        vendor.world.scopes |= {"powerless": frozenset(), "limited": SCOPES}
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}

    def make_limit(self, seconds: int) -> VendorRefusal:
        names = {"X-RateLimit-Limit": "120", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(seconds)}
        return Refused(429, "ThrottlerException: Too Many Requests", names)


class TestEveryResource(ResourceWalk):
    walk = TestEveryTool()
    secret = "People who buy|議事録"
    typed = {"project": "議事"}  # noqa: RUF012

    def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
        project = {"project": REF}
        return {"table_schema": {**project, "table": "users"}, "database_schema": project, "typescript_types": project}
