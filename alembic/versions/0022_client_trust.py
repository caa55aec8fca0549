"""The deployment's trust in clients is one more setting that its operator changes while it runs."""

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


def downgrade() -> None:
    op.execute("DELETE FROM auth.deployment_settings WHERE kind = 'client_trust'")
    op.execute("ALTER TABLE auth.deployment_settings DROP CONSTRAINT deployment_settings_kind_check")
    op.execute(
        """ALTER TABLE auth.deployment_settings ADD CONSTRAINT deployment_settings_kind_check
        CHECK (kind IN ('identity_provider', 'notification_sender'))"""
    )
