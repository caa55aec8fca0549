"""Tables of the schema `search`."""

# A generation is one collection embedded by one model: its number stands before each of its tokens, so one index of
# tokens serves all collections and finds nothing of another's. `deleted_version` is the highest of a deleted document:
# the next one of its key begins above it, and is not taken for the former. COLLATE "C": pages compare keys.
TABLES = """
CREATE SCHEMA search;
CREATE SEQUENCE search.generations;
CREATE TABLE search.usage (
    tenant_id uuid PRIMARY KEY REFERENCES core.tenants ON DELETE CASCADE,
    bytes bigint NOT NULL DEFAULT 0
);
CREATE TABLE search.collections (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    module text COLLATE "C" NOT NULL CHECK (module ~ '^[a-z][a-z0-9_]{0,62}$'),
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    owner text NOT NULL CHECK (owner IN ('user', 'role', 'tenant')),
    user_id uuid CHECK ((user_id IS NOT NULL) = (owner = 'user')),
    role_id uuid CHECK ((role_id IS NOT NULL) = (owner = 'role')),
    member_writes boolean NOT NULL DEFAULT false,
    model text NOT NULL CHECK (length(model) BETWEEN 1 AND 200),
    dimensions integer NOT NULL CHECK (dimensions BETWEEN 1 AND 4000),
    generation bigint NOT NULL DEFAULT nextval('search.generations'),
    next_model text CHECK (length(next_model) BETWEEN 1 AND 200),
    next_dimensions integer CHECK (next_dimensions BETWEEN 1 AND 4000),
    next_generation bigint,
    documents integer NOT NULL DEFAULT 0 CHECK (documents >= 0),
    chunks integer NOT NULL DEFAULT 0 CHECK (chunks >= 0),
    bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    deleted_version bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE NULLS NOT DISTINCT (tenant_id, module, owner, user_id, role_id, name),
    CHECK (num_nulls(next_model, next_dimensions, next_generation) IN (0, 3)),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50);
CREATE INDEX ON search.collections (tenant_id, user_id);
CREATE INDEX ON search.collections (tenant_id, role_id);
CREATE TABLE search.documents (
    tenant_id uuid NOT NULL,
    collection_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 500),
    title text NOT NULL CHECK (length(title) <= 500),
    text text CHECK (length(text) <= 1000000),
    tags text[] NOT NULL CHECK (cardinality(tags) <= 50),
    metadata jsonb NOT NULL CHECK (jsonb_typeof(metadata) = 'object'),
    url text NOT NULL CHECK (length(url) <= 2000),
    max_chunk_chars integer CHECK (max_chunk_chars > 0),
    parent text COLLATE "C" CHECK (length(parent) BETWEEN 1 AND 200),
    version bigint NOT NULL CHECK (version > 0),
    chunks integer NOT NULL CHECK (chunks >= 0),
    bytes integer NOT NULL CHECK (bytes >= 0),
    next_generation bigint,
    next_chunks integer CHECK (next_chunks >= 0),
    next_bytes integer CHECK (next_bytes >= 0),
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id, collection_id),
    UNIQUE (tenant_id, collection_id, key),
    UNIQUE (tenant_id, collection_id, id),
    FOREIGN KEY (tenant_id, collection_id) REFERENCES search.collections ON DELETE CASCADE
) PARTITION BY HASH (collection_id);
CREATE INDEX ON search.documents (tenant_id, collection_id, updated_at, id);
CREATE INDEX documents_parent ON search.documents (tenant_id, parent) WHERE parent IS NOT NULL;
CREATE INDEX documents_tags ON search.documents USING gin (tags);
CREATE INDEX documents_metadata ON search.documents USING gin (metadata jsonb_path_ops);
CREATE TABLE search.chunks (
    tenant_id uuid NOT NULL,
    collection_id uuid NOT NULL,
    document_id uuid NOT NULL,
    generation bigint NOT NULL,
    place integer NOT NULL CHECK (place >= 0),
    start integer NOT NULL CHECK (start >= 0),
    length integer NOT NULL CHECK (length >= 0),
    heading text NOT NULL CHECK (length(heading) <= 500),
    embedding halfvec NOT NULL,
    tokens tsvector NOT NULL,
    PRIMARY KEY (tenant_id, collection_id, document_id, generation, place),
    FOREIGN KEY (tenant_id, collection_id, document_id) REFERENCES search.documents (tenant_id, collection_id, id)
        ON DELETE CASCADE
) PARTITION BY HASH (collection_id);
ALTER TABLE search.chunks ALTER embedding SET STORAGE MAIN;
CREATE INDEX chunks_tokens ON search.chunks USING gin (tokens);
CREATE TABLE search.token_counts (
    tenant_id uuid NOT NULL,
    collection_id uuid NOT NULL,
    generation bigint NOT NULL,
    token text COLLATE "C" NOT NULL,
    chunks integer NOT NULL CHECK (chunks >= 0),
    PRIMARY KEY (tenant_id, collection_id, generation, token),
    FOREIGN KEY (tenant_id, collection_id) REFERENCES search.collections ON DELETE CASCADE
) PARTITION BY HASH (collection_id);
"""

# What PostgreSQL keeps of a column's values when it analyses a table outlives them.
PARTITIONS = """
DO $$
DECLARE
    parent text;
    dimensions integer;
    settings text;
BEGIN
    FOREACH dimensions IN ARRAY ARRAY[512, 1024, 1536] LOOP
        EXECUTE format('CREATE INDEX chunks_embedding_%1$s ON search.chunks
            USING hnsw ((embedding::halfvec(%1$s)) halfvec_cosine_ops)
            WHERE vector_dims(embedding) = %1$s', dimensions);
    END LOOP;
    FOREACH parent IN ARRAY ARRAY['documents', 'chunks', 'token_counts'] LOOP
        settings := CASE parent WHEN 'token_counts' THEN ' WITH (fillfactor = 80)'
            WHEN 'documents' THEN ' WITH (toast_tuple_target = 512)' ELSE '' END;
        FOR part IN 0..7 LOOP
            EXECUTE format('CREATE TABLE search.%I PARTITION OF search.%I FOR VALUES WITH (MODULUS 8, REMAINDER %s)%s',
                parent || '_' || part, parent, part, settings);
            EXECUTE format('ALTER TABLE search.%I ENABLE ROW LEVEL SECURITY', parent || '_' || part);
            EXECUTE format('ALTER TABLE search.%I FORCE ROW LEVEL SECURITY', parent || '_' || part);
            EXECUTE format('CREATE POLICY owner_counts ON search.%I FOR SELECT TO mcpist_owner USING (true)',
                parent || '_' || part);
        END LOOP;
    END LOOP;
END $$;
DO $$
DECLARE
    item record;
BEGIN
    FOR item IN SELECT a.attrelid::regclass::text AS relation, a.attname, a.attnum, c.relkind
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'search'::regnamespace AND a.attnum > 0 AND c.relkind IN ('r', 'p', 'i', 'I')
        AND (c.relkind IN ('r', 'p') OR EXISTS (
            SELECT FROM pg_index x WHERE x.indexrelid = c.oid AND x.indkey[a.attnum - 1] = 0))
        AND a.atttypid::regtype::text NOT IN ('uuid', 'bigint', 'integer', 'boolean', 'timestamp with time zone')
        AND NOT (c.relkind IN ('r', 'p') AND a.attname IN ('module', 'owner', 'model', 'next_model'))
    LOOP
        IF item.relkind IN ('r', 'p') THEN
            EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', item.relation, item.attname);
        ELSE
            EXECUTE format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 0', item.relation, item.attnum);
        END IF;
    END LOOP;
END $$;
"""
