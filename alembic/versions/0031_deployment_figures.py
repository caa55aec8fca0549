"""Figures of the whole deployment for metrics: numbers only, of no tenant."""

from alembic import op

from core.migrations import run_script

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

# As in vault.due_accounts: an account is overdue where nothing but the broker keeps it from being refreshed.
FUNCTION = """
CREATE FUNCTION vault.deployment_figures(used_within interval, late interval) RETURNS jsonb
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH clock AS MATERIALIZED (SELECT vault.clock() AS now)
    SELECT jsonb_build_object(
        'accounts', (SELECT coalesce(jsonb_object_agg(status, number), '{}') FROM
            (SELECT status, count(*) AS number FROM vault.accounts GROUP BY status) counted),
        'accounts_overdue', (SELECT count(*) FROM vault.accounts a
            JOIN vault.oauth_clients c ON c.tenant_id = a.tenant_id AND c.id = a.oauth_client_id
            WHERE a.status = 'active' AND a.refresh IS NOT NULL AND a.refresh_at < (SELECT now FROM clock) - late
            AND a.last_used_at > (SELECT now FROM clock) - used_within
            AND (a.next_try_at IS NULL OR a.next_try_at < (SELECT now FROM clock) - late)
            AND (a.lease_until IS NULL OR a.lease_until < (SELECT now FROM clock) - late)
            AND (c.breaker_until IS NULL OR c.breaker_until < (SELECT now FROM clock) - late)),
        'oauth_clients_rejected', (SELECT count(*) FROM vault.oauth_clients WHERE state = 'misconfigured'),
        'notices_waiting', (SELECT count(*) FROM vault.notices
            WHERE closed_at IS NULL AND created_at < (SELECT now FROM clock) - interval '5 minutes' - late)
    )
$$;
ALTER FUNCTION vault.deployment_figures(interval, interval) OWNER TO mcpist_owner;
REVOKE ALL ON FUNCTION vault.deployment_figures(interval, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION vault.deployment_figures(interval, interval) TO mcpist_broker;
"""


def upgrade() -> None:
    run_script(op.get_bind(), FUNCTION)


def downgrade() -> None:
    op.execute("DROP FUNCTION vault.deployment_figures(interval, interval)")
