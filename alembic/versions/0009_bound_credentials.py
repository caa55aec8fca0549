"""Credentials are bound to where they may be sent; accounts that are to end are found, so that their vendors are told.

`origins` are what stood when the account was connected or the key stored: scheme, host and port each. Rows from before
have none, and may be sent to the address that the module's own code names.
"""

from alembic import op

from core.migrations import run_script

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

COLUMNS = """
ALTER TABLE vault.credentials ADD COLUMN origins text[] NOT NULL DEFAULT '{}' CHECK (cardinality(origins) <= 20);
"""

# Both wait for somebody: `unconfirmed` for an answer that comes in ten minutes or never, `ending` for a process that
# was telling the vendor, which takes seconds.
FUNCTIONS = """
CREATE FUNCTION vault.ending_accounts(most integer) RETURNS TABLE (tenant_id uuid, account_id uuid, reason text)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH clock AS MATERIALIZED (SELECT vault.clock() AS now)
    SELECT a.tenant_id, a.id, a.reason FROM vault.accounts a, clock
    WHERE a.status = 'disabled' AND (
        a.reason = 'unconfirmed' AND a.created_at < clock.now - interval '11 minutes'
        OR a.reason = 'ending' AND a.updated_at < clock.now - interval '2 minutes')
    ORDER BY a.created_at LIMIT most
$$;
"""

INDEXES = """
CREATE INDEX accounts_to_end ON vault.accounts (created_at) WHERE status = 'disabled';
"""

RIGHTS = """
GRANT EXECUTE ON FUNCTION vault.ending_accounts(integer) TO mcpist_broker;
"""


def upgrade() -> None:
    for script in (COLUMNS, FUNCTIONS, INDEXES, RIGHTS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    op.execute("DROP FUNCTION vault.ending_accounts(integer)")
    op.execute("DROP INDEX vault.accounts_to_end")
    op.execute("ALTER TABLE vault.credentials DROP COLUMN origins")
