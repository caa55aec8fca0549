"""Connect sessions: what somebody shall connect, to be followed by the one who asked. They hold nothing secret."""

from alembic import op

from core.migrations import run_script

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# `before` has the versions of credentials that are to be connected again, `failures` a cause for each module that was
# tried in vain. What is done is not kept: the credentials say it.
TABLES = """
CREATE TABLE vault.connect_sessions (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    role_id uuid,
    modules text[] NOT NULL CHECK (cardinality(modules) <= 50),
    before jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(before) = 'object'),
    failures jsonb NOT NULL DEFAULT '{}' CHECK (octet_length(failures::text) <= 8192),
    return_path text NOT NULL DEFAULT '' CHECK (length(return_path) <= 2000),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    cancelled_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON vault.connect_sessions (tenant_id, user_id, created_at);
CREATE INDEX ON vault.connect_sessions (tenant_id, role_id);
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)
    op.execute("ALTER TABLE vault.connect_sessions ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE vault.connect_sessions FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY by_tenant ON vault.connect_sessions "
        "USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())"
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON vault.connect_sessions TO mcpist_broker")


def downgrade() -> None:
    op.execute("DROP TABLE vault.connect_sessions")
