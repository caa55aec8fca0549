"""Supabase, through its Management API at api.supabase.com."""

from modules.kit import AccountRequest, Icon, Module, ParameterSample, VendorApi
from modules.kit.resource_changes import announce_changes
from modules.supabase import access, branches, database, diagnostics, edge_functions, projects, sql, storage
from modules.supabase.prompts import PROMPTS
from modules.supabase.resource_changes import CHANGES
from modules.supabase.resources import RESOURCES

TOOLS = (
    *projects.TOOLS,
    *access.TOOLS,
    *database.TOOLS,
    *sql.TOOLS,
    *diagnostics.TOOLS,
    *edge_functions.TOOLS,
    *branches.TOOLS,
    *storage.TOOLS,
)

MODULE = Module(
    name="supabase",
    title="Supabase",
    description="Supabase projects: tables, SQL, migrations, logs, edge functions, branches, storage.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=announce_changes(TOOLS, CHANGES),
    resources=RESOURCES,
    icon=Icon("#1c7a50", "M6 7c0-2.7 12-2.7 12 0s-12 2.7-12 0v10c0 2.7 12 2.7 12 0V7M6 12c0 2.7 12 2.7 12 0"),
    prompts=PROMPTS,
    vendor=VendorApi(base_url="https://api.supabase.com", account=AccountRequest("/v1/organizations", name="/0/name")),
    samples={
        "organization": ParameterSample("acme", "list_organizations", "/organizations/0/slug"),
        "get_organization.slug": ParameterSample("acme", "list_organizations", "/organizations/0/slug"),
        "ref": ParameterSample("abcdefghijklmnopqrst", "list_projects", "/projects/0/ref"),
        "version": ParameterSample("20260131120000", "list_migrations", "/migrations/0/version"),
        "get_edge_function.slug": ParameterSample("hello", "list_edge_functions", "/functions/0/slug"),
        "execute_sql.query": ParameterSample("select 1 as one"),
        "service": ParameterSample("api"),
        "get_advisors.type": ParameterSample("security"),
        "name": ParameterSample("shop"),
        "region": ParameterSample("emea"),
        "query": ParameterSample("create table orders (id bigint primary key)"),
        "slug": ParameterSample("hello"),
        "files": ParameterSample([{"path": "index.ts", "content": "Deno.serve(() => new Response('hello'))\n"}]),
        "branch": ParameterSample("bcdefghijklmnopqrstu"),
        "update_storage_config.s3_protocol": ParameterSample(True),
    },
)
