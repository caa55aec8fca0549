"""With which peppers API tokens and client secrets were made: a lost file is noticed at the start."""

from alembic import op

from core.migrations import run_script

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

TABLE = """
CREATE TABLE auth.pepper_checks (
    kid text PRIMARY KEY CHECK (length(kid) BETWEEN 1 AND 200),
    mac bytea NOT NULL CHECK (octet_length(mac) = 32)
);
ALTER TABLE auth.pepper_checks ENABLE ROW LEVEL SECURITY;
ALTER TABLE auth.pepper_checks FORCE ROW LEVEL SECURITY;
CREATE POLICY broker_keeps ON auth.pepper_checks TO mcpist_broker USING (true) WITH CHECK (true);
REVOKE ALL ON auth.pepper_checks FROM PUBLIC;
GRANT SELECT, INSERT, DELETE ON auth.pepper_checks TO mcpist_broker;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLE)


def downgrade() -> None:
    op.execute("DROP TABLE auth.pepper_checks")
