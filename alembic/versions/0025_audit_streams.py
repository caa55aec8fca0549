"""Add the stream of a tenant's audit log to a log collector: where it goes, and how far it has come."""

from alembic import op

from core.migrations import build_tenant_policy_script, run_script

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# `position` is the last event that the collector has taken. A delivery is claimed by a process until `claimed_until`.
TABLE = """
CREATE TABLE vault.audit_streams (
    tenant_id uuid PRIMARY KEY REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL,
    version bigint NOT NULL CHECK (version > 0),
    url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
    secret bytea NOT NULL CHECK (octet_length(secret) BETWEEN 46 AND 8192
        AND substring(secret FROM 1 FOR 1) = '\\x01'::bytea),
    secret_version bigint NOT NULL,
    enabled boolean NOT NULL,
    position bigint NOT NULL CHECK (position >= 0),
    delivered_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    last_error text NOT NULL DEFAULT '' CHECK (length(last_error) <= 40),
    next_attempt_at timestamptz NOT NULL DEFAULT '-infinity',
    claim uuid,
    claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (tenant_id, id)
);
"""

# The trust zone reads the log that it streams, of the tenant whose transaction it is: the policies of the log are in
# force for it, too.
GRANTS = """
CREATE POLICY deployment_lists_streams ON vault.audit_streams FOR SELECT TO mcpist_broker
    USING (current_setting('app.deployment', true) = 'list');
GRANT SELECT, INSERT, UPDATE, DELETE ON vault.audit_streams TO mcpist_broker;
GRANT SELECT ON audit.events, audit.heads TO mcpist_broker;
GRANT EXECUTE ON FUNCTION audit.anchors(uuid[]) TO mcpist_broker;
"""
DOWN = """
REVOKE SELECT ON audit.events, audit.heads FROM mcpist_broker;
REVOKE EXECUTE ON FUNCTION audit.anchors(uuid[]) FROM mcpist_broker;
DROP TABLE vault.audit_streams;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLE)
    run_script(op.get_bind(), build_tenant_policy_script("vault.audit_streams"))
    run_script(op.get_bind(), GRANTS)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
