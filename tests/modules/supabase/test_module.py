"""The module as it is declared: names, hints, scopes, and what its schemas and answers cost."""

from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from broker.connect.client_registration import choose_registration_method
from broker.oauth_client.token_response import resolve_pointer
from broker.providers.catalogue import load_builtin_providers
from gateway.catalogue import build_catalogue
from modules.supabase import MODULE
from modules.supabase.access import PublishableKey
from modules.supabase.branches import BranchRow
from modules.supabase.database import TableRow
from modules.supabase.diagnostics import LogRow
from modules.supabase.edge_functions import FunctionDetails, FunctionRow
from modules.supabase.log_queries import SOURCES, build_log_query
from modules.supabase.multipart_reading import parse_boundary, parse_files, shorten_path
from modules.supabase.projects import OrganizationDetails, ProjectDetails, ProjectRow
from modules.supabase.storage import StorageConfig
from tests.modules.supabase.calls import READS, WRITES
from tests.support.module_app import ModuleApp
from tests.support.module_check import check_module, list_troubles
from tests.support.odd_answers import find_losses
from tests.support.supabase_double import ROUTES, SupabaseDouble
from tests.support.supabase_double.world import REF
from tests.support.tokens import tokens
from tests.support.vendor_contract import contract

# (read-only, destructive, idempotent) of the design's table.
READ, ADD, CHANGE, ACT = (True, False, False), (False, False, False), (False, True, True), (False, True, False)
HINTS = {
    **dict.fromkeys((*READS, "get_project_url"), READ),
    **dict.fromkeys(("create_project", "create_branch"), ADD),
    **dict.fromkeys(
        ("pause_project", "deploy_edge_function", "delete_edge_function", "delete_branch", "update_storage_config"),
        CHANGE,
    ),
    **dict.fromkeys(("execute_sql_write", "apply_migration", "merge_branch", "reset_branch", "rebase_branch"), ACT),
    "restore_project": (False, False, True),
}
# o200k tokens of name, description and parameters as a client would list them. Raise one only with a reason.
MOST_TOKENS = 220
MOST_ON_AVERAGE = 90


def test_every_tool_of_the_design_with_its_hints() -> None:
    found = {tool.name: (tool.hints.read_only, tool.hints.destructive, tool.hints.idempotent) for tool in MODULE.tools}
    assert found == HINTS
    assert all(tool.hints.open_world for tool in MODULE.tools)
    assert len(found) >= 30


def test_what_reads_needs_no_scope_for_writing() -> None:
    for tool in MODULE.tools:
        assert tool.hints.read_only == all(scope.endswith(":read") for scope in tool.scopes), tool.name


def test_scopes_are_those_of_the_operations() -> None:
    operations = contract("supabase").operations()
    assert ROUTES.keys() <= set(operations)
    assert {scope for scope, _ in ROUTES.values()} <= MODULE.scopes


def test_the_provider_that_registers_itself_asks_for_the_scopes_of_the_tools() -> None:
    provider = load_builtin_providers().get("supabase_registered")
    assert choose_registration_method(provider, "https://mcpist.example") == "registration"
    served = provider.modules["supabase"]
    assert {*served.reading, *served.writing} == MODULE.scopes
    assert all(scope.endswith(":read") for scope in served.reading)
    assert set(served.reading) == {scope for tool in MODULE.tools if tool.hints.read_only for scope in tool.scopes}


def test_secrets_are_parameters_that_nobody_records() -> None:
    sensitive = {tool.name: tool.sensitive_parameters for tool in MODULE.tools if tool.sensitive_parameters}
    assert sensitive == {
        "create_project": {"db_pass"}, "execute_sql": {"parameters"}, "execute_sql_write": {"parameters"},
    }  # fmt: skip


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["supabase"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


def test_every_tool_that_asks_supabase_is_called_in_the_tables() -> None:
    assert READS.keys() | WRITES.keys() | {"get_project_url"} == {tool.name for tool in MODULE.tools}


@pytest.mark.parametrize("service", SOURCES)
def test_a_log_query_has_nothing_of_the_callers_but_a_plain_word(service: str) -> None:
    query = build_log_query(service, "Größe 注文 /a?b=1", 51, 100)  # type: ignore[arg-type]
    assert "strpos(lower(event_message), 'größe 注文 /a?b=1') > 0" in query
    assert query.endswith("limit 51 offset 100")
    assert query.count("'") == 2


BODIES = [
    (b"", []),
    (b"--b--\r\n", []),
    (b'--b\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{}\r\n--b--\r\n', []),
    (b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.ts"\r\n\r\nx--b\r\n\r\n--b--', ["x--b\r\n"]),
    (b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n\r\n--b--', [""]),
    (b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n\xff\r\n--b--', [None]),
    (b'--b\r\nno head at all\r\n--b\r\n; filename="a"\r\n\r\ncut off', ["cut off"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "contents"), BODIES)
def test_files_of_a_multipart_body(body: bytes, contents: list[str | None]) -> None:
    assert [one.content for one in parse_files(body, "b")] == contents


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        ("multipart/form-data; boundary=abc", "abc"),
        ('multipart/form-data; charset=utf-8; boundary="a b"', None),
        ('multipart/form-data; charset=utf-8; boundary="a:b"; x=y', "a:b"),
        ("application/json", None),
        ("multipart/form-data", None),
        ("multipart/form-data; boundary=", None),
    ],
)
def test_the_boundary_of_a_multipart_body(content_type: str, boundary: str | None) -> None:
    assert parse_boundary(content_type) == boundary


def test_a_path_loses_the_folder_of_its_bundle() -> None:
    assert shorten_path(f"file:///tmp/user_fn_{REF}_id_7/source/index.ts") == "source/index.ts"
    assert shorten_path(f"/tmp/user_fn_{REF}_id_7/index.ts") == "index.ts"
    assert shorten_path("functions/tmp/index.ts") == "functions/tmp/index.ts"


@pytest.mark.asyncio(loop_scope="package")
async def test_the_name_of_the_account(vendor: SupabaseDouble) -> None:
    api = MODULE.vendor
    assert api is not None
    assert api.account.path == "/v1/organizations"
    listed = [{"id": one["id"], "name": one["name"]} for one in vendor.world.organizations.values()]
    assert resolve_pointer(listed, api.account.name) == "Acme"


@pytest.mark.asyncio(loop_scope="package")
async def test_a_typical_answer_costs_a_third_of_supabases(app: ModuleApp, vendor: SupabaseDouble) -> None:
    vendor.world.organization("typical")
    for number in range(10):
        vendor.world.project(f"Project {number}", "typical")
        vendor.world.lint("rls_enabled_no_policy", f"Table public.table_{number} has no policy")
        vendor.world.branch(REF, f"branch-{number}")
        vendor.world.function(f"fn-{number}", {"index.ts": b""}, "index.ts")
    raw = {
        "list_projects": [one for one in vendor.world.projects.values() if one["organization_slug"] == "typical"],
        "get_advisors": {"lints": vendor.world.lints},
        "list_branches": list(vendor.world.branches.values()),
        "list_edge_functions": list(vendor.world.functions.values()),
    }
    params = {"list_projects": {"organization": "typical"}, "get_advisors": {"ref": REF, "type": "security"}}
    shares: dict[str, float] = {}
    for tool, answer in raw.items():
        found = await app.call(tool, **params.get(tool, {"ref": REF}))
        shares[tool] = tokens(orjson.dumps(found.value).decode()) / tokens(orjson.dumps(answer).decode())
    for kept in (vendor.world.lints, vendor.world.branches, vendor.world.functions):
        kept.clear()
    assert max(shares.values()) <= 0.34, shares


@pytest.mark.asyncio(loop_scope="package")
async def test_the_check_runs_every_reading_tool(app: ModuleApp, vendor: SupabaseDouble) -> None:
    await app.read("apply_migration", ref=REF, name="first", query="select 1")
    vendor.world.function("hello", {"index.ts": b"// hello"}, "index.ts")
    assert list_troubles(await check_module(MODULE, vendor.url, "full")) == []
    vendor.world.migrations.clear()
    vendor.world.functions.clear()


async def make_rows(app: ModuleApp, vendor: SupabaseDouble) -> dict[type[BaseModel], dict[str, Any]]:
    """A row of each kind as Supabase sends it."""
    world = vendor.world
    branch, function = world.branch(REF, "b", git_branch="b"), world.function("f", {"index.ts": b""}, "index.ts")
    world.branches.clear()
    world.functions.clear()
    await app.read("list_tables", ref=REF, columns=True, table="users")
    [table] = orjson.loads(vendor.answers[-1])
    column = {**table["columns"][0], "default": "1", "comment": "c"}
    line = {"timestamp": 1_767_225_600_000_000, "message": "x", "level": "error", "status": 500, "path": "/a"}
    return {
        OrganizationDetails: world.organizations["acme"],
        ProjectRow: world.projects[REF],
        ProjectDetails: world.projects[REF],
        BranchRow: branch,
        FunctionRow: {**function, "name": "Hello", "verify_jwt": False, "status": "THROTTLED"},
        FunctionDetails: {**function, "name": "Hello", "verify_jwt": False, "status": "THROTTLED"},
        TableRow: {**table, "comment": "x", "rows_estimate": 3, "columns": [column]},
        LogRow: line,
        PublishableKey: world.keys[2],
        StorageConfig: world.config,
    }


@pytest.mark.asyncio(loop_scope="package")
async def test_an_odd_field_costs_itself_only(app: ModuleApp, vendor: SupabaseDouble) -> None:
    for shape, row in (await make_rows(app, vendor)).items():
        assert find_losses(shape, row) == []
