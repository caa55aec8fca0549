"""Add to a user whether the console offers the guided start."""

from alembic import op

from core.migrations import run_script

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

# Whoever is there already has begun.
UP = "ALTER TABLE core.users ADD COLUMN guided_start boolean NOT NULL DEFAULT false"
DOWN = "ALTER TABLE core.users DROP COLUMN guided_start"


def upgrade() -> None:
    run_script(op.get_bind(), UP)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
