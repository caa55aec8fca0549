"""The trust in clients is one more setting of the deployment; the alerts of a tenant have a version."""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE auth.deployment_settings DROP CONSTRAINT deployment_settings_kind_check")
    op.execute(
        """ALTER TABLE auth.deployment_settings ADD CONSTRAINT deployment_settings_kind_check
        CHECK (kind IN ('identity_provider', 'notification_sender', 'client_trust'))"""
    )
    op.execute("ALTER TABLE core.versions DROP CONSTRAINT versions_kind_check")
    op.execute(
        """ALTER TABLE core.versions ADD CONSTRAINT versions_kind_check
        CHECK (kind IN ('user', 'role', 'service', 'tenant', 'client', 'alerts'))"""
    )


def downgrade() -> None:
    op.execute("DELETE FROM auth.deployment_settings WHERE kind = 'client_trust'")
    op.execute("ALTER TABLE auth.deployment_settings DROP CONSTRAINT deployment_settings_kind_check")
    op.execute(
        """ALTER TABLE auth.deployment_settings ADD CONSTRAINT deployment_settings_kind_check
        CHECK (kind IN ('identity_provider', 'notification_sender'))"""
    )
    op.execute("DELETE FROM core.versions WHERE kind = 'alerts'")
    op.execute("ALTER TABLE core.versions DROP CONSTRAINT versions_kind_check")
    op.execute(
        """ALTER TABLE core.versions ADD CONSTRAINT versions_kind_check
        CHECK (kind IN ('user', 'role', 'service', 'tenant', 'client'))"""
    )
