"""Add keys of vendors that belong to the tenant: what its searches, and nobody's account, are sent with."""

from alembic import op

from core.migrations import build_tenant_policy_script, run_script

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

# The id is made from the kind, and the secret is bound to it: a key is of no use under another kind.
TABLE = """
CREATE TABLE vault.tenant_keys (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL,
    kind text NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,39}$'),
    version bigint NOT NULL CHECK (version > 0),
    secret bytea NOT NULL CHECK (octet_length(secret) BETWEEN 46 AND 8192
        AND substring(secret FROM 1 FOR 1) = '\\x01'::bytea),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, kind)
);
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLE)
    run_script(op.get_bind(), build_tenant_policy_script("vault.tenant_keys"))
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON vault.tenant_keys TO mcpist_broker")


def downgrade() -> None:
    op.execute("DROP TABLE vault.tenant_keys")
