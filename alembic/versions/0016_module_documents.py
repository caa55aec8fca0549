"""Documents of modules that have no tables of their own: one user's each, never shared.

`modules.document_counts` holds how many documents a user has in a module, and its row is the lock that every change of
their number takes: writers queue there, so the limit holds.
"""

from alembic import op

from core.migrations import run_script

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# COLLATE "C": paging compares keys, and that order must not change with the server's locale.
TABLES = """
CREATE TABLE modules.document_counts (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    module text COLLATE "C" NOT NULL CHECK (module ~ '^[a-z][a-z0-9_]{0,62}$'),
    documents integer NOT NULL DEFAULT 0 CHECK (documents BETWEEN 0 AND 1000),
    PRIMARY KEY (tenant_id, user_id, module),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE modules.documents (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    module text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
    value text NOT NULL CHECK (octet_length(value) <= 262144),
    version bigint NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, user_id, module, key),
    FOREIGN KEY (tenant_id, user_id, module) REFERENCES modules.document_counts ON DELETE CASCADE
);
"""
NAMES = ("modules.document_counts", "modules.documents")


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)
    for table in NAMES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY by_user ON {table} "
            "USING (tenant_id = core.current_tenant() AND user_id = core.current_user_id()) "
            "WITH CHECK (tenant_id = core.current_tenant() AND user_id = core.current_user_id())"
        )
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO mcpist_gateway")


def downgrade() -> None:
    for table in reversed(NAMES):
        op.execute(f"DROP TABLE {table}")
