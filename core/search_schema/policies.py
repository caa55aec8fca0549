"""Who may read and write which rows of the schema `search`: the database decides it, whatever the code does."""

from typing import LiteralString

from core.shared_rows import IS_ADMINISTRATOR, build_readable, build_writable

_OF_READABLE: LiteralString = """collection_id IN (
    SELECT c.id FROM search.collections c WHERE c.tenant_id = core.current_tenant())"""
_OF_WRITABLE: LiteralString = f"""collection_id IN (
    SELECT c.id FROM search.collections c WHERE c.tenant_id = core.current_tenant() AND {build_writable("c")})"""  # noqa: S608 the same
_READERS: LiteralString = build_readable("collections")
_WRITERS: LiteralString = f"{_READERS} AND {build_writable('collections')}"
_CREATORS: LiteralString = f"{_READERS} AND (owner = 'user' OR {IS_ADMINISTRATOR})"

TENANT_POLICIES = """
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['usage', 'collections', 'documents', 'chunks', 'token_counts'] LOOP
        EXECUTE format('ALTER TABLE search.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE search.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY by_tenant ON search.%I
            USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())', name);
    END LOOP;
END $$;
CREATE POLICY owner_counts ON search.usage TO mcpist_owner USING (true);
CREATE POLICY owner_counts ON search.collections FOR SELECT TO mcpist_owner USING (true);
CREATE POLICY search_reads ON search.documents FOR SELECT TO mcpist_search USING (true);
CREATE POLICY search_reads ON search.chunks FOR SELECT TO mcpist_search USING (true);
"""

# For search.remove_orphans, a function of the owner's.
ORPHAN_POLICIES = """
CREATE POLICY owner_updates ON search.collections FOR UPDATE TO mcpist_owner USING (true);
CREATE POLICY owner_finds ON search.documents FOR SELECT TO mcpist_owner USING (true);
CREATE POLICY owner_removes ON search.documents FOR DELETE TO mcpist_owner USING (true);
CREATE POLICY owner_finds ON search.chunks FOR SELECT TO mcpist_owner USING (true);
CREATE POLICY owner_counts ON search.token_counts TO mcpist_owner USING (true);
CREATE POLICY owner_finds_parents ON modules.documents FOR SELECT TO mcpist_owner USING (true);
"""

# A restrictive policy counts beside by_tenant. Reading is tested with each change, too: a statement that looks at no
# column is not bound by the policies of SELECT.
CALLER_POLICIES: LiteralString = f"""
CREATE POLICY readers ON search.collections AS RESTRICTIVE FOR SELECT TO mcpist_gateway USING ({_READERS});
CREATE POLICY creators ON search.collections AS RESTRICTIVE FOR INSERT TO mcpist_gateway WITH CHECK ({_CREATORS});
CREATE POLICY changers ON search.collections AS RESTRICTIVE FOR UPDATE TO mcpist_gateway USING ({_WRITERS});
CREATE POLICY removers ON search.collections AS RESTRICTIVE FOR DELETE TO mcpist_gateway USING ({_WRITERS});
DO $$
DECLARE
    name text;
    readable text := $p$ {_OF_READABLE} $p$;
    writable text := $p$ {_OF_WRITABLE} $p$;
BEGIN
    FOREACH name IN ARRAY ARRAY['documents', 'chunks', 'token_counts'] LOOP
        EXECUTE format('CREATE POLICY readers ON search.%I AS RESTRICTIVE FOR SELECT TO mcpist_gateway USING (%s)',
            name, readable);
        EXECUTE format('CREATE POLICY creators ON search.%I AS RESTRICTIVE FOR INSERT TO mcpist_gateway
            WITH CHECK (%s)', name, writable);
        EXECUTE format('CREATE POLICY changers ON search.%I AS RESTRICTIVE FOR UPDATE TO mcpist_gateway USING (%s)',
            name, writable);
        EXECUTE format('CREATE POLICY removers ON search.%I AS RESTRICTIVE FOR DELETE TO mcpist_gateway USING (%s)',
            name, writable);
    END LOOP;
END $$;
"""

GRANTS = """
GRANT USAGE ON SCHEMA search TO mcpist_gateway, mcpist_console, mcpist_search;
GRANT USAGE ON SEQUENCE search.generations TO mcpist_gateway;
GRANT SELECT ON search.usage TO mcpist_gateway;
GRANT SELECT, DELETE, INSERT (tenant_id, module, name, owner, user_id, role_id, member_writes, model, dimensions),
    UPDATE (model, dimensions, generation, next_model, next_dimensions, next_generation, documents, chunks, bytes,
        deleted_version)
    ON search.collections TO mcpist_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON search.documents, search.token_counts TO mcpist_gateway;
GRANT SELECT, INSERT, DELETE ON search.chunks TO mcpist_gateway;
GRANT SELECT ON search.collections, search.chunks TO mcpist_search;
GRANT SELECT (tenant_id, collection_id, id, key, tags, metadata, updated_at, chunks) ON search.documents
    TO mcpist_search;
GRANT USAGE ON SCHEMA core TO mcpist_search;
GRANT SELECT ON core.role_assignments TO mcpist_search;
GRANT SELECT (tenant_id, id) ON core.users TO mcpist_search;
GRANT EXECUTE ON FUNCTION core.current_tenant(), core.current_user_id() TO mcpist_search;
"""
