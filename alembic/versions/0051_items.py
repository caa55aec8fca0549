"""Items: typed records with relations, tags and statuses in workspaces of a person, a role or the tenant, and the
current state of each workspace with its history.

Every transaction that writes first raises its workspace's `generation`: that row is the lock, so writers of one
workspace queue, none is lost and none can deadlock. What was read at a generation is valid as long as it stays.

Words are found by one index over all tenants: the number of the workspace stands before each token, so it finds nothing
of another's. Operators of texts and arrays are not leakproof, so under row-level security no index serves them: one
function of a role without login looks up ids, and rows are read under the caller's policies.
"""

from typing import LiteralString

from alembic import op

from core.migrations import build_tenant_policy_script, run_script
from core.shared_rows import IS_ADMINISTRATOR, ROLES_OF_USER, build_readable, build_writable

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

# `indexed_revision`: the revision that the search by meaning knows. A relation has a direction, and is walked in both.
# COLLATE "C": keys do not depend on the server's locale.
TABLES = """
CREATE TABLE modules.item_workspaces (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    number bigint GENERATED ALWAYS AS IDENTITY,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    owner text NOT NULL CHECK (owner IN ('user', 'role', 'tenant')),
    user_id uuid CHECK ((user_id IS NOT NULL) = (owner = 'user')),
    role_id uuid CHECK ((role_id IS NOT NULL) = (owner = 'role')),
    member_writes boolean NOT NULL DEFAULT true,
    generation bigint NOT NULL DEFAULT 1,
    items integer NOT NULL DEFAULT 0 CHECK (items >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE NULLS NOT DISTINCT (tenant_id, owner, user_id, role_id, name),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50);
CREATE INDEX ON modules.item_workspaces (tenant_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX ON modules.item_workspaces (tenant_id, role_id) WHERE role_id IS NOT NULL;
CREATE INDEX ON modules.item_workspaces (tenant_id) WHERE owner = 'tenant';
CREATE TABLE modules.items (
    tenant_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    type text COLLATE "C" NOT NULL CHECK (length(type) BETWEEN 1 AND 64),
    number integer NOT NULL CHECK (number > 0),
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    description text NOT NULL CHECK (length(description) <= 1000),
    content text NOT NULL CHECK (length(content) <= 102400),
    status text COLLATE "C" NOT NULL CHECK (length(status) BETWEEN 1 AND 64),
    priority text NOT NULL CHECK (priority IN ('CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'MINIMAL')),
    category text CHECK (length(category) <= 100),
    start_date date,
    end_date date,
    version text CHECK (length(version) <= 100),
    tags text[] NOT NULL CHECK (cardinality(tags) <= 50),
    tokens tsvector NOT NULL,
    revision integer NOT NULL DEFAULT 1 CHECK (revision > 0),
    indexed_revision integer NOT NULL DEFAULT 0 CHECK (indexed_revision >= 0),
    updated_by uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, workspace_id, id),
    UNIQUE (tenant_id, workspace_id, type, number),
    CHECK (end_date >= start_date),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES modules.item_workspaces ON DELETE CASCADE
);
CREATE INDEX items_newest ON modules.items (tenant_id, workspace_id, type, status, updated_at DESC, id DESC);
CREATE INDEX items_recent ON modules.items (tenant_id, workspace_id, updated_at DESC, id DESC);
CREATE INDEX items_tokens ON modules.items USING gin (tokens);
CREATE INDEX items_pending ON modules.items (tenant_id, workspace_id, id) WHERE indexed_revision < revision;
CREATE TABLE modules.item_tags (
    tenant_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    tag text COLLATE "C" NOT NULL CHECK (length(tag) BETWEEN 1 AND 100),
    item_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, tag, item_id),
    FOREIGN KEY (tenant_id, workspace_id, item_id) REFERENCES modules.items ON DELETE CASCADE
);
CREATE INDEX ON modules.item_tags (tenant_id, workspace_id, item_id);
CREATE TABLE modules.item_relations (
    tenant_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    source bigint NOT NULL,
    target bigint NOT NULL CHECK (target <> source),
    place integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, workspace_id, source, target),
    FOREIGN KEY (tenant_id, workspace_id, source) REFERENCES modules.items ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, workspace_id, target) REFERENCES modules.items ON DELETE CASCADE
);
CREATE INDEX ON modules.item_relations (tenant_id, workspace_id, target, source);
CREATE TABLE modules.item_aliases (
    tenant_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    type text COLLATE "C" NOT NULL CHECK (length(type) BETWEEN 1 AND 64),
    number integer NOT NULL,
    item_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, type, number),
    FOREIGN KEY (tenant_id, workspace_id, item_id) REFERENCES modules.items ON DELETE CASCADE
);
CREATE INDEX ON modules.item_aliases (tenant_id, workspace_id, item_id);
CREATE TABLE modules.item_numbers (
    tenant_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    type text COLLATE "C" NOT NULL CHECK (length(type) BETWEEN 1 AND 64),
    last integer NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, type),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES modules.item_workspaces ON DELETE CASCADE
);
CREATE TABLE modules.item_statuses (
    tenant_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
    is_closed boolean NOT NULL,
    position integer NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, name),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES modules.item_workspaces ON DELETE CASCADE
);
CREATE TABLE modules.item_states (
    tenant_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    revision integer NOT NULL CHECK (revision > 0),
    content text NOT NULL CHECK (length(content) <= 102400),
    updated_by text NOT NULL CHECK (length(updated_by) <= 100),
    user_id uuid NOT NULL,
    related bigint[] NOT NULL CHECK (cardinality(related) <= 100),
    tags text[] NOT NULL CHECK (cardinality(tags) <= 50),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, workspace_id, revision),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES modules.item_workspaces ON DELETE CASCADE
);
"""

CHILDREN = (
    "items",
    "item_tags",
    "item_relations",
    "item_aliases",
    "item_numbers",
    "item_statuses",
    "item_states",
)

# What PostgreSQL keeps of a column's values when it analyses a table outlives them.
STATISTICS = """
DO $$
DECLARE
    item record;
BEGIN
    FOR item IN SELECT a.attrelid::regclass::text AS relation, a.attname
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'modules'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
        AND c.relname IN ('item_workspaces', 'items', 'item_tags', 'item_states')
        AND a.attname IN ('name', 'title', 'description', 'content', 'category', 'version', 'tags', 'tokens')
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', item.relation, item.attname);
    END LOOP;
END $$;
"""

_READERS: LiteralString = build_readable("item_workspaces")
_WRITERS: LiteralString = f"{_READERS} AND {build_writable('item_workspaces')}"
_CREATORS: LiteralString = f"{_READERS} AND (owner = 'user' OR {IS_ADMINISTRATOR})"

# One array a statement, found by indexes: a tenant has a workspace for each person. Their own policy binds them, too.
_READABLE: LiteralString = f"""workspace_id = ANY (ARRAY(
    SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.user_id = core.current_user_id()
    UNION ALL SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.role_id IN ({ROLES_OF_USER})
    UNION ALL SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.owner = 'tenant'))"""  # noqa: S608 names of ours
_WRITABLE: LiteralString = f"""workspace_id = ANY (ARRAY(
    SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.user_id = core.current_user_id()
    UNION ALL SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.role_id IN ({ROLES_OF_USER}) AND {build_writable("w")}
    UNION ALL SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.owner = 'tenant' AND {build_writable("w")}))"""  # noqa: S608 the same

# A restrictive policy counts beside by_tenant. Reading is tested with each change, too: a statement that looks at no
# column is not bound by the policies of SELECT.
POLICIES: LiteralString = f"""
CREATE POLICY readers ON modules.item_workspaces AS RESTRICTIVE FOR SELECT TO mcpist_gateway USING ({_READERS});
CREATE POLICY creators ON modules.item_workspaces AS RESTRICTIVE FOR INSERT TO mcpist_gateway WITH CHECK ({_CREATORS});
CREATE POLICY changers ON modules.item_workspaces AS RESTRICTIVE FOR UPDATE TO mcpist_gateway USING ({_WRITERS});
CREATE POLICY removers ON modules.item_workspaces AS RESTRICTIVE FOR DELETE TO mcpist_gateway USING ({_CREATORS});
DO $$
DECLARE
    name text;
    readable text := $p$ {_READABLE} $p$;
    writable text := $p$ {_WRITABLE} $p$;
BEGIN
    FOREACH name IN ARRAY ARRAY['items', 'item_tags', 'item_relations', 'item_aliases', 'item_numbers',
        'item_statuses', 'item_states'] LOOP
        EXECUTE format('CREATE POLICY readers ON modules.%I AS RESTRICTIVE FOR SELECT TO mcpist_gateway USING (%s)',
            name, readable);
        EXECUTE format('CREATE POLICY creators ON modules.%I AS RESTRICTIVE FOR INSERT TO mcpist_gateway
            WITH CHECK (%s)', name, writable);
        EXECUTE format('CREATE POLICY changers ON modules.%I AS RESTRICTIVE FOR UPDATE TO mcpist_gateway USING (%s)',
            name, writable);
        EXECUTE format('CREATE POLICY removers ON modules.%I AS RESTRICTIVE FOR DELETE TO mcpist_gateway USING (%s)',
            name, writable);
    END LOOP;
END $$;
CREATE POLICY search_reads ON modules.items FOR SELECT TO mcpist_search USING (true);
"""

GRANTS = """
GRANT SELECT, DELETE, INSERT (tenant_id, name, owner, user_id, role_id, member_writes), UPDATE (generation, items)
    ON modules.item_workspaces TO mcpist_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON modules.items, modules.item_tags, modules.item_relations, modules.item_aliases,
    modules.item_numbers, modules.item_statuses TO mcpist_gateway;
GRANT SELECT, INSERT, DELETE ON modules.item_states TO mcpist_gateway;
GRANT USAGE ON SCHEMA core, modules TO mcpist_search;
GRANT SELECT ON core.role_assignments TO mcpist_search;
GRANT SELECT (tenant_id, id) ON core.users TO mcpist_search;
GRANT EXECUTE ON FUNCTION core.current_tenant(), core.current_user_id() TO mcpist_search;
GRANT SELECT (tenant_id, id, owner, user_id, role_id, items) ON modules.item_workspaces TO mcpist_search;
GRANT SELECT (tenant_id, workspace_id, id, type, tokens, updated_at) ON modules.items TO mcpist_search;
"""

# The tenant is the transaction's, and the workspace one that its user may read; ids alone come out. What many items
# have is found among the newest, in their order, and not counted: to look at each of 100,000 takes 150 ms. All other
# items are sorted, those first that have the words in their title. Whether there are many depends on no page: all
# pages of a query have one order.
FIND: LiteralString = f"""
CREATE FUNCTION modules.find_items(p_workspace uuid, p_query text, p_title_query text, p_types text[],
        p_offset integer, p_limit integer)
    RETURNS TABLE (ids bigint[], total bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    t constant uuid := core.current_tenant();
    q constant tsquery := p_query::tsquery;
    newest constant integer := 2000;
    is_frequent boolean := false;
    items integer;
BEGIN
    SELECT w.items INTO items FROM modules.item_workspaces w
        WHERE w.tenant_id = t AND w.id = p_workspace AND {build_readable("w")};
    IF items IS NULL THEN
        RETURN;
    END IF;
    IF items > 2 * newest THEN
        ids := ARRAY(SELECT n.id FROM (
            SELECT i.id, i.tokens @@ q AND (cardinality(p_types) = 0 OR i.type = ANY (p_types)) AS fits
            FROM modules.items i WHERE i.tenant_id = t AND i.workspace_id = p_workspace
            ORDER BY i.updated_at DESC, i.id DESC LIMIT newest) n WHERE n.fits);
        is_frequent := cardinality(ids) >= newest / 50;
        IF is_frequent AND cardinality(ids) >= p_offset + p_limit THEN
            ids := ids[p_offset + 1 : p_offset + p_limit];
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    WITH found AS MATERIALIZED (
        SELECT i.id, i.updated_at FROM modules.items i
        WHERE i.tokens @@ q AND i.tenant_id = t AND i.workspace_id = p_workspace
        AND (cardinality(p_types) = 0 OR i.type = ANY (p_types))
    ), named AS MATERIALIZED (
        SELECT i.id FROM modules.items i
        WHERE NOT is_frequent AND i.tokens @@ p_title_query::tsquery
        AND i.tenant_id = t AND i.workspace_id = p_workspace
    )
    SELECT ARRAY(SELECT f.id FROM found f ORDER BY f.id IN (SELECT n.id FROM named n) DESC,
        f.updated_at DESC, f.id DESC OFFSET p_offset LIMIT p_limit), (SELECT count(*) FROM found) INTO ids, total;
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION modules.find_items FROM PUBLIC;
GRANT EXECUTE ON FUNCTION modules.find_items TO mcpist_gateway;
GRANT CREATE ON SCHEMA modules TO mcpist_search;
ALTER FUNCTION modules.find_items OWNER TO mcpist_search;
REVOKE CREATE ON SCHEMA modules FROM mcpist_search;
"""  # noqa: S608 names of ours

# What the schema `search` needs of these stays where there is one.
DOWN = """
DROP FUNCTION modules.find_items;
DROP TABLE modules.item_states, modules.item_statuses, modules.item_numbers, modules.item_aliases,
    modules.item_relations, modules.item_tags, modules.items, modules.item_workspaces;
REVOKE USAGE ON SCHEMA modules FROM mcpist_search;
DO $$ BEGIN
    IF to_regclass('search.collections') IS NULL THEN
        REVOKE SELECT ON core.role_assignments, core.users FROM mcpist_search;
        REVOKE SELECT (tenant_id, id) ON core.users FROM mcpist_search;
        REVOKE USAGE ON SCHEMA core FROM mcpist_search;
        REVOKE EXECUTE ON FUNCTION core.current_tenant(), core.current_user_id() FROM mcpist_search;
    END IF;
END $$;
"""


def upgrade() -> None:
    bind = op.get_bind()
    run_script(bind, TABLES)
    run_script(bind, STATISTICS)
    run_script(bind, build_tenant_policy_script("modules.item_workspaces"))
    run_script(bind, build_tenant_policy_script("modules.items"))
    run_script(bind, build_tenant_policy_script("modules.item_tags"))
    run_script(bind, build_tenant_policy_script("modules.item_relations"))
    run_script(bind, build_tenant_policy_script("modules.item_aliases"))
    run_script(bind, build_tenant_policy_script("modules.item_numbers"))
    run_script(bind, build_tenant_policy_script("modules.item_statuses"))
    run_script(bind, build_tenant_policy_script("modules.item_states"))
    run_script(bind, POLICIES)
    run_script(bind, GRANTS)
    run_script(bind, FIND)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
