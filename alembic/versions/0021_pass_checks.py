"""A flush of audit records checks each pass once, not once for each record that came with it."""

from alembic import op

from core.migrations import run_script

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# MATERIALIZED: PostgreSQL moves a condition into a subquery with DISTINCT, before it, where the MAC was computed for
# every record. Otherwise as in 0015.
APPEND = """
CREATE OR REPLACE FUNCTION audit.append_signed(tenant_ids uuid[], passes text[], records bytea[]) RETURNS integer[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    i bytea;
    o bytea;
    unsigned uuid[];
BEGIN
    SELECT inner_pad, outer_pad INTO STRICT i, o FROM auth.audit_key;
    WITH given AS MATERIALIZED (
        SELECT DISTINCT r.tenant_id, r.pass FROM unnest(tenant_ids, passes) AS r (tenant_id, pass)
    )
    SELECT array_agg(DISTINCT given.tenant_id) INTO unsigned FROM given
        WHERE given.tenant_id <> '00000000-0000-0000-0000-000000000000' AND (
            length(coalesce(given.pass, '')) <> 74
            OR left(given.pass, 10) < to_char(extract(epoch FROM now()), 'FM0000000000')
            OR right(given.pass, 64) <> encode(
                sha256(o || sha256(i || convert_to(given.tenant_id::text || left(given.pass, 10), 'UTF8'))), 'hex'));
    INSERT INTO audit.incoming (tenant_id, record)
        SELECT r.tenant_id, r.record FROM unnest(tenant_ids, records) AS r (tenant_id, record)
        WHERE unsigned IS NULL OR r.tenant_id <> ALL (unsigned);
    IF unsigned IS NULL THEN RETURN NULL; END IF;
    RETURN ARRAY(
        SELECT n::integer - 1 FROM unnest(tenant_ids) WITH ORDINALITY AS r (tenant_id, n)
        WHERE r.tenant_id = ANY (unsigned) ORDER BY n
    );
END $$;
"""

BACK = """
CREATE OR REPLACE FUNCTION audit.append_signed(tenant_ids uuid[], passes text[], records bytea[]) RETURNS integer[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    i bytea;
    o bytea;
    unsigned uuid[];
BEGIN
    SELECT inner_pad, outer_pad INTO STRICT i, o FROM auth.audit_key;
    SELECT array_agg(DISTINCT given.tenant_id) INTO unsigned
        FROM (SELECT DISTINCT r.tenant_id, r.pass FROM unnest(tenant_ids, passes) AS r (tenant_id, pass)) AS given
        WHERE given.tenant_id <> '00000000-0000-0000-0000-000000000000' AND (
            length(coalesce(given.pass, '')) <> 74
            OR left(given.pass, 10) < to_char(extract(epoch FROM now()), 'FM0000000000')
            OR right(given.pass, 64) <> encode(
                sha256(o || sha256(i || convert_to(given.tenant_id::text || left(given.pass, 10), 'UTF8'))), 'hex'));
    INSERT INTO audit.incoming (tenant_id, record)
        SELECT r.tenant_id, r.record FROM unnest(tenant_ids, records) AS r (tenant_id, record)
        WHERE unsigned IS NULL OR r.tenant_id <> ALL (unsigned);
    IF unsigned IS NULL THEN RETURN NULL; END IF;
    RETURN ARRAY(
        SELECT n::integer - 1 FROM unnest(tenant_ids) WITH ORDINALITY AS r (tenant_id, n)
        WHERE r.tenant_id = ANY (unsigned) ORDER BY n
    );
END $$;
"""


def upgrade() -> None:
    run_script(op.get_bind(), APPEND)


def downgrade() -> None:
    run_script(op.get_bind(), BACK)
