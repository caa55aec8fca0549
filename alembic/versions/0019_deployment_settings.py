"""Settings of the deployment that its operator changes while it runs: identity providers, senders of notifications.

`settings` holds what may be read; the secret is wrapped by a key-encryption key, as signing keys are.
"""

from alembic import op

from core.migrations import run_script

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE auth.deployment_settings (
    kind text NOT NULL CHECK (kind IN ('identity_provider', 'notification_sender')),
    name text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
    version bigint NOT NULL CHECK (version > 0),
    settings jsonb NOT NULL CHECK (octet_length(settings::text) <= 16384),
    kek_id text REFERENCES vault.key_checks,
    wrapped bytea CHECK (octet_length(wrapped) > 0),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (kind, name),
    CHECK ((kek_id IS NULL) = (wrapped IS NULL))
);
ALTER TABLE auth.deployment_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE auth.deployment_settings FORCE ROW LEVEL SECURITY;
CREATE POLICY broker_keeps ON auth.deployment_settings TO mcpist_broker USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON auth.deployment_settings TO mcpist_broker;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)


def downgrade() -> None:
    op.execute("DROP TABLE auth.deployment_settings")
