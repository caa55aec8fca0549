"""${message}."""

from alembic import op
from core.migrations import run_script

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}

UP = """
"""

DOWN = """
"""


def upgrade() -> None:
    run_script(op.get_bind(), UP)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
