"""Functions and triggers of the schema `search`."""

from typing import LiteralString

from core.shared_rows import build_readable

# As core.mark_dirty of schema 0056 marks a table: each partition that may hold something deleted.
MARKS = """
CREATE OR REPLACE FUNCTION search.mark_dirty() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        INSERT INTO core.dirty_tables (name)
            SELECT t.name FROM (SELECT DISTINCT 'search.' || TG_TABLE_NAME || '_' || p.part AS name
                FROM (SELECT DISTINCT collection_id FROM gone) g CROSS JOIN generate_series(0, 7) AS p(part)
                WHERE satisfies_hash_partition('search.documents'::regclass, 8, p.part, g.collection_id)) t
            WHERE NOT EXISTS (SELECT FROM core.dirty_tables d WHERE d.name = t.name);
        RETURN NULL;
    END $$;
CREATE OR REPLACE FUNCTION search.mark_collections_dirty() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        IF NOT EXISTS (SELECT FROM core.dirty_tables d WHERE d.name = 'search.collections') THEN
            INSERT INTO core.dirty_tables (name) VALUES ('search.collections');
        END IF;
        RETURN NULL;
    END $$;
"""

TRIGGERS = """
CREATE FUNCTION search.count_bytes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO search.usage (tenant_id) VALUES (NEW.tenant_id) ON CONFLICT DO NOTHING;
        ELSIF TG_OP = 'UPDATE' THEN
            UPDATE search.usage SET bytes = usage.bytes + NEW.bytes - OLD.bytes WHERE tenant_id = NEW.tenant_id;
        ELSE
            UPDATE search.usage SET bytes = usage.bytes - OLD.bytes WHERE tenant_id = OLD.tenant_id;
        END IF;
        RETURN NULL;
    END $$;
CREATE TRIGGER count_bytes AFTER INSERT OR UPDATE OF bytes OR DELETE ON search.collections
    FOR EACH ROW EXECUTE FUNCTION search.count_bytes();
CREATE TRIGGER mark_deleted AFTER DELETE ON search.documents REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION search.mark_dirty();
CREATE TRIGGER mark_changed AFTER UPDATE ON search.documents REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION search.mark_dirty();
CREATE TRIGGER mark_deleted AFTER DELETE ON search.chunks REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION search.mark_dirty();
CREATE TRIGGER mark_deleted AFTER DELETE ON search.token_counts REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION search.mark_dirty();
CREATE TRIGGER mark_deleted AFTER DELETE ON search.collections
    FOR EACH ROW EXECUTE FUNCTION search.mark_collections_dirty();
"""

# Documents whose source is gone; those of entities of which something was deleted, and of items that were deleted or
# have changed, where the process ended before their index followed: it does at the next search. In plpgsql, as the
# script may run before these tables exist.
LIST_ORPHANS = """
CREATE FUNCTION search.list_orphans() RETURNS TABLE (tenant_id uuid, collection_id uuid, document_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        RETURN QUERY SELECT d.tenant_id, d.collection_id, d.id FROM search.documents d
            JOIN search.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
            WHERE d.parent IS NOT NULL AND NOT EXISTS (SELECT FROM modules.documents p
                WHERE p.tenant_id = d.tenant_id AND p.module = c.module AND p.key = d.parent);
        RETURN QUERY SELECT d.tenant_id, d.collection_id, d.id FROM modules.kg_unindexed u
            JOIN search.collections c ON c.tenant_id = u.tenant_id AND c.user_id = u.user_id
                AND c.module = 'knowledge_graph'
            JOIN search.documents d ON d.tenant_id = c.tenant_id AND d.collection_id = c.id
                AND d.metadata ->> 'name' = u.entity
            WHERE u.has_lost;
        RETURN QUERY SELECT d.tenant_id, d.collection_id, d.id FROM search.collections c
            JOIN search.documents d ON d.tenant_id = c.tenant_id AND d.collection_id = c.id
            WHERE c.module = 'items' AND NOT EXISTS (SELECT FROM modules.items i
                WHERE i.tenant_id = c.tenant_id AND i.workspace_id::text = c.name AND i.id::text = d.key
                AND i.revision::text = d.metadata ->> 'revision');
    END $$;
"""

# As search.document_writer deletes one: under the lock of its collection, whose counts stay exact. Chunks of the
# deleted documents are still seen by the statement that deletes them.
REMOVE_ORPHANS = """
CREATE FUNCTION search.remove_orphans() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
        collection record;
        removed integer;
        total integer := 0;
    BEGIN
        FOR collection IN SELECT DISTINCT o.tenant_id AS tenant, o.collection_id AS id FROM search.list_orphans() o
            ORDER BY 2
        LOOP
            PERFORM FROM search.collections c WHERE c.tenant_id = collection.tenant AND c.id = collection.id FOR UPDATE;
            WITH gone AS (
                DELETE FROM search.documents d USING search.list_orphans() o
                WHERE d.tenant_id = collection.tenant AND d.collection_id = collection.id AND d.id = o.document_id
                RETURNING d.id, d.chunks, d.bytes, d.version
            ), words AS (
                SELECT c.generation, substr(lexeme, strpos(lexeme, ':') + 1) AS token, count(*)::integer AS chunks
                FROM gone g JOIN search.chunks c ON c.tenant_id = collection.tenant
                    AND c.collection_id = collection.id AND c.document_id = g.id
                CROSS JOIN unnest(tsvector_to_array(c.tokens)) AS lexeme GROUP BY 1, 2
            ), counted AS (
                UPDATE search.token_counts t SET chunks = t.chunks - w.chunks FROM words w
                WHERE t.tenant_id = collection.tenant AND t.collection_id = collection.id
                AND t.generation = w.generation AND t.token = w.token
            ), sums AS (
                SELECT count(*) AS documents, coalesce(sum(g.chunks), 0) AS chunks, coalesce(sum(g.bytes), 0) AS bytes,
                    coalesce(max(g.version), 0) AS version
                FROM gone g
            )
            UPDATE search.collections c SET documents = c.documents - s.documents, chunks = c.chunks - s.chunks,
                bytes = c.bytes - s.bytes, deleted_version = greatest(c.deleted_version, s.version)
                FROM sums s WHERE c.tenant_id = collection.tenant AND c.id = collection.id
                RETURNING s.documents INTO removed;
            DELETE FROM search.token_counts t
                WHERE t.tenant_id = collection.tenant AND t.collection_id = collection.id AND t.chunks = 0;
            total := total + coalesce(removed, 0);
        END LOOP;
        RETURN total;
    END $$;
"""

# `p_counts` are the chunks that have each of `p_tokens`, `p_weights` what it weighs. Words are looked up from the
# rarest on while they find no more than `most_worded` chunks; of the best of those all words are looked at. A filter
# that leaves no more is applied first. Up to 10,000 chunks are compared one by one; and more where the index gave up
# before it had found enough of a small part of its table.
FIND: LiteralString = f"""
CREATE FUNCTION search.find_candidates(
        p_collections uuid[], p_generations bigint[], p_dimensions integer, p_query real[],
        p_tokens text[], p_prefixes boolean[], p_weights real[], p_counts integer[],
        p_tags text[], p_metadata jsonb, p_key_prefix text, p_since timestamptz, p_until timestamptz, p_most integer)
    RETURNS TABLE (collection_id uuid, document_id uuid, place integer, distance double precision, coverage real)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    SET plan_cache_mode = force_custom_plan SET jit = off
    SET hnsw.ef_search = 100 SET hnsw.iterative_scan = relaxed_order AS $$
#variable_conflict use_column
DECLARE
    t constant uuid := core.current_tenant();
    is_filtered constant boolean := cardinality(p_tags) > 0 OR p_metadata IS NOT NULL OR p_key_prefix <> ''
        OR p_since IS NOT NULL OR p_until IS NOT NULL;
    most_worded constant integer := 1500;
    collections uuid[];
    generations bigint[];
    documents uuid[];
    chunks bigint;
    queries tsquery[];
    weights real[];
    near_collections uuid[];
    near_documents uuid[];
    near_places integer[];
    word_collections uuid[];
    word_documents uuid[];
    word_places integer[];
    -- As a constant array the planner would look at each element; as a join it would lose the index's order.
    is_wanted text := CASE WHEN is_filtered
        THEN ' AND CASE WHEN c.document_id IN (SELECT unnest($6)) THEN true ELSE false END' ELSE '' END;
    compared text := format('(c.embedding::%1$s <=> $1::%1$s)', format('halfvec(%s)', p_dimensions));
    conditions text := 'c.tenant_id = $2 AND c.collection_id = ANY ($3) AND c.generation = ANY ($4)';
BEGIN
    SELECT array_agg(c.id), array_agg(c.generation), sum(c.chunks) INTO collections, generations, chunks
        FROM search.collections c JOIN unnest(p_collections, p_generations) AS asked(id, generation)
            ON c.id = asked.id AND c.generation = asked.generation
        WHERE c.tenant_id = t AND {build_readable("c")};
    IF is_filtered THEN
        SELECT array_agg(d.id), sum(d.chunks) INTO documents, chunks FROM search.documents d
            WHERE d.tenant_id = t AND d.collection_id = ANY (collections)
            AND (cardinality(p_tags) = 0 OR d.tags @> p_tags)
            AND (p_metadata IS NULL OR d.metadata @> p_metadata AND NOT EXISTS (
                SELECT FROM jsonb_each(p_metadata) m WHERE d.metadata -> m.key IS DISTINCT FROM m.value))
            AND (p_key_prefix = '' OR d.key ^@ p_key_prefix)
            AND (p_since IS NULL OR d.updated_at >= p_since) AND (p_until IS NULL OR d.updated_at < p_until);
    END IF;
    IF chunks IS NULL OR chunks = 0 THEN
        RETURN;
    END IF;
    IF p_query IS NOT NULL AND chunks > 10000 AND p_dimensions IN (512, 1024, 1536) THEN
        -- Nothing is known of the columns' values, so the planner would rather sort what it takes for a few rows.
        PERFORM set_config('enable_sort', 'off', true);
        EXECUTE format($q$SELECT array_agg(n.collection_id), array_agg(n.document_id), array_agg(n.place) FROM (
            SELECT c.collection_id, c.document_id, c.place FROM search.chunks c
            WHERE vector_dims(c.embedding) = %s AND %s%s ORDER BY %s LIMIT $5) n$q$,
            p_dimensions, conditions, is_wanted, compared)
            INTO near_collections, near_documents, near_places
            USING p_query, t, collections, generations, p_most, documents;
        PERFORM set_config('enable_sort', 'on', true);
    END IF;
    IF p_query IS NOT NULL AND coalesce(cardinality(near_places), 0) < least(p_most, chunks) THEN
        EXECUTE format($q$WITH compared AS MATERIALIZED (
                SELECT c.collection_id, c.document_id, c.place, %s AS d FROM search.chunks c%s WHERE %s)
            SELECT array_agg(n.collection_id), array_agg(n.document_id), array_agg(n.place)
            FROM (SELECT * FROM compared ORDER BY d LIMIT $5) n$q$, compared,
            CASE WHEN is_filtered THEN ' JOIN unnest($6) AS f(id) ON f.id = c.document_id' ELSE '' END, conditions)
            INTO near_collections, near_documents, near_places
            USING p_query, t, collections, generations, p_most, documents;
    END IF;
    SELECT array_agg(r.query), array_agg(r.weight) INTO queries, weights FROM (
        SELECT q.weight, q.found, sum(q.found) OVER (ORDER BY q.found, q.token) - q.found AS before,
            (SELECT string_agg(quote_literal(g || ':' || q.token) || CASE WHEN q.is_prefix THEN ':*' ELSE '' END, '|')
                FROM unnest(generations) AS g)::tsquery AS query
        FROM unnest(p_tokens, p_prefixes, p_weights, p_counts) AS q(token, is_prefix, weight, found)
        WHERE q.found > 0) r
        WHERE r.before = 0 OR r.before + r.found <= most_worded OR is_filtered AND chunks <= most_worded;
    IF is_filtered AND chunks <= most_worded THEN
        WITH wanted AS MATERIALIZED (
            SELECT c.collection_id, c.document_id, c.place, c.tokens FROM unnest(documents) AS d(id)
            JOIN search.chunks c ON c.document_id = d.id
            WHERE c.tenant_id = t AND c.collection_id = ANY (collections) AND c.generation = ANY (generations))
        SELECT array_agg(w.collection_id), array_agg(w.document_id), array_agg(w.place)
            INTO word_collections, word_documents, word_places FROM (
                SELECT c.collection_id, c.document_id, c.place FROM wanted c
                JOIN unnest(queries, weights) AS r(query, weight) ON c.tokens @@ r.query
                GROUP BY 1, 2, 3 ORDER BY sum(r.weight) DESC, 2, 3 LIMIT p_most) w;
    ELSE
        SELECT array_agg(w.collection_id), array_agg(w.document_id), array_agg(w.place)
            INTO word_collections, word_documents, word_places FROM (
                SELECT f.collection_id, f.document_id, f.place
                FROM unnest(queries, weights) AS r(query, weight) CROSS JOIN LATERAL (
                    SELECT c.collection_id, c.document_id, c.place FROM search.chunks c
                    WHERE c.tokens @@ r.query AND c.tenant_id = t AND c.collection_id = ANY (collections)
                    AND CASE WHEN is_filtered THEN c.document_id IN (SELECT unnest(documents)) ELSE true END
                    LIMIT most_worded) f
                GROUP BY 1, 2, 3 ORDER BY sum(r.weight) DESC, 2, 3 LIMIT p_most) w;
    END IF;
    RETURN QUERY EXECUTE format($q$
        WITH words AS MATERIALIZED (
            SELECT g AS generation, w.weight,
                (quote_literal(g || ':' || w.token) || CASE WHEN w.is_prefix THEN ':*' ELSE '' END)::tsquery AS query
            FROM unnest($4) AS g CROSS JOIN unnest($5, $6, $7) AS w(token, is_prefix, weight)),
        found AS MATERIALIZED (
            SELECT c.collection_id, c.document_id, c.place, c.generation, %s AS distance, strip(c.tokens) AS tokens
            FROM (SELECT * FROM unnest($8, $9, $10) UNION SELECT * FROM unnest($11, $12, $13))
                AS f(collection_id, document_id, place)
            JOIN search.chunks c USING (collection_id, document_id, place)
            WHERE c.tenant_id = $2 AND c.collection_id = ANY ($3) AND c.generation = ANY ($4))
        SELECT f.collection_id, f.document_id, f.place, f.distance, coalesce((
            SELECT sum(w.weight) FROM words w WHERE w.generation = f.generation AND f.tokens @@ w.query), 0)::real
        FROM found f$q$, CASE WHEN p_query IS NULL THEN 'NULL::float8' ELSE compared END)
        USING p_query, t, collections, generations, p_tokens, p_prefixes, p_weights,
            near_collections, near_documents, near_places, word_collections, word_documents, word_places;
END $$;
"""  # noqa: S608 put together from constants

ORPHAN_RIGHTS = """
REVOKE ALL ON FUNCTION search.list_orphans, search.remove_orphans FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search.remove_orphans TO mcpist_console;
"""

RIGHTS = """
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA search FROM PUBLIC;
"""

# The cast loads pgvector: without it, its settings are unknown, and only a superuser may give them to a function.
DROP_FIND = """
SELECT '[1]'::halfvec;
SET LOCAL ROLE mcpist_search;
DROP FUNCTION search.find_candidates;
SET LOCAL ROLE mcpist_owner;
"""

# The function belongs to a role that reads these tables and no others.
FIND_RIGHTS = """
REVOKE ALL ON FUNCTION search.find_candidates FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search.find_candidates TO mcpist_gateway;
GRANT CREATE ON SCHEMA search TO mcpist_search;
ALTER FUNCTION search.find_candidates OWNER TO mcpist_search;
REVOKE CREATE ON SCHEMA search FROM mcpist_search;
"""
