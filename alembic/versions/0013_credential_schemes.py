"""How each pasted key is sent is stored with it, as its provider's data said when the key was checked.

Rows from before were sent as Bearer, which the empty scheme means; so is every token of OAuth.
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE vault.credentials ADD COLUMN scheme jsonb NOT NULL DEFAULT '{}' "
        "CHECK (jsonb_typeof(scheme) = 'object' AND octet_length(scheme::text) <= 1000)"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE vault.credentials DROP COLUMN scheme")
