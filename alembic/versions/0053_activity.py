"""Activity of a person, stored from their connected sources: one's own rows, never shared.

`activity_syncs` says for each stream of a source of which time all rows are there, and by which account they were read:
those of another account are nobody's. Its row is the lock that every sync of the stream takes.
"""

from alembic import op

from core.migrations import run_script

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE modules.activity_syncs (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    stream text COLLATE "C" NOT NULL CHECK (stream ~ '^[a-z][a-z_]{0,39}$'),
    account uuid NOT NULL,
    covered_from timestamptz NOT NULL,
    covered_until timestamptz NOT NULL CHECK (covered_until >= covered_from),
    synced_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, stream),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE modules.activity_entries (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    stream text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 1200),
    starts_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL CHECK (ends_at >= starts_at),
    value text NOT NULL CHECK (octet_length(value) <= 32768),
    PRIMARY KEY (tenant_id, user_id, stream, key),
    FOREIGN KEY (tenant_id, user_id, stream) REFERENCES modules.activity_syncs ON DELETE CASCADE
);
CREATE INDEX activity_entries_by_start ON modules.activity_entries (tenant_id, user_id, stream, starts_at);
"""
NAMES = ("modules.activity_syncs", "modules.activity_entries")


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
