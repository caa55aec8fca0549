"""Which alerts a tenant tells and to whom, and of which a person wants no mail: what has no row is as it always was.
Roles by groups and domains of identity providers; people and groups that those provision (SCIM), and the tokens by
which they do. Of a token only a hash is stored.

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

SCIM = """
CREATE TABLE core.scim_users (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    folded_name text NOT NULL CHECK (length(folded_name) BETWEEN 1 AND 400),
    user_name text NOT NULL CHECK (length(user_name) BETWEEN 1 AND 320),
    external_id text NOT NULL CHECK (length(external_id) <= 200),
    given_name text NOT NULL CHECK (length(given_name) <= 200),
    family_name text NOT NULL CHECK (length(family_name) <= 200),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, user_id),
    UNIQUE (tenant_id, folded_name),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON core.scim_users (tenant_id, external_id);
CREATE TABLE core.scim_groups (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    display_name text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 200),
    external_id text NOT NULL CHECK (length(external_id) <= 400),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, display_name)
);
CREATE TABLE core.scim_members (
    tenant_id uuid NOT NULL,
    group_id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, group_id, user_id),
    FOREIGN KEY (tenant_id, group_id) REFERENCES core.scim_groups (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON core.scim_members (tenant_id, user_id);
CREATE TABLE auth.scim_tokens (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    secret_hash bytea NOT NULL UNIQUE CHECK (octet_length(secret_hash) = 32),
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON core.scim_users, core.scim_groups, core.scim_members TO mcpist_console;
GRANT SELECT, INSERT, UPDATE, DELETE ON auth.scim_tokens TO mcpist_broker;
"""
# Before a tenant is known: SELECT only, by the hash of a token.
SCIM_LOOKUP = """
CREATE POLICY lookup_by_scim_token ON auth.scim_tokens FOR SELECT TO mcpist_broker
    USING (secret_hash = decode(nullif(current_setting('app.lookup_scim_token', true), ''), 'hex'));
"""


def upgrade() -> None:
    run_script(op.get_bind(), SCIM)
    run_script(op.get_bind(), build_tenant_policy_script("core.scim_users"))
    run_script(op.get_bind(), build_tenant_policy_script("core.scim_groups"))
    run_script(op.get_bind(), build_tenant_policy_script("core.scim_members"))
    run_script(op.get_bind(), build_tenant_policy_script("auth.scim_tokens"))
    run_script(op.get_bind(), SCIM_LOOKUP)
    run_script(op.get_bind(), TABLES)
    run_script(op.get_bind(), ROLE_MAPPINGS)
    run_script(op.get_bind(), build_tenant_policy_script("core.role_mappings"))
    run_script(op.get_bind(), build_tenant_policy_script("vault.notification_settings"))
    run_script(op.get_bind(), build_tenant_policy_script("vault.notification_preferences"))


def downgrade() -> None:
    for table in ("auth.scim_tokens", "core.scim_members", "core.scim_groups", "core.scim_users"):
        op.execute(f"DROP TABLE {table}")
    op.execute("REVOKE INSERT, UPDATE, DELETE ON core.role_assignments FROM mcpist_broker")
    op.execute(
        "REVOKE INSERT (tenant_id, user_id, role_id), UPDATE (sources) ON core.role_assignments FROM mcpist_broker"
    )
    op.execute("ALTER TABLE auth.sign_ins DROP COLUMN groups")
    op.execute("DROP TABLE core.role_mappings")
    op.execute("ALTER TABLE core.role_assignments DROP COLUMN sources")
    op.execute("DROP TABLE vault.notification_preferences")
    op.execute("DROP TABLE vault.notification_settings")
