"""Right to read the schema's number, and a check of the key of argument digests: what starts ask of the database.

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


def upgrade() -> None:
    op.execute("GRANT SELECT ON public.alembic_version TO mcpist_gateway, mcpist_console, mcpist_broker")
    run_script(op.get_bind(), DIGEST_KEY)


def downgrade() -> None:
    op.execute("DROP TABLE audit.digest_key_check")
    op.execute("REVOKE SELECT ON public.alembic_version FROM mcpist_gateway, mcpist_console, mcpist_broker")
