"""Collections of searched documents, where the database has pgvector; elsewhere core.search_schema adds them later."""

from alembic import op

from core.migrations import run_script
from core.search_schema import CREATE_SEARCH_SCRIPT, DROP_SEARCH_SCRIPT, PGVECTOR_QUERY, is_pgvector_usable

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    bind = op.get_bind()
    if is_pgvector_usable(bind.exec_driver_sql(PGVECTOR_QUERY).scalar()):
        run_script(bind, CREATE_SEARCH_SCRIPT)


def downgrade() -> None:
    run_script(op.get_bind(), DROP_SEARCH_SCRIPT)
