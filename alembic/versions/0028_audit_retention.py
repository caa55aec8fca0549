"""How long the audit log is kept is a setting of the deployment that its operator changes while it runs."""

from alembic import op

from core.migrations import run_script

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

# The one row is made before row-level security is forced, which binds its owner too. It stays when the setting goes, so
# that no version comes twice. The control plane writes what is kept; to drop partitions stays with the administrator.
TABLE = """
CREATE TABLE audit.retention (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    version bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
    keep_months integer CHECK (keep_months BETWEEN 1 AND 1200),
    changed_at timestamptz,
    changed_by text NOT NULL DEFAULT ''
);
INSERT INTO audit.retention DEFAULT VALUES;
ALTER TABLE audit.retention ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit.retention FORCE ROW LEVEL SECURITY;
CREATE POLICY console_keeps ON audit.retention TO mcpist_console USING (true) WITH CHECK (true);
REVOKE ALL ON audit.retention FROM PUBLIC;
GRANT SELECT, UPDATE (version, keep_months, changed_at, changed_by) ON audit.retention TO mcpist_console;
"""

# As in 0002, but for the time. A clock that is ahead drops nothing early: that of the database is the limit.
DROP = """
DROP FUNCTION audit.drop_before(integer);
CREATE FUNCTION audit.drop_before(months integer, moment timestamptz) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s'
    SET timezone = 'UTC' AS $$
DECLARE
    oldest timestamptz := date_trunc('month', least(moment, now())) - months * interval '1 month';
"""
DROP_OF_0002 = """
DROP FUNCTION audit.drop_before(integer, timestamptz);
CREATE FUNCTION audit.drop_before(months integer) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s'
    SET timezone = 'UTC' AS $$
DECLARE
    oldest timestamptz := date_trunc('month', now()) - months * interval '1 month';
"""
REST = """
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
REVOKE ALL ON FUNCTION audit.drop_before FROM PUBLIC;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLE)
    run_script(op.get_bind(), DROP + REST)


def downgrade() -> None:
    run_script(op.get_bind(), DROP_OF_0002 + REST)
    op.execute("DROP TABLE audit.retention")
