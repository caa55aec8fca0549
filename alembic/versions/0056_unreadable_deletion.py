"""What was deleted becomes unreadable in the files of the database: marks of the tables that hold deleted text of a
person, and their rewrite. Until now the schema `search` had both for itself.

A mark is made by a trigger, which holds its table's lock until the commit; a rewrite waits for that, and removes the
marks. Nobody waits for another's mark: a table may have several. `app.dirty_tables` names those that the transaction
has found marked or has marked: a workspace is deleted with half a million rows, and a trigger before each of them ends
at its condition.
"""

from typing import LiteralString

from alembic import op

from core.migrations import run_script
from core.search_schema import functions

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

MARKS = """
CREATE TABLE core.dirty_tables (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 127),
    since timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE core.dirty_tables ENABLE ROW LEVEL SECURITY;
ALTER TABLE core.dirty_tables FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_marks ON core.dirty_tables TO mcpist_owner USING (true);
CREATE FUNCTION core.mark_dirty() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
        marked constant text := TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME;
        known constant text := coalesce(current_setting('app.dirty_tables', true), '');
    BEGIN
        IF strpos(known, marked || ' ') = 0 THEN
            IF NOT EXISTS (SELECT FROM core.dirty_tables d WHERE d.name = marked) THEN
                INSERT INTO core.dirty_tables (name) VALUES (marked);
            END IF;
            PERFORM set_config('app.dirty_tables', known || marked || ' ', true);
        END IF;
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END $$;
"""

# Lock and rewrite are two statements, so that the rewrite's snapshot sees what was committed before the lock was had.
# Rows that another snapshot may still see are copied, too. The new index has them, and its reltuples counts them (the
# table's own does not): then the marks stay. Statistics keep values of rows that were deleted.
REWRITE = """
CREATE FUNCTION core.list_dirty_tables() RETURNS TABLE (name text, since timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.name, min(d.since) FROM core.dirty_tables d GROUP BY d.name ORDER BY 2, 1
$$;
CREATE FUNCTION core.lock_dirty_table(p_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
    DECLARE
        marked regclass;
    BEGIN
        SELECT to_regclass(d.name) INTO marked FROM core.dirty_tables d WHERE d.name = p_name LIMIT 1;
        IF marked IS NOT NULL THEN
            EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', marked);
        END IF;
    END $$;
CREATE FUNCTION core.renew_statistics(p_table regclass, p_is_empty boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
        texts text[];
        item text;
    BEGIN
        SELECT array_agg(a.attname) INTO texts FROM pg_attribute a
            WHERE a.attrelid = p_table AND a.attnum > 0 AND NOT a.attisdropped
            AND a.atttypid = ANY ('{text,text[]}'::regtype[]) AND a.attstattarget IS DISTINCT FROM 0;
        IF NOT p_is_empty AND texts IS NOT NULL THEN
            EXECUTE format('ANALYZE %s', p_table);
        ELSIF current_setting('server_version_num')::integer >= 180000 THEN  -- of no rows, ANALYZE keeps what there was
            FOREACH item IN ARRAY coalesce(texts, '{}') LOOP
                EXECUTE 'SELECT pg_clear_attribute_stats(n.nspname::text, c.relname::text, $2, false)
                    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1' USING p_table, item;
            END LOOP;
        END IF;
    END $$;
CREATE FUNCTION core.rewrite_dirty_table(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET maintenance_work_mem = '256MB' SET max_parallel_maintenance_workers = 0 AS $$
    DECLARE
        marked regclass;
        key record;
        written real;
        seen bigint;
    BEGIN
        SELECT to_regclass(d.name) INTO marked FROM core.dirty_tables d WHERE d.name = p_name LIMIT 1;
        IF marked IS NOT NULL THEN
            SELECT c.oid, c.relname INTO STRICT key FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                WHERE i.indrelid = marked AND i.indisunique AND i.indpred IS NULL
                ORDER BY i.indisprimary DESC, c.relname LIMIT 1;
            EXECUTE format('CLUSTER %s USING %I', marked, key.relname);
            EXECUTE format('SELECT count(*) FROM %s', marked) INTO seen;
            SELECT c.reltuples INTO written FROM pg_class c WHERE c.oid = key.oid;
            IF greatest(written, 0) <> seen::real THEN  -- -1: never counted, as of an empty one
                RETURN false;
            END IF;
            PERFORM core.renew_statistics(marked, seen = 0);
        END IF;
        DELETE FROM core.dirty_tables d WHERE d.name = p_name;
        RETURN true;
    END $$;
REVOKE ALL ON FUNCTION core.mark_dirty, core.list_dirty_tables, core.lock_dirty_table, core.renew_statistics,
    core.rewrite_dirty_table FROM PUBLIC;
GRANT EXECUTE ON FUNCTION core.list_dirty_tables, core.lock_dirty_table, core.rewrite_dirty_table TO mcpist_console;
"""

_ITEM_PARTS: tuple[LiteralString, ...] = ("0", "1", "2", "3")
_ITEM_TEXTS = "type, title, description, content, status, category, start_date, end_date, version, tags"
# The tables that hold text of a person, and no sealed text: which of their columns may lose some by a change, and when
# they do. Items are written whole, and rows that are deleted always lose it.
TRACKED: tuple[tuple[LiteralString, LiteralString, LiteralString], ...] = (
    ("modules.item_workspaces", "name", ""),
    *(("modules.items_" + part, _ITEM_TEXTS, "") for part in _ITEM_PARTS),
    ("modules.item_tags", "", ""),
    ("modules.item_tag_counts", "", ""),
    ("modules.item_aliases", "", ""),
    ("modules.item_numbers", "", ""),
    ("modules.item_statuses", "name", ""),
    ("modules.item_states", "", ""),
    ("modules.kg_entities", "type", "OLD.type IS DISTINCT FROM NEW.type"),
    ("modules.kg_observations", "", ""),
    ("modules.kg_relations", "", ""),
    ("modules.kg_unindexed", "", ""),
    ("modules.activity_entries", "value", "OLD.value IS DISTINCT FROM NEW.value"),
    ("modules.documents", "value", "OLD.value IS DISTINCT FROM NEW.value"),
    ("core.resource_subscriptions", "", ""),
    ("jobs.schedules", "title", "OLD.title IS DISTINCT FROM NEW.title"),
    ("auth.mandates", "title", "OLD.title IS DISTINCT FROM NEW.title"),
)


# A rewrite locks a table, and most of it is making the index of words: six seconds for 100,000 items. A quarter takes
# two, whoever owns how many. Numbers are unique without an index: the workspace's lock gives them, one after
# the other. What belongs to the table is read from the catalogue and made again.
_REBUILD_ITEMS: LiteralString = """
DO $d$
DECLARE
    again text[];
    linked text[];
    step text;
BEGIN
    SELECT array_agg(DISTINCT r.oid::regclass::text) INTO linked FROM pg_constraint c
        JOIN pg_class r ON r.oid IN (c.conrelid, c.confrelid) AND r.oid <> 'modules.items'::regclass
        WHERE c.contype = 'f' AND c.conparentid = 0 AND 'modules.items'::regclass IN (c.conrelid, c.confrelid);
    SELECT array_agg(d.definition ORDER BY d.place) INTO again FROM (
        SELECT 1 AS place, format('ALTER TABLE %s ADD CONSTRAINT %I %s', c.conrelid::regclass, c.conname,
                pg_get_constraintdef(c.oid)) AS definition
            FROM pg_constraint c WHERE c.contype = 'f' AND c.conparentid = 0
            AND 'modules.items'::regclass IN (c.conrelid, c.confrelid)
        UNION ALL SELECT 0, replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
            FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE i.indrelid = 'modules.items'::regclass AND NOT i.indisunique AND c.relname <> 'items_numbers'
        UNION ALL SELECT 2, pg_get_triggerdef(t.oid) FROM pg_trigger t
            WHERE t.tgrelid = 'modules.items'::regclass AND NOT t.tgisinternal
        UNION ALL SELECT 3, format('CREATE POLICY %I ON modules.items AS %s FOR %s TO %s', p.policyname, p.permissive,
                p.cmd, array_to_string(p.roles, ', '))
            || coalesce(' USING (' || p.qual || ')', '') || coalesce(' WITH CHECK (' || p.with_check || ')', '')
            FROM pg_policies p WHERE p.schemaname = 'modules' AND p.tablename = 'items') d;
    FOR step IN SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', c.conrelid::regclass, c.conname)
        FROM pg_constraint c WHERE c.contype = 'f' AND c.conparentid = 0
        AND 'modules.items'::regclass IN (c.conrelid, c.confrelid)
    LOOP
        EXECUTE step;
    END LOOP;
    -- As the owner, who else sees no tenant's rows, neither to copy them nor to check a foreign key.
    FOREACH step IN ARRAY array_append(linked, 'modules.items') LOOP
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', step);
    END LOOP;
    ALTER TABLE modules.items RENAME TO items_before;
    ALTER SEQUENCE modules.items_id_seq RENAME TO items_before_id_seq;
    CREATE TABLE modules.items (LIKE modules.items_before INCLUDING ALL EXCLUDING INDEXES){partitioned};
    {partitions}
    INSERT INTO modules.items OVERRIDING SYSTEM VALUE SELECT * FROM modules.items_before;
    PERFORM setval('modules.items_id_seq', b.last_value, b.is_called) FROM modules.items_before_id_seq b;
    DROP TABLE modules.items_before;
    ALTER TABLE modules.items ADD PRIMARY KEY (tenant_id, workspace_id, id);
    {numbers};
    FOR step IN SELECT format('ALTER TABLE modules.items ALTER COLUMN %I SET STATISTICS 0', name)
        FROM unnest('{{title,description,content,category,version,tags,tokens}}'::text[]) AS name
    LOOP
        EXECUTE step;
    END LOOP;
    FOREACH step IN ARRAY again LOOP
        EXECUTE step;
    END LOOP;
    {named}
    ALTER TABLE modules.items ENABLE ROW LEVEL SECURITY;
    FOREACH step IN ARRAY array_append(linked, 'modules.items') LOOP
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', step);
    END LOOP;
    GRANT SELECT, INSERT, UPDATE, DELETE ON modules.items TO mcpist_gateway;
    GRANT SELECT (tenant_id, workspace_id, id, type, tokens, updated_at) ON modules.items TO mcpist_search;
END $d$;
"""
PARTITION_ITEMS: LiteralString = _REBUILD_ITEMS.format(
    partitioned=" PARTITION BY HASH (id)",
    partitions="""FOR part IN 0..3 LOOP
        EXECUTE format('CREATE TABLE modules.items_%s PARTITION OF modules.items
            FOR VALUES WITH (MODULUS 4, REMAINDER %1$s)', part);
        EXECUTE format('ALTER TABLE modules.items_%s ENABLE ROW LEVEL SECURITY', part);
        EXECUTE format('ALTER TABLE modules.items_%s FORCE ROW LEVEL SECURITY', part);
        EXECUTE format('CREATE POLICY owner_counts ON modules.items_%s FOR SELECT TO mcpist_owner USING (true)', part);
    END LOOP;""",
    numbers="CREATE INDEX items_numbers ON modules.items (tenant_id, workspace_id, type, number)",
    # As its table is numbered. Statistics of all four together would keep what is deleted of each.
    named="""FOR step IN SELECT format('ALTER INDEX %s RENAME TO %I', i.inhrelid::regclass,
            substr(t.relname, 1, 7) || substr(w.relname, 6))
        FROM pg_inherits i JOIN pg_class w ON w.oid = i.inhparent JOIN pg_index x ON x.indexrelid = i.inhrelid
        JOIN pg_class t ON t.oid = x.indrelid
        JOIN pg_index whole ON whole.indexrelid = w.oid AND whole.indrelid = 'modules.items'::regclass
        WHERE w.relname <> 'items_pkey'
    LOOP
        EXECUTE step;
    END LOOP;
    FOR step IN SELECT format('ALTER TABLE ONLY modules.items ALTER COLUMN %I SET STATISTICS 0', name)
        FROM unnest('{type,status,priority}'::text[]) AS name
    LOOP
        EXECUTE step;
    END LOOP;""",
)
UNITE_ITEMS: LiteralString = _REBUILD_ITEMS.format(
    partitioned="",
    partitions="",
    numbers="ALTER TABLE modules.items ADD UNIQUE (tenant_id, workspace_id, type, number)",
    named="",
)

# Of a job, what it has said of its progress, which may name a document; a schedule's jobs have its title.
JOBS = """
CREATE TRIGGER mark_deleted BEFORE DELETE ON jobs.jobs FOR EACH ROW
    WHEN (OLD.message <> '' OR OLD.schedule_id IS NOT NULL OR OLD.idempotency_key IS NOT NULL)
    EXECUTE FUNCTION core.mark_dirty();
CREATE TRIGGER mark_changed BEFORE UPDATE OF message ON jobs.jobs FOR EACH ROW
    WHEN (OLD.message <> '' AND OLD.message IS DISTINCT FROM NEW.message) EXECUTE FUNCTION core.mark_dirty();
"""

# Its tables had marks of their own.
ADOPT_SEARCH: LiteralString = f"""
DO $d$ BEGIN
    IF to_regclass('search.dirty_tables') IS NOT NULL THEN
        INSERT INTO core.dirty_tables (name, since) SELECT 'search.' || d.name, d.since FROM search.dirty_tables d;
        DROP FUNCTION search.list_dirty_tables, search.lock_table, search.rewrite_table;
        DROP TABLE search.dirty_tables;
    END IF;
    IF to_regclass('search.collections') IS NOT NULL THEN
        EXECUTE $s$ {functions.MARKS} $s$;
    END IF;
END $d$;
"""  # noqa: S608 put together from constants

# What the schema `search` had before.
RETURN_SEARCH = """
DO $d$ BEGIN
    IF to_regclass('search.collections') IS NULL THEN
        RETURN;
    END IF;
    EXECUTE $s$
CREATE TABLE search.dirty_tables (
    name text PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE search.dirty_tables ENABLE ROW LEVEL SECURITY;
ALTER TABLE search.dirty_tables FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_marks ON search.dirty_tables TO mcpist_owner USING (true);
INSERT INTO search.dirty_tables (name, since)
    SELECT substr(d.name, 8), min(d.since) FROM core.dirty_tables d WHERE d.name LIKE 'search.%' GROUP BY 1;
CREATE OR REPLACE FUNCTION search.mark_dirty() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        INSERT INTO search.dirty_tables (name)
            SELECT DISTINCT TG_TABLE_NAME || '_' || p.part
            FROM (SELECT DISTINCT collection_id FROM gone) g CROSS JOIN generate_series(0, 7) AS p(part)
            WHERE satisfies_hash_partition('search.documents'::regclass, 8, p.part, g.collection_id)
            ORDER BY 1 ON CONFLICT DO NOTHING;
        RETURN NULL;
    END $$;
CREATE OR REPLACE FUNCTION search.mark_collections_dirty() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        INSERT INTO search.dirty_tables (name) VALUES ('collections') ON CONFLICT DO NOTHING;
        RETURN NULL;
    END $$;
CREATE FUNCTION search.list_dirty_tables() RETURNS TABLE (name text, since timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.name, d.since FROM search.dirty_tables d ORDER BY d.since, d.name
$$;
CREATE FUNCTION search.lock_table(p_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
    BEGIN
        EXECUTE format('LOCK TABLE search.%I IN ACCESS EXCLUSIVE MODE', p_name);
    END $$;
CREATE FUNCTION search.rewrite_table(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET maintenance_work_mem = '256MB' SET max_parallel_maintenance_workers = 0 AS $$
    DECLARE
        written real;
        seen bigint;
    BEGIN
        EXECUTE format('CLUSTER search.%I USING %I', p_name, p_name || '_pkey');
        EXECUTE format('SELECT count(*) FROM search.%I', p_name) INTO seen;
        SELECT c.reltuples INTO written FROM pg_class c
            WHERE c.relnamespace = 'search'::regnamespace AND c.relname = p_name || '_pkey';
        IF greatest(written, 0) <> seen::real THEN  -- -1: never counted, as of an empty one
            RETURN false;
        END IF;
        DELETE FROM search.dirty_tables d WHERE d.name = p_name;
        RETURN true;
    END $$;
REVOKE ALL ON FUNCTION search.list_dirty_tables, search.lock_table, search.rewrite_table FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search.list_dirty_tables, search.lock_table, search.rewrite_table TO mcpist_console;
    $s$;
END $d$;
"""
DOWN = """
DROP FUNCTION core.mark_dirty, core.list_dirty_tables, core.lock_dirty_table, core.renew_statistics,
    core.rewrite_dirty_table;
DROP TABLE core.dirty_tables;
"""


def upgrade() -> None:
    bind = op.get_bind()
    run_script(bind, MARKS)
    run_script(bind, REWRITE)
    run_script(bind, ADOPT_SEARCH)
    run_script(bind, PARTITION_ITEMS)
    for table, changed, condition in TRACKED:
        run_script(bind, _build_triggers(table, changed, condition))
    run_script(bind, JOBS)
    op.execute("GRANT UPDATE (name) ON modules.item_workspaces TO mcpist_gateway")


def downgrade() -> None:
    bind = op.get_bind()
    op.execute("REVOKE UPDATE (name) ON modules.item_workspaces FROM mcpist_gateway")
    run_script(bind, RETURN_SEARCH)
    for table, changed, _ in (*TRACKED, ("jobs.jobs", "message", "")):
        op.execute(f"DROP TRIGGER mark_deleted ON {table}")
        if changed:
            op.execute(f"DROP TRIGGER mark_changed ON {table}")
        op.execute(f"DROP POLICY IF EXISTS owner_counts ON {table}")
    run_script(bind, UNITE_ITEMS)
    run_script(bind, DOWN)


def _build_triggers(table: LiteralString, changed: LiteralString, condition: LiteralString) -> LiteralString:
    unknown: LiteralString = f"coalesce(strpos(current_setting('app.dirty_tables', true), '{table} '), 0) = 0"
    script: LiteralString = f"""
CREATE TRIGGER mark_deleted BEFORE DELETE ON {table} FOR EACH ROW WHEN ({unknown})
    EXECUTE FUNCTION core.mark_dirty();
"""
    if changed:
        when: LiteralString = f"{unknown} AND {condition}" if condition else unknown
        script += f"""CREATE TRIGGER mark_changed BEFORE UPDATE OF {changed} ON {table} FOR EACH ROW WHEN ({when})
    EXECUTE FUNCTION core.mark_dirty();
"""
    if table.startswith("modules.") and not table.startswith("modules.items_"):  # of others the owner sees the rows
        script += f"CREATE POLICY owner_counts ON {table} FOR SELECT TO mcpist_owner USING (true);"
    return script
