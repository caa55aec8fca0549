"""Credentials that a vendor has refused are asked about again before they count as broken.

For what cannot be renewed: pasted keys, and accounts without a refresh token. `rejected_version` is the version that
was refused, since `rejected_at` on end and last at `rejected_last`; the vendor is asked next at `recheck_at`, and until
then nothing is sent with it (`held_back`). `accepted_at`: asked again, the vendor took it. `endpoint` is whose answers
are counted together: an origin of the world, or a tenant's id and one that the tenant has chosen.
"""

from alembic import op

from core.migrations import run_script

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

COLUMNS = """
ALTER TABLE vault.credentials
    ADD COLUMN endpoint text NOT NULL DEFAULT '' CHECK (length(endpoint) <= 2100),
    ADD COLUMN rejected_version bigint,
    ADD COLUMN rejected_at timestamptz,
    ADD COLUMN rejected_last timestamptz,
    ADD COLUMN recheck_at timestamptz,
    ADD COLUMN rechecks integer NOT NULL DEFAULT 0 CHECK (rechecks >= 0),
    ADD COLUMN held_back boolean NOT NULL DEFAULT false,
    ADD COLUMN accepted_at timestamptz;
CREATE INDEX credentials_to_recheck ON vault.credentials (recheck_at) WHERE recheck_at IS NOT NULL;
CREATE INDEX credentials_by_endpoint ON vault.credentials (endpoint, last_used_at) WHERE endpoint <> '';
"""

POLICIES = """
CREATE POLICY owner_finds_rejected ON vault.credentials FOR SELECT TO mcpist_owner USING (true);
"""

# Each vendor's in turn, and of a vendor's each tenant's: who has a thousand waits behind nobody, and nobody behind
# them. Whoever is suspended is asked about when they are back.
FUNCTIONS = """
CREATE FUNCTION vault.due_rechecks(most_each integer, most integer)
    RETURNS TABLE (tenant_id uuid, credential_id uuid, endpoint text)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH clock AS MATERIALIZED (SELECT vault.clock() AS now), due AS (
        SELECT c.tenant_id, c.id, c.endpoint, c.recheck_at,
            row_number() OVER (PARTITION BY c.tenant_id, c.endpoint ORDER BY c.recheck_at) AS of_tenant
        FROM vault.credentials c
        WHERE c.recheck_at <= (SELECT now FROM clock)
            AND NOT EXISTS (SELECT FROM core.tenants t WHERE t.tenant_id = c.tenant_id AND t.status = 'suspended')
            AND NOT EXISTS (SELECT FROM core.users u
                WHERE u.tenant_id = c.tenant_id AND u.id = c.user_id AND u.status = 'suspended')
    ), turns AS (
        SELECT d.*, row_number() OVER (PARTITION BY d.endpoint ORDER BY d.of_tenant, d.recheck_at) AS turn FROM due d
    )
    SELECT t.tenant_id, t.id, t.endpoint FROM turns t WHERE t.turn <= most_each
    ORDER BY t.turn, t.recheck_at LIMIT most
$$;
CREATE FUNCTION vault.key_answers(of_endpoint text, within interval, most_of_one integer)
    RETURNS TABLE (attempted float8, refused float8)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH clock AS MATERIALIZED (SELECT vault.clock() AS now), of_tenant AS (
        SELECT count(*) AS attempted,
            count(*) FILTER (WHERE c.rejected_last > (SELECT now FROM clock) - within) AS refused
        FROM vault.credentials c
        WHERE c.endpoint = of_endpoint AND c.endpoint <> ''
            AND (c.last_used_at > (SELECT now FROM clock) - within
                OR c.rejected_last > (SELECT now FROM clock) - within)
        GROUP BY c.tenant_id
    ), counted AS (
        SELECT t.*, least(1.0, most_of_one / greatest(t.refused, 1)::float8) AS share FROM of_tenant t
    )
    SELECT coalesce(sum(c.attempted * c.share), 0)::float8, coalesce(sum(c.refused * c.share), 0)::float8 FROM counted c
$$;
"""

RIGHTS = """
GRANT EXECUTE ON FUNCTION
    vault.due_rechecks(integer, integer), vault.key_answers(text, interval, integer) TO mcpist_broker;
"""


def upgrade() -> None:
    for script in (COLUMNS, POLICIES, FUNCTIONS, RIGHTS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    op.execute("DROP FUNCTION vault.key_answers(text, interval, integer)")
    op.execute("DROP FUNCTION vault.due_rechecks(integer, integer)")
    op.execute("DROP POLICY owner_finds_rejected ON vault.credentials")
    op.execute(
        "ALTER TABLE vault.credentials DROP COLUMN endpoint, DROP COLUMN rejected_version, DROP COLUMN rejected_at, "
        "DROP COLUMN rejected_last, DROP COLUMN recheck_at, DROP COLUMN rechecks, DROP COLUMN held_back, "
        "DROP COLUMN accepted_at"
    )
