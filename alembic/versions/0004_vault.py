"""The vault: data keys, key checks and credentials, for the broker alone; the deployment's own id.

A secret is stored in the format of broker/vault/envelope.py and in no other; the CHECK refuses what cannot be one.
"""

from alembic import op

from core.migrations import run_script

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# The one row of core.deployment is made before row-level security is forced, which binds its owner too. The id is
# part of what every ciphertext is bound to.
TABLES = """
CREATE TABLE core.deployment (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    id uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO core.deployment DEFAULT VALUES;
CREATE TABLE vault.key_checks (
    kek_id text PRIMARY KEY CHECK (length(kek_id) BETWEEN 1 AND 200),
    mac bytea NOT NULL CHECK (octet_length(mac) = 32)
);
CREATE TABLE vault.deks (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL,
    kek_id text NOT NULL REFERENCES vault.key_checks,
    wrapped bytea NOT NULL CHECK (octet_length(wrapped) > 0),
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'retired')),
    uses bigint NOT NULL DEFAULT 0 CHECK (uses >= 0),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX one_active_dek ON vault.deks (tenant_id) WHERE state = 'active';
CREATE TABLE vault.credentials (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    module text NOT NULL CHECK (module ~ '^[a-z][a-z0-9_]{0,62}$'),
    user_id uuid,
    role_id uuid,
    type text NOT NULL DEFAULT 'A' CHECK (type = 'A'),
    version bigint NOT NULL CHECK (version > 0),
    secret bytea NOT NULL CHECK (octet_length(secret) > 45 AND substring(secret FROM 1 FOR 1) = '\\x01'::bytea),
    state text NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'broken')),
    cause text NOT NULL DEFAULT '' CHECK (length(cause) <= 40),
    account text NOT NULL DEFAULT '' CHECK (length(account) <= 200),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, module, user_id),
    UNIQUE (tenant_id, module, role_id),
    CHECK (num_nonnulls(user_id, role_id) = 1),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON vault.credentials (tenant_id, user_id);
CREATE INDEX ON vault.credentials (tenant_id, role_id);
"""

TENANT_TABLES = ("vault.deks", "vault.credentials")
DEPLOYMENT_TABLES = ("core.deployment", "vault.key_checks")

DEPLOYMENT_POLICIES = """
CREATE POLICY broker_reads_the_deployment ON core.deployment FOR SELECT TO mcpist_broker USING (true);
CREATE POLICY broker_reads_key_checks ON vault.key_checks FOR SELECT TO mcpist_broker USING (true);
CREATE POLICY broker_adds_key_checks ON vault.key_checks FOR INSERT TO mcpist_broker WITH CHECK (true);
"""

# Not for last_used_at, nor for a secret that is sealed anew under another key: nothing cached is wrong after those.
GENERATION = """
CREATE TRIGGER raise_generation
    AFTER INSERT OR DELETE OR UPDATE OF version, state, cause, account ON vault.credentials
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""

GRANTS = """
GRANT SELECT ON core.deployment TO mcpist_broker;
GRANT SELECT, INSERT ON vault.key_checks TO mcpist_broker;
GRANT SELECT, INSERT, UPDATE ON vault.deks TO mcpist_broker;
GRANT SELECT, INSERT, UPDATE, DELETE ON vault.credentials TO mcpist_broker;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)
    for table in (*TENANT_TABLES, *DEPLOYMENT_TABLES):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    for table in TENANT_TABLES:
        op.execute(
            f"CREATE POLICY by_tenant ON {table} "
            "USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())"
        )
    for script in (DEPLOYMENT_POLICIES, GENERATION, GRANTS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    for table in ("vault.credentials", "vault.deks", "vault.key_checks", "core.deployment"):
        op.execute(f"DROP TABLE {table}")
