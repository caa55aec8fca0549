"""Add the days of a month on which each person called something: people of long ranges are counted from few rows."""

from alembic import op

from core.migrations import build_tenant_policy_script, run_script

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

# `days` has a bit for each day of the month (UTC).
TABLE = """
CREATE TABLE core.active_days (
    tenant_id uuid NOT NULL,
    month date NOT NULL,
    user_id uuid NOT NULL,
    days integer NOT NULL CHECK (days >= 0),
    PRIMARY KEY (tenant_id, month, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON core.active_days (tenant_id, user_id);
INSERT INTO core.active_days (tenant_id, month, user_id, days)
SELECT tenant_id, day - extract(day FROM day)::int + 1, user_id, bit_or(1 << (extract(day FROM day)::int - 1))
FROM core.active_people GROUP BY 1, 2, 3;
"""
GRANTS = "GRANT SELECT, INSERT, UPDATE, DELETE ON core.active_days TO mcpist_console;"
# The owner is under the policy too, and a migration has no tenant.
OPEN = "ALTER TABLE core.active_people NO FORCE ROW LEVEL SECURITY"
CLOSE = "ALTER TABLE core.active_people FORCE ROW LEVEL SECURITY"
DOWN = "DROP TABLE core.active_days;"


def upgrade() -> None:
    run_script(op.get_bind(), OPEN)
    run_script(op.get_bind(), TABLE)
    run_script(op.get_bind(), CLOSE)
    run_script(op.get_bind(), build_tenant_policy_script("core.active_days"))
    run_script(op.get_bind(), GRANTS)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
