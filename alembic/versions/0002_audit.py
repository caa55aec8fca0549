"""The audit log: a write-ahead queue of packed records, and the sealed, hash-chained events.

`audit.incoming` takes what processes append in one synchronous statement; a sealer moves it, in order, to
`audit.events`. An application role has no right on these tables but to read its own tenant's events (the console);
everything else goes through the functions below. No reference to core.tenants: the log outlives its tenant.
"""

from alembic import op

from core.migrations import run_script

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# The nil tenant holds what belongs to the whole deployment.
TABLES = """
CREATE TABLE audit.incoming (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id uuid NOT NULL,
    record bytea NOT NULL CHECK (octet_length(record) <= 98304)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE TABLE audit.heads (
    tenant_id uuid PRIMARY KEY,
    seq bigint NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    sealed_at timestamptz NOT NULL,
    base_seq bigint NOT NULL DEFAULT 0,
    base_hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex') CHECK (octet_length(base_hash) = 32)
) WITH (fillfactor = 70);
CREATE TABLE audit.events (
    tenant_id uuid NOT NULL,
    seq bigint NOT NULL,
    sealed_at timestamptz NOT NULL,
    at timestamptz NOT NULL,
    id bytea NOT NULL,
    intent bytea,
    kind text NOT NULL,
    user_id uuid,
    credential_id text NOT NULL,
    client text NOT NULL,
    request_id text NOT NULL,
    module text NOT NULL,
    tool text NOT NULL,
    outcome text NOT NULL,
    duration_us bigint NOT NULL,
    digest bytea NOT NULL,
    arguments bytea,
    detail jsonb,
    actor text NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (tenant_id, seq, sealed_at)
) PARTITION BY RANGE (sealed_at);
CREATE INDEX events_by_time ON audit.events (tenant_id, at, seq);
CREATE INDEX events_by_request ON audit.events (tenant_id, request_id) WHERE request_id <> '';
"""

AUDIT_TABLES = ("audit.incoming", "audit.heads", "audit.events")

# Forced row-level security binds the owner too, so what the functions may do stands here, one policy each. There is
# none to change or remove an event: not even the functions can.
POLICIES = """
CREATE POLICY owner_appends ON audit.incoming FOR INSERT TO mcpist_owner WITH CHECK (true);
CREATE POLICY owner_takes ON audit.incoming FOR SELECT TO mcpist_owner USING (true);
CREATE POLICY owner_removes_sealed ON audit.incoming FOR DELETE TO mcpist_owner USING (true);
CREATE POLICY owner_keeps_heads ON audit.heads FOR ALL TO mcpist_owner USING (true) WITH CHECK (true);
CREATE POLICY owner_seals ON audit.events FOR INSERT TO mcpist_owner WITH CHECK (true);
CREATE POLICY owner_finds_doubles ON audit.events FOR SELECT TO mcpist_owner USING (true);
"""

APPEND = """
CREATE FUNCTION audit.append(tenant_ids uuid[], records bytea[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO audit.incoming (tenant_id, record)
        SELECT r.tenant_id, r.record FROM unnest(tenant_ids, records) AS r (tenant_id, record);
END $$;
"""

# The console's role reads packed rows of every tenant through audit.take, the only way; the lock that it takes lets
# one sealer work at a time, and it ends with the transaction. Numbers are given before their transaction commits, so
# a lower one may appear later: rows are removed by number, never by range.
SEAL = """
CREATE FUNCTION audit.take(most integer) RETURNS TABLE (number bigint, tenant uuid, packed bytea)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(1835233380) THEN RETURN; END IF;
    RETURN QUERY SELECT i.id, i.tenant_id, i.record FROM audit.incoming i ORDER BY i.id LIMIT least(most, 10000);
END $$;
CREATE FUNCTION audit.doubles(tenant_ids uuid[], ats timestamptz[], ids bytea[], since timestamptz)
    RETURNS TABLE (known bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    BEGIN ATOMIC
        SELECT r.id FROM unnest(tenant_ids, ats, ids) AS r (tenant_id, at, id)
        WHERE EXISTS (
            SELECT FROM audit.events e
            WHERE e.tenant_id = r.tenant_id AND e.at = r.at AND e.id = r.id AND e.sealed_at >= since
        );
    END;
CREATE FUNCTION audit.anchors(tenant_ids uuid[] DEFAULT NULL)
    RETURNS TABLE (tenant uuid, newest bigint, newest_hash bytea, newest_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    BEGIN ATOMIC
        SELECT h.tenant_id, h.seq, h.hash, h.sealed_at FROM audit.heads h
        WHERE tenant_ids IS NULL OR h.tenant_id = ANY (tenant_ids);
    END;
CREATE FUNCTION audit.seal(
    taken bigint[], tenant_ids uuid[], seqs bigint[], sealed_ats timestamptz[], ats timestamptz[], ids bytea[],
    intents bytea[], kinds text[], user_ids uuid[], credential_ids text[], clients text[], request_ids text[],
    modules text[], tools text[], outcomes text[], durations bigint[], digests bytea[], arguments bytea[],
    details text[], actors text[], hashes bytea[]
) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    removed bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1835233380);
    INSERT INTO audit.heads (tenant_id, seq, hash, sealed_at)
        SELECT DISTINCT t, 0, decode(repeat('00', 32), 'hex'), '-infinity'::timestamptz FROM unnest(tenant_ids) AS t
        ON CONFLICT DO NOTHING;
    PERFORM FROM audit.heads WHERE tenant_id = ANY (tenant_ids) FOR UPDATE;
    IF EXISTS (
        SELECT FROM unnest(tenant_ids, seqs, sealed_ats) AS r (tenant_id, seq, sealed_at)
            JOIN audit.heads h USING (tenant_id)
        GROUP BY h.tenant_id, h.seq, h.sealed_at
        HAVING min(r.seq) <> h.seq + 1 OR max(r.seq) <> h.seq + count(*) OR count(DISTINCT r.seq) <> count(*)
            OR min(r.sealed_at) < h.sealed_at
    ) THEN RAISE EXCEPTION 'these events do not continue the chain'; END IF;
    INSERT INTO audit.events (
        tenant_id, seq, sealed_at, at, id, intent, kind, user_id, credential_id, client, request_id, module, tool,
        outcome, duration_us, digest, arguments, detail, actor, hash
    )
    SELECT r.tenant_id, r.seq, r.sealed_at, r.at, r.id, r.intent, r.kind, r.user_id, r.credential_id, r.client,
        r.request_id, r.module, r.tool, r.outcome, r.duration_us, r.digest, r.arguments, r.detail::jsonb, r.actor,
        r.hash
    FROM unnest(
        tenant_ids, seqs, sealed_ats, ats, ids, intents, kinds, user_ids, credential_ids, clients, request_ids,
        modules, tools, outcomes, durations, digests, arguments, details, actors, hashes
    ) AS r (
        tenant_id, seq, sealed_at, at, id, intent, kind, user_id, credential_id, client, request_id, module, tool,
        outcome, duration_us, digest, arguments, detail, actor, hash
    );
    UPDATE audit.heads h SET seq = last.seq, hash = last.hash, sealed_at = last.sealed_at
    FROM (
        SELECT DISTINCT ON (r.tenant_id) r.tenant_id, r.seq, r.hash, r.sealed_at
        FROM unnest(tenant_ids, seqs, hashes, sealed_ats) AS r (tenant_id, seq, hash, sealed_at)
        ORDER BY r.tenant_id, r.seq DESC
    ) AS last
    WHERE h.tenant_id = last.tenant_id;
    DELETE FROM audit.incoming WHERE id = ANY (taken);
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF removed <> cardinality(taken) THEN RAISE EXCEPTION 'these records were sealed meanwhile'; END IF;
END $$;
"""

# Made apart and attached: CREATE TABLE … PARTITION OF would lock out every reader and writer of the log.
# Row-level security does not pass to a partition, so each gets its own.
PARTITIONS = """
CREATE FUNCTION audit.prepare_month(moment timestamptz) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s'
    SET timezone = 'UTC' AS $$
DECLARE
    month timestamptz := date_trunc('month', moment);
    name text := to_char(month, '"events_"YYYY_MM');
BEGIN
    PERFORM pg_advisory_xact_lock(1835233381);
    IF to_regclass('audit.' || quote_ident(name)) IS NOT NULL THEN RETURN false; END IF;
    EXECUTE format('CREATE TABLE audit.%I (LIKE audit.events INCLUDING ALL)', name);
    EXECUTE format('ALTER TABLE audit.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE audit.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY by_tenant ON audit.%I '
        'USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())', name);
    EXECUTE format('ALTER TABLE audit.events ATTACH PARTITION audit.%I FOR VALUES FROM (%L) TO (%L)',
        name, month, month + interval '1 month');
    RETURN true;
END $$;
CREATE FUNCTION audit.drop_before(months integer) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s'
    SET timezone = 'UTC' AS $$
DECLARE
    oldest timestamptz := date_trunc('month', now()) - months * interval '1 month';
    name text;
    dropped text[] := '{}';
BEGIN
    IF months < 1 THEN RAISE EXCEPTION 'at least one whole month of the audit log is kept'; END IF;
    PERFORM pg_advisory_xact_lock(1835233380);
    UPDATE audit.heads h SET base_seq = last.seq, base_hash = last.hash
    FROM (
        SELECT DISTINCT ON (e.tenant_id) e.tenant_id, e.seq, e.hash
        FROM audit.events e WHERE e.sealed_at < oldest ORDER BY e.tenant_id, e.seq DESC
    ) AS last
    WHERE h.tenant_id = last.tenant_id;
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'audit.events'::regclass AND c.relname < to_char(oldest, '"events_"YYYY_MM')
        ORDER BY 1
    LOOP
        EXECUTE format('DROP TABLE audit.%I', name);
        dropped := dropped || name;
    END LOOP;
    RETURN dropped;
END $$;
"""

# audit.drop_before belongs to the operator: no application role may shorten the log.
GRANTS = """
REVOKE ALL ON ALL TABLES IN SCHEMA audit FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA audit FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.append(uuid[], bytea[]) TO mcpist_gateway, mcpist_broker, mcpist_console;
GRANT EXECUTE ON FUNCTION audit.take(integer), audit.doubles(uuid[], timestamptz[], bytea[], timestamptz),
    audit.anchors(uuid[]), audit.prepare_month(timestamptz), audit.seal(
        bigint[], uuid[], bigint[], timestamptz[], timestamptz[], bytea[], bytea[], text[], uuid[], text[], text[],
        text[], text[], text[], text[], bigint[], bytea[], bytea[], text[], text[], bytea[]
    ) TO mcpist_console;
GRANT SELECT ON audit.events, audit.heads TO mcpist_console;
"""

DOWN = """
DROP FUNCTION audit.append, audit.take, audit.doubles, audit.anchors, audit.seal, audit.prepare_month,
    audit.drop_before;
DROP TABLE audit.events, audit.heads, audit.incoming;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)
    for table in AUDIT_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY by_tenant ON {table} "
            "USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())"
        )
    for script in (POLICIES, APPEND, SEAL, PARTITIONS, GRANTS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
