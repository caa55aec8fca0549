"""What the database itself promises (threat-model.md §3.5): forced row-level security, roles, no loose functions."""

from pathlib import Path

import asyncpg
import pytest

from core.migrations import LOGIN_ROLES
from tests.support.postgres import ScratchDatabase

ROOT = Path(__file__).parents[2]
SCHEMAS = ("core", "auth", "vault", "audit", "modules", "jobs", "results", "search")

# Every policy that is not plain "your own tenant's rows" (by_tenant) or "your own rows" (by_user): (command, roles).
EXTRA_POLICIES = {
    ("core.tenants", "lookup_by_slug"): ("r", ("mcpist_console",)),
    ("core.tenants", "deployment_lists_tenants"): ("r", ("mcpist_console",)),
    ("auth.api_tokens", "lookup_by_token_id"): ("r", ("mcpist_broker",)),
    ("core.generations", "poll_by_tenants"): ("r", ("mcpist_broker", "mcpist_gateway")),
    # Which tenants have audit events that are not counted yet: numbers of events, by tenant.
    ("core.count_positions", "deployment_lists_positions"): ("r", ("mcpist_console",)),
    # The audit functions' own rights: nobody logs in as the owner.
    ("audit.incoming", "owner_appends"): ("a", ("mcpist_owner",)),
    ("audit.incoming", "owner_takes"): ("r", ("mcpist_owner",)),
    ("audit.incoming", "owner_removes_sealed"): ("d", ("mcpist_owner",)),
    ("audit.heads", "owner_keeps_heads"): ("*", ("mcpist_owner",)),
    ("audit.events", "owner_seals"): ("a", ("mcpist_owner",)),
    ("audit.events", "owner_finds_doubles"): ("r", ("mcpist_owner",)),
    ("core.deployment", "broker_reads_the_deployment"): ("r", ("mcpist_broker",)),
    ("core.deployment", "broker_adopts"): ("w", ("mcpist_broker",)),
    ("vault.key_checks", "broker_takes_key_checks_away"): ("d", ("mcpist_broker",)),
    ("vault.key_checks", "broker_reads_key_checks"): ("r", ("mcpist_broker",)),
    ("vault.key_checks", "broker_adds_key_checks"): ("a", ("mcpist_broker",)),
    # What broker/rejections asks about, of all tenants: ids and numbers only, by functions of the owner's.
    ("vault.credentials", "owner_finds_rejected"): ("r", ("mcpist_owner",)),
    # What results.sweep removes, and what goes with an account.
    ("results.results", "owner_removes_results"): ("*", ("mcpist_owner",)),
    # What core.sweep_resource_subscriptions removes.
    ("core.resource_subscriptions", "owner_sweeps_subscriptions"): ("*", ("mcpist_owner",)),
    # Before a tenant is known, each on one key.
    ("core.tenants", "broker_looks_up_by_slug"): ("r", ("mcpist_broker",)),
    ("core.tenants", "lookup_by_tenants"): ("r", ("mcpist_broker",)),
    ("core.allow_list", "lookup_by_allow_entry"): ("r", ("mcpist_broker",)),
    ("auth.identities", "lookup_by_account"): ("r", ("mcpist_broker",)),
    ("auth.sessions", "lookup_by_session"): ("r", ("mcpist_broker",)),
    ("auth.one_time_links", "lookup_by_link"): ("r", ("mcpist_broker",)),
    ("auth.scim_tokens", "lookup_by_scim_token"): ("r", ("mcpist_broker",)),
    ("auth.clients", "lookup_by_client_id"): ("r", ("mcpist_broker",)),
    ("auth.trusted_issuers", "lookup_by_issuer"): ("r", ("mcpist_broker",)),
    ("auth.codes", "lookup_by_code"): ("r", ("mcpist_broker",)),
    ("auth.refresh_tokens", "lookup_by_refresh_token"): ("r", ("mcpist_broker",)),
    # What auth.sweep removes.
    ("auth.sessions", "owner_sweeps_sessions"): ("*", ("mcpist_owner",)),
    ("auth.one_time_links", "owner_sweeps_links"): ("*", ("mcpist_owner",)),
    ("auth.codes", "owner_sweeps_codes"): ("*", ("mcpist_owner",)),
    ("auth.grants", "owner_sweeps_grants"): ("*", ("mcpist_owner",)),
    ("auth.refresh_tokens", "owner_sweeps_refresh_tokens"): ("*", ("mcpist_owner",)),
    # A worker names a mandate; triggers end mandates, and functions list those that are over and remove old ones.
    ("auth.mandates", "lookup_by_mandate"): ("r", ("mcpist_broker",)),
    ("auth.mandates", "owner_ends_mandates"): ("*", ("mcpist_owner",)),
    # All generations at once, in the one function that switches it on.
    ("core.generations", "owner_raises_all"): ("*", ("mcpist_owner",)),
    # A vendor's callback names its flow.
    ("vault.connect_flows", "lookup_by_state"): ("r", ("mcpist_broker",)),
    # What vault.due_accounts and vault.vendor_answers count and name, and what vault.sweep removes.
    ("vault.accounts", "owner_finds_due"): ("r", ("mcpist_owner",)),
    ("core.tenants", "owner_sees_who_is_suspended"): ("r", ("mcpist_owner",)),
    ("core.users", "owner_sees_who_is_suspended"): ("r", ("mcpist_owner",)),
    ("vault.accounts", "owner_shreds"): ("w", ("mcpist_owner",)),
    ("vault.oauth_clients", "owner_sees_breakers"): ("r", ("mcpist_owner",)),
    ("vault.candidates", "owner_sweeps_candidates"): ("*", ("mcpist_owner",)),
    ("vault.connect_flows", "owner_sweeps_flows"): ("*", ("mcpist_owner",)),
    # What vault.take_notices takes and vault.sweep_notices removes.
    ("vault.notices", "owner_finds_notices"): ("*", ("mcpist_owner",)),
    # Which tenants have a collector that lacks records.
    ("vault.audit_streams", "deployment_lists_streams"): ("r", ("mcpist_broker",)),
    # The one row that says how long the log is kept; dropping months is the administrator's.
    ("audit.retention", "console_keeps"): ("*", ("mcpist_console",)),
    # Tables without a tenant, for the broker alone.
    ("auth.sign_ins", "broker_keeps"): ("*", ("mcpist_broker",)),
    ("auth.dynamic_clients", "broker_keeps"): ("*", ("mcpist_broker",)),
    ("auth.signing_keys", "broker_keeps"): ("*", ("mcpist_broker",)),
    ("auth.used_ids", "broker_keeps"): ("*", ("mcpist_broker",)),
    ("auth.deployment_settings", "broker_keeps"): ("*", ("mcpist_broker",)),
    ("auth.pepper_checks", "broker_keeps"): ("*", ("mcpist_broker",)),
    # The check of the key of argument digests: every process compares its file with it.
    ("audit.digest_key_check", "processes_compare"): ("r", ("mcpist_broker", "mcpist_console", "mcpist_gateway")),
    ("audit.digest_key_check", "broker_records"): ("a", ("mcpist_broker",)),
    ("audit.digest_key_check", "broker_forgets"): ("d", ("mcpist_broker",)),
    # What the functions of workers do for all tenants; the console shows a tenant's jobs without their contents.
    ("jobs.jobs", "owner_runs_jobs"): ("*", ("mcpist_owner",)),
    ("jobs.schedules", "owner_runs_schedules"): ("*", ("mcpist_owner",)),
    ("jobs.tenant_turns", "owner_keeps_turns"): ("*", ("mcpist_owner",)),
    ("jobs.user_turns", "owner_keeps_turns"): ("*", ("mcpist_owner",)),
    ("jobs.workers", "owner_keeps_workers"): ("*", ("mcpist_owner",)),
    ("jobs.jobs", "console_lists"): ("r", ("mcpist_console",)),
    ("jobs.jobs", "console_cancels"): ("w", ("mcpist_console",)),
    ("jobs.schedules", "console_lists"): ("r", ("mcpist_console",)),
    ("jobs.schedules", "console_changes"): ("w", ("mcpist_console",)),
    # Who may read and write a collection, beside its tenant: restrictive ones (core/search_schema).
    **{
        (f"search.{table}", name): (command, ("mcpist_gateway",))
        for table in ("collections", "documents", "chunks", "token_counts")
        for name, command in (("readers", "r"), ("creators", "a"), ("changers", "w"), ("removers", "d"))
    },
    # Who may read and write a workspace of items, beside its tenant: restrictive ones, too.
    **{
        (f"modules.item{table}", name): (command, ("mcpist_gateway",))
        for table in (
            "_workspaces",
            "s",
            "_tags",
            "_tag_counts",
            "_relations",
            "_aliases",
            "_numbers",
            "_statuses",
            "_states",
        )
        for name, command in (("readers", "r"), ("creators", "a"), ("changers", "w"), ("removers", "d"))
    },
    # What modules.find_items looks through: it asks for the tenant and the workspace itself, and gives ids alone.
    ("modules.items", "search_reads"): ("r", ("mcpist_search",)),
    # What search.find_candidates looks through: it asks for the tenant itself, and gives ids alone.
    ("search.documents", "search_reads"): ("r", ("mcpist_search",)),
    ("search.chunks", "search_reads"): ("r", ("mcpist_search",)),
    # What triggers count and mark, and what a rewrite counts.
    ("search.usage", "owner_counts"): ("*", ("mcpist_owner",)),
    # Documents go whose source is gone: search.remove_orphans.
    ("search.collections", "owner_updates"): ("w", ("mcpist_owner",)),
    ("search.documents", "owner_finds"): ("r", ("mcpist_owner",)),
    ("search.documents", "owner_removes"): ("d", ("mcpist_owner",)),
    ("search.chunks", "owner_finds"): ("r", ("mcpist_owner",)),
    ("search.token_counts", "owner_counts"): ("*", ("mcpist_owner",)),
    ("modules.documents", "owner_finds_parents"): ("r", ("mcpist_owner",)),
    ("modules.kg_unindexed", "owner_finds_outdated"): ("r", ("mcpist_owner",)),
    ("modules.items", "owner_finds_indexed"): ("r", ("mcpist_owner",)),
    ("search.collections", "owner_counts"): ("r", ("mcpist_owner",)),
    ("core.dirty_tables", "owner_marks"): ("*", ("mcpist_owner",)),
    # What core.rewrite_dirty_table counts.
    **{
        (f"modules.{table}", "owner_counts"): ("r", ("mcpist_owner",))
        for table in (
            *(
                f"item_{table}"
                for table in ("workspaces", "tags", "tag_counts", "aliases", "numbers", "statuses", "states")
            ),
            *(f"kg_{table}" for table in ("entities", "observations", "relations", "unindexed")),
            "activity_entries",
            "documents",
        )
    },
    # The key by which the broker signs passes, and audit.append_signed checks them.
    ("auth.audit_key", "broker_signs"): ("r", ("mcpist_broker",)),
    ("auth.audit_key", "owner_checks"): ("*", ("mcpist_owner",)),
}
# Tables without a tenant, which belong to the whole deployment.
OF_THE_DEPLOYMENT = {
    "core.deployment",
    "audit.retention",
    "vault.key_checks",
    "auth.sign_ins",
    "auth.dynamic_clients",
    "auth.signing_keys",
    "auth.used_ids",
    "auth.deployment_settings",
    "auth.pepper_checks",
    "audit.digest_key_check",
    "auth.audit_key",
    "jobs.workers",
    "core.dirty_tables",
}
# Unique over all tenants: client ids, and the hashes of 256 random bits, which nobody can choose to collide.
RANDOM_KEYS = {
    "auth.clients",
    "auth.codes",
    "auth.one_time_links",
    "auth.refresh_tokens",
    "auth.sessions",
    "auth.scim_tokens",
    "vault.connect_flows",
}


@pytest.mark.guarantee("G9")
async def test_every_table_with_a_tenant_forces_row_level_security(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        loose = await admin.fetch(
            """SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p')
            AND NOT (c.relrowsecurity AND c.relforcerowsecurity)""",
            SCHEMAS,
        )
    assert [row[0] for row in loose] == []


@pytest.mark.guarantee("G9")
async def test_every_tenant_table_has_its_plain_policy(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        bare = await admin.fetch(
            """SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND NOT EXISTS (
                SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname IN ('by_tenant', 'by_user')
            )""",
            SCHEMAS,
        )
    assert {row[0] for row in bare} == OF_THE_DEPLOYMENT


@pytest.mark.guarantee("G9")
async def test_the_other_policies_are_these_and_no_more(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT polrelid::regclass::text AS relation, polname, polcmd::text AS command,
            array(SELECT rolname::text FROM pg_roles WHERE oid = ANY (polroles) ORDER BY 1) AS roles
            FROM pg_policy WHERE polname NOT IN ('by_tenant', 'by_user')
            AND polrelid NOT IN (SELECT inhrelid FROM pg_inherits)"""
        )
    found = {(row["relation"], row["polname"]): (row["command"], tuple(row["roles"])) for row in rows}
    assert found == EXTRA_POLICIES


@pytest.mark.guarantee("G9")
async def test_what_narrows_the_plain_policy_of_search_is_restrictive(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        names = await admin.fetch(
            "SELECT DISTINCT polname FROM pg_policy WHERE NOT polpermissive ORDER BY 1",
        )
    assert [row[0] for row in names] == ["changers", "creators", "readers", "removers"]


@pytest.mark.guarantee("G9")
async def test_plain_policies_compare_with_the_transaction_s_tenant(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT polname, pg_get_expr(polqual, polrelid) AS using, pg_get_expr(polwithcheck, polrelid) AS checks
            FROM pg_policy WHERE polname IN ('by_tenant', 'by_user')"""
        )
    assert {row["polname"] for row in rows} == {"by_tenant", "by_user"}
    for row in rows:
        assert "tenant_id = core.current_tenant()" in row["using"]
        assert row["checks"] in (row["using"], None)
        assert ("core.current_user_id()" in row["using"]) == (row["polname"] == "by_user")


@pytest.mark.guarantee("G9")
async def test_no_product_role_may_step_round_the_policies(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolinherit, rolreplication,
            rolconfig,
            array(SELECT m.roleid::regrole::text FROM pg_auth_members m WHERE m.member = r.oid) AS member_of
            FROM pg_roles r WHERE rolname LIKE 'mcpist%' AND rolcanlogin"""
        )
    assert {row["rolname"] for row in rows} == set(LOGIN_ROLES)
    for row in rows:
        assert not any(value for name, value in row.items() if name not in ("rolname", "rolconfig", "member_of"))
        assert row["member_of"] == (["mcpist_gateway"] if row["rolname"] == "mcpist_worker" else [])
        assert set(row["rolconfig"]) == {"search_path=pg_catalog", "temp_file_limit=1GB"}


@pytest.mark.guarantee("G9")
async def test_definer_functions_fix_their_search_path_and_nothing_is_public(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT p.oid::regprocedure::text AS name, p.prosecdef, p.proconfig, p.proacl::text AS acl
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = ANY ($1)""",
            SCHEMAS,
        )
        public_tables = await admin.fetch(
            """SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
            aclexplode(c.relacl) a WHERE n.nspname = ANY ($1) AND a.grantee = 0""",
            SCHEMAS,
        )
    assert rows
    for row in rows:
        if row["prosecdef"]:
            assert any(setting.startswith("search_path=pg_catalog") for setting in row["proconfig"] or []), row["name"]
        # A NULL acl is the built-in default, which is EXECUTE for everybody.
        assert row["acl"] is not None, row["name"]
        assert "{=X" not in row["acl"], row["name"]
        assert ",=X" not in row["acl"], row["name"]
    assert public_tables == []


@pytest.mark.guarantee("G9")
async def test_views_ask_with_the_reader_s_rights(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        loose = await admin.fetch(
            """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = ANY ($1) AND c.relkind = 'v'
            AND NOT 'security_invoker=true' = ANY (coalesce(c.reloptions, '{}'))""",
            SCHEMAS,
        )
    assert loose == []


@pytest.mark.guarantee("G9")
@pytest.mark.parametrize("schema", ["auth", "vault"])
@pytest.mark.parametrize("role", ["mcpist_gateway", "mcpist_console"])
async def test_only_the_broker_reaches_the_trust_zone(database: ScratchDatabase, role: str, schema: str) -> None:
    async with database.admin_connection() as admin:
        assert not await admin.fetchval("SELECT has_schema_privilege($1, $2, 'USAGE')", role, schema)
        assert await admin.fetchval("SELECT has_schema_privilege('mcpist_broker', $1, 'USAGE')", schema)


@pytest.mark.guarantee("G9")
async def test_the_gateway_cannot_read_tokens(database: ScratchDatabase) -> None:
    async with database.open("mcpist_gateway") as gateway:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await gateway.call("SELECT count(*) FROM auth.api_tokens")


@pytest.mark.guarantee("G9")
async def test_unique_constraints_leak_nothing_of_other_tenants(database: ScratchDatabase) -> None:
    """A constraint that does not start with the tenant would tell a tenant what another one has."""
    tables = {"core.tenants", "auth.api_tokens", "audit.incoming", "audit.heads"}
    global_on_purpose = tables | RANDOM_KEYS | OF_THE_DEPLOYMENT
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT c.oid::regclass::text AS relation, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
            JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
            WHERE i.indisunique AND n.nspname = ANY ($1) AND NOT c.relispartition""",
            SCHEMAS,
        )
    assert {row["relation"] for row in rows if row["attname"] != "tenant_id"} <= global_on_purpose


async def test_tables_with_texts_of_people_are_marked_when_some_is_deleted(database: ScratchDatabase) -> None:
    """Those of modules, of whose texts only names of our own are no person's: docs/security.md lists the others."""
    names_of_ours = {"modules.document_counts", "modules.activity_syncs"}
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT DISTINCT c.oid::regclass::text AS relation, (
                SELECT bool_and(EXISTS (
                    SELECT FROM pg_trigger t WHERE t.tgrelid = p.relid AND t.tgname = 'mark_deleted'))
                FROM pg_partition_tree(c.oid) p WHERE p.isleaf) OR EXISTS (
                SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'mark_deleted') AS is_marked
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE n.nspname IN ('modules', 'search') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND a.attnum > 0 AND a.atttypid = ANY ('{text,text[],jsonb,tsvector}'::regtype[])"""
        )
    assert {row["relation"] for row in rows if not row["is_marked"]} == names_of_ours
    documented = (ROOT / "docs" / "security.md").read_text("utf-8")
    for relation in {row["relation"] for row in rows} - names_of_ours:
        assert f"`{relation}`" in documented or f"`{relation.partition('.')[2]}`" in documented, relation
