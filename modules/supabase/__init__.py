"""Supabase, through its Management API at api.supabase.com."""

from modules.kit import AccountRequest, Module, VendorApi
from modules.supabase import access, branches, database, diagnostics, edge_functions, projects, sql, storage

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
    tools=TOOLS,
    vendor=VendorApi(base_url="https://api.supabase.com", account=AccountRequest("/v1/organizations", name="/0/name")),
)
