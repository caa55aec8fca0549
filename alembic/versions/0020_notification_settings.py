"""Which alerts a tenant tells and to whom, and of which a person wants no mail. What has no row is as it always was."""

from alembic import op

from core.migrations import build_tenant_policy_script, run_script

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE vault.notification_settings (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    alert text NOT NULL CHECK (alert IN ('account', 'account_end', 'credential', 'oauth_client')),
    mail boolean NOT NULL,
    webhook boolean NOT NULL,
    administrators boolean NOT NULL,
    addresses text[] NOT NULL CHECK (cardinality(addresses) <= 20),
    PRIMARY KEY (tenant_id, alert)
);
CREATE TABLE vault.notification_preferences (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    alert text NOT NULL CHECK (alert IN ('account', 'account_end', 'credential', 'oauth_client')),
    mail boolean NOT NULL,
    PRIMARY KEY (tenant_id, user_id, alert),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
GRANT SELECT, INSERT, UPDATE, DELETE ON vault.notification_settings, vault.notification_preferences TO mcpist_broker;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)
    run_script(op.get_bind(), build_tenant_policy_script("vault.notification_settings"))
    run_script(op.get_bind(), build_tenant_policy_script("vault.notification_preferences"))


def downgrade() -> None:
    op.execute("DROP TABLE vault.notification_preferences")
    op.execute("DROP TABLE vault.notification_settings")
