"""Documents that are deleted after the source that they came from, and a faster search by words.

The script that creates the schema has both, so this changes only what an earlier version has created.
"""

from alembic import op

from core.migrations import run_script
from core.search_schema import REPLACE_FIND_SCRIPT, functions, policies

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

_IS_MISSING = """SELECT to_regclass('search.documents') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_attribute
    WHERE attrelid = to_regclass('search.documents') AND attname = 'parent')"""
_ADD = """
ALTER TABLE search.collections ADD COLUMN deleted_version bigint NOT NULL DEFAULT 0;
GRANT UPDATE (deleted_version) ON search.collections TO mcpist_gateway;
ALTER TABLE search.documents ADD COLUMN parent text COLLATE "C" CHECK (length(parent) BETWEEN 1 AND 200);
CREATE INDEX documents_parent ON search.documents (tenant_id, parent) WHERE parent IS NOT NULL;
ALTER TABLE search.documents ALTER COLUMN parent SET STATISTICS 0;
CREATE POLICY owner_changes ON search.documents TO mcpist_owner USING (true);
UPDATE search.documents SET parent = 'source:' || (metadata ->> 'source')
    WHERE metadata ? 'source' AND metadata ? 'source_version';
DROP POLICY owner_changes ON search.documents;
"""


def upgrade() -> None:
    bind = op.get_bind()
    if bind.exec_driver_sql(_IS_MISSING).scalar():
        orphans = functions.LIST_ORPHANS + functions.REMOVE_ORPHANS + functions.ORPHAN_RIGHTS
        run_script(bind, _ADD + policies.ORPHAN_POLICIES + orphans)
        run_script(bind, REPLACE_FIND_SCRIPT)


def downgrade() -> None:
    pass
