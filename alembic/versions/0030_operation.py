"""What starts and metrics ask of the database: its schema's number, the key of argument digests, numbers of the vault.

Every role may read the number, so that a process refuses an older schema before its statements fail. Where the file of
the digest key was lost or copied from elsewhere, digests of one log would differ: the start compares a check of it.
"""

from alembic import op

from core.migrations import run_script

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

DIGEST_KEY = """
CREATE TABLE audit.digest_key_check (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    mac bytea NOT NULL CHECK (octet_length(mac) = 32)
);
ALTER TABLE audit.digest_key_check ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit.digest_key_check FORCE ROW LEVEL SECURITY;
CREATE POLICY processes_compare ON audit.digest_key_check FOR SELECT
    TO mcpist_gateway, mcpist_console, mcpist_broker USING (true);
CREATE POLICY broker_records ON audit.digest_key_check FOR INSERT TO mcpist_broker WITH CHECK (true);
CREATE POLICY broker_forgets ON audit.digest_key_check FOR DELETE TO mcpist_broker USING (true);
REVOKE ALL ON audit.digest_key_check FROM PUBLIC;
GRANT SELECT ON audit.digest_key_check TO mcpist_gateway, mcpist_console, mcpist_broker;
GRANT INSERT, DELETE ON audit.digest_key_check TO mcpist_broker;
"""

# Numbers of the whole deployment: they name no tenant. A refresh that is due counts as late only where the sweeper
# would take it: in use within 14 days (broker/refresh/decision.py), and not put off.
FIGURES = """
CREATE FUNCTION vault.measure() RETURNS TABLE (name text, label text, value float8)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'accounts', a.status, count(*)::float8 FROM vault.accounts a GROUP BY a.status
    UNION ALL SELECT 'breakers_open', '', count(*)::float8 FROM vault.oauth_clients c
        WHERE c.breaker_until > (SELECT vault.clock())
    UNION ALL SELECT 'notices_undelivered', '', count(*)::float8 FROM vault.notices n WHERE n.closed_at IS NULL
    UNION ALL SELECT 'refresh_lag_seconds', '',
        greatest(coalesce(extract(epoch FROM (SELECT vault.clock()) - min(a.refresh_at)), 0), 0)::float8
        FROM vault.accounts a WHERE a.status = 'active' AND a.refresh IS NOT NULL
            AND a.refresh_at < (SELECT vault.clock())
            AND a.last_used_at > (SELECT vault.clock()) - interval '14 days'
            AND (a.next_try_at IS NULL OR a.next_try_at < (SELECT vault.clock()))
$$;
REVOKE ALL ON FUNCTION vault.measure() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION vault.measure() TO mcpist_broker;
"""


def upgrade() -> None:
    op.execute("GRANT SELECT ON public.alembic_version TO mcpist_gateway, mcpist_console, mcpist_broker")
    run_script(op.get_bind(), DIGEST_KEY)
    run_script(op.get_bind(), FIGURES)


def downgrade() -> None:
    op.execute("DROP FUNCTION vault.measure()")
    op.execute("DROP TABLE audit.digest_key_check")
    op.execute("REVOKE SELECT ON public.alembic_version FROM mcpist_gateway, mcpist_console, mcpist_broker")
