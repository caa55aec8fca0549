"""A gateway appends to the log of a tenant only with a pass that the broker has signed for that tenant."""

from alembic import op

from core.migrations import run_script

revision = "0014"
down_revision = "0012"
branch_labels = None
depends_on = None

# The pads are those of HMAC (RFC 2104) with a key of 32 bytes: PostgreSQL has sha256, but HMAC in an extension only.
KEY = """
CREATE TABLE auth.audit_key (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    inner_pad bytea NOT NULL CHECK (length(inner_pad) = 64),
    outer_pad bytea NOT NULL CHECK (length(outer_pad) = 64)
);
ALTER TABLE auth.audit_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE auth.audit_key FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_checks ON auth.audit_key FOR ALL TO mcpist_owner USING (true) WITH CHECK (true);
CREATE POLICY broker_signs ON auth.audit_key FOR SELECT TO mcpist_broker USING (true);
GRANT SELECT ON auth.audit_key TO mcpist_broker;
DO $$
DECLARE
    key bytea := sha256(convert_to(gen_random_uuid()::text || gen_random_uuid() || gen_random_uuid(), 'UTF8'));
    i bytea := decode(repeat('36', 64), 'hex');
    o bytea := decode(repeat('5c', 64), 'hex');
BEGIN
    FOR n IN 0..31 LOOP
        i := set_byte(i, n, get_byte(key, n) # 54);
        o := set_byte(o, n, get_byte(key, n) # 92);
    END LOOP;
    INSERT INTO auth.audit_key (inner_pad, outer_pad) VALUES (i, o);
END $$;
"""

# A pass is ten digits, until when it counts (seconds since 1970), and the MAC of the tenant and these digits in
# hexadecimal. What has none is not written, and its place in the batch is given back; all else is.
APPEND = """
CREATE FUNCTION audit.append_signed(tenant_ids uuid[], passes text[], records bytea[]) RETURNS integer[]
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
REVOKE EXECUTE ON FUNCTION audit.append_signed(uuid[], text[], bytea[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.append_signed(uuid[], text[], bytea[]) TO mcpist_gateway;
REVOKE EXECUTE ON FUNCTION audit.append(uuid[], bytea[]) FROM mcpist_gateway;
"""

BACK = """
GRANT EXECUTE ON FUNCTION audit.append(uuid[], bytea[]) TO mcpist_gateway;
DROP FUNCTION audit.append_signed(uuid[], text[], bytea[]);
DROP TABLE auth.audit_key;
"""


def upgrade() -> None:
    run_script(op.get_bind(), KEY + APPEND)


def downgrade() -> None:
    run_script(op.get_bind(), BACK)
