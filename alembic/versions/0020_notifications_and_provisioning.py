"""Which alerts a tenant tells and to whom, and of which a person wants no mail: what has no row is as it always was.
Roles by groups and domains of identity providers.

A role that somebody has remembers its sources, so that none takes away what another gives.
"""

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

ROLE_MAPPINGS = """
ALTER TABLE core.role_assignments ADD COLUMN sources text[] NOT NULL DEFAULT '{hand}'
    CHECK (sources <@ '{hand,sign_in,scim}' AND cardinality(sources) BETWEEN 1 AND 3);
CREATE TABLE core.role_mappings (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    kind text NOT NULL CHECK (kind IN ('group', 'domain')),
    provider text NOT NULL CHECK (length(provider) <= 40),
    value text NOT NULL CHECK (length(value) BETWEEN 1 AND 320),
    role_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, kind, provider, value, role_id),
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE,
    CHECK ((kind = 'domain') = (provider = ''))
);
CREATE INDEX ON core.role_mappings (tenant_id, role_id);
ALTER TABLE auth.sign_ins ADD COLUMN groups text[] CHECK (cardinality(groups) <= 1000);
GRANT SELECT, INSERT, UPDATE, DELETE ON core.role_mappings TO mcpist_console;
GRANT SELECT ON core.role_mappings TO mcpist_broker;
GRANT INSERT (tenant_id, user_id, role_id, sources), UPDATE (sources), DELETE ON core.role_assignments TO mcpist_broker;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)
    run_script(op.get_bind(), ROLE_MAPPINGS)
    run_script(op.get_bind(), build_tenant_policy_script("core.role_mappings"))
    run_script(op.get_bind(), build_tenant_policy_script("vault.notification_settings"))
    run_script(op.get_bind(), build_tenant_policy_script("vault.notification_preferences"))


def downgrade() -> None:
    op.execute("REVOKE INSERT, UPDATE, DELETE ON core.role_assignments FROM mcpist_broker")
    op.execute(
        "REVOKE INSERT (tenant_id, user_id, role_id), UPDATE (sources) ON core.role_assignments FROM mcpist_broker"
    )
    op.execute("ALTER TABLE auth.sign_ins DROP COLUMN groups")
    op.execute("DROP TABLE core.role_mappings")
    op.execute("ALTER TABLE core.role_assignments DROP COLUMN sources")
    op.execute("DROP TABLE vault.notification_preferences")
    op.execute("DROP TABLE vault.notification_settings")
