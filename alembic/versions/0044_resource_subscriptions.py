"""Subscriptions of clients to resources: a credential's and its client's, for a day."""

from alembic import op

from core.migrations import run_script

revision = "0044"
down_revision = "0042"
branch_labels = None
depends_on = None

TABLE = """
CREATE TABLE core.resource_subscriptions (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    credential_id text NOT NULL CHECK (length(credential_id) BETWEEN 1 AND 200),
    client text NOT NULL CHECK (length(client) <= 200),
    uri text NOT NULL CHECK (length(uri) BETWEEN 1 AND 2048),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX resource_subscriptions_key
    ON core.resource_subscriptions (tenant_id, user_id, credential_id, client, md5(uri));
CREATE INDEX ON core.resource_subscriptions (expires_at);
ALTER TABLE core.resource_subscriptions ENABLE ROW LEVEL SECURITY;
ALTER TABLE core.resource_subscriptions FORCE ROW LEVEL SECURITY;
CREATE POLICY by_user ON core.resource_subscriptions
    USING (tenant_id = core.current_tenant() AND user_id = core.current_user_id())
    WITH CHECK (tenant_id = core.current_tenant() AND user_id = core.current_user_id());
CREATE POLICY owner_sweeps_subscriptions ON core.resource_subscriptions TO mcpist_owner USING (true);
GRANT SELECT, INSERT, DELETE, UPDATE (created_at, expires_at) ON core.resource_subscriptions TO mcpist_gateway;
"""

FUNCTIONS = """
CREATE FUNCTION core.sweep_resource_subscriptions(at timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE removed integer;
    BEGIN
        DELETE FROM core.resource_subscriptions WHERE expires_at <= at;
        GET DIAGNOSTICS removed = ROW_COUNT;
        RETURN removed;
    END $$;
ALTER FUNCTION core.sweep_resource_subscriptions(timestamptz) OWNER TO mcpist_owner;
REVOKE ALL ON FUNCTION core.sweep_resource_subscriptions(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION core.sweep_resource_subscriptions(timestamptz) TO mcpist_gateway;
"""

DOWN = """
DROP FUNCTION core.sweep_resource_subscriptions(timestamptz);
DROP TABLE core.resource_subscriptions;
"""


def upgrade() -> None:
    for script in (TABLE, FUNCTIONS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
