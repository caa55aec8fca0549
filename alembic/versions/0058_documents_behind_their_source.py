"""Documents of the knowledge graph and of items leave the index with the next maintenance, too, where a process ended
between a change and its index.

The script that creates the schema `search` has the function, so this changes only what an earlier version has created.
"""

from alembic import op

from core.migrations import run_script
from core.search_schema.functions import LIST_ORPHANS, ORPHAN_RIGHTS

revision = "0058"
down_revision = "0056"
branch_labels = None
depends_on = None

_HAS_SEARCH = "SELECT to_regclass('search.documents') IS NOT NULL"
_POLICIES = """
CREATE POLICY owner_finds_outdated ON modules.kg_unindexed FOR SELECT TO mcpist_owner USING (true);
CREATE POLICY owner_finds_indexed ON modules.items FOR SELECT TO mcpist_owner USING (true);
"""
_DROP_POLICIES = """
DROP POLICY owner_finds_outdated ON modules.kg_unindexed;
DROP POLICY owner_finds_indexed ON modules.items;
"""


def upgrade() -> None:
    bind = op.get_bind()
    run_script(bind, _POLICIES)
    if bind.exec_driver_sql(_HAS_SEARCH).scalar():
        run_script(bind, "DROP FUNCTION search.list_orphans();" + LIST_ORPHANS + ORPHAN_RIGHTS)


def downgrade() -> None:
    run_script(op.get_bind(), _DROP_POLICIES)
