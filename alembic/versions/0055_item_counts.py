"""Counts of items, kept by the statements that write them: how many have a tag, and how many are of a type.

Writers of a workspace queue at its row, so a count needs no lock of its own. A tag that no item has any more leaves its
row with it. `is_indexed`: what is written in the workspace is indexed for searches by meaning, from the first such
search on; until then a write asks nothing about it. When an item starts and ends is kept as it was written, with or
without a time.
"""

from typing import LiteralString

from alembic import op

from core.migrations import build_tenant_policy_script, run_script
from core.shared_rows import ROLES_OF_USER, build_writable

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None

# No index by counts: a change of one then moves no entry of an index, and a workspace has few tags.
TABLES = """
CREATE TABLE modules.item_tag_counts (
    tenant_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    tag text COLLATE "C" NOT NULL CHECK (length(tag) BETWEEN 1 AND 100),
    items integer NOT NULL CHECK (items > 0),
    PRIMARY KEY (tenant_id, workspace_id, tag),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES modules.item_workspaces ON DELETE CASCADE
) WITH (fillfactor = 70);
ALTER TABLE modules.item_tag_counts ALTER COLUMN tag SET STATISTICS 0;
ALTER TABLE modules.item_numbers ADD items integer NOT NULL DEFAULT 0 CHECK (items >= 0);
ALTER TABLE modules.item_workspaces ADD is_indexed boolean NOT NULL DEFAULT false;
ALTER TABLE modules.items DROP CONSTRAINT items_check,
    ALTER start_date TYPE text USING to_char(start_date, 'YYYY-MM-DD'),
    ALTER end_date TYPE text USING to_char(end_date, 'YYYY-MM-DD'),
    ADD CHECK (length(start_date) <= 40), ADD CHECK (length(end_date) <= 40);
"""

# As the owner, who else sees no tenant's rows.
DATA = """
ALTER TABLE modules.items NO FORCE ROW LEVEL SECURITY;
ALTER TABLE modules.item_tags NO FORCE ROW LEVEL SECURITY;
ALTER TABLE modules.item_numbers NO FORCE ROW LEVEL SECURITY;
ALTER TABLE modules.item_workspaces NO FORCE ROW LEVEL SECURITY;
INSERT INTO modules.item_tag_counts (tenant_id, workspace_id, tag, items)
    SELECT tenant_id, workspace_id, tag, count(*) FROM modules.item_tags GROUP BY 1, 2, 3;
UPDATE modules.item_numbers n SET items = c.items FROM (
    SELECT tenant_id, workspace_id, type, count(*) AS items FROM modules.items GROUP BY 1, 2, 3) c
    WHERE n.tenant_id = c.tenant_id AND n.workspace_id = c.workspace_id AND n.type = c.type;
UPDATE modules.item_workspaces w SET is_indexed = true WHERE EXISTS (SELECT FROM modules.items i
    WHERE i.tenant_id = w.tenant_id AND i.workspace_id = w.id AND i.indexed_revision > 0);
ALTER TABLE modules.items FORCE ROW LEVEL SECURITY;
ALTER TABLE modules.item_tags FORCE ROW LEVEL SECURITY;
ALTER TABLE modules.item_numbers FORCE ROW LEVEL SECURITY;
ALTER TABLE modules.item_workspaces FORCE ROW LEVEL SECURITY;
"""

# As those of the other tables of a workspace (0051).
_READABLE: LiteralString = f"""workspace_id = ANY (ARRAY(
    SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.user_id = core.current_user_id()
    UNION ALL SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.role_id IN ({ROLES_OF_USER})
    UNION ALL SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.owner = 'tenant'))"""  # noqa: S608 names of ours
_WRITABLE: LiteralString = f"""workspace_id = ANY (ARRAY(
    SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.user_id = core.current_user_id()
    UNION ALL SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.role_id IN ({ROLES_OF_USER}) AND {build_writable("w")}
    UNION ALL SELECT w.id FROM modules.item_workspaces w
        WHERE w.tenant_id = core.current_tenant() AND w.owner = 'tenant' AND {build_writable("w")}))"""  # noqa: S608 the same
POLICIES: LiteralString = f"""
CREATE POLICY readers ON modules.item_tag_counts AS RESTRICTIVE FOR SELECT TO mcpist_gateway USING ({_READABLE});
CREATE POLICY creators ON modules.item_tag_counts AS RESTRICTIVE FOR INSERT TO mcpist_gateway WITH CHECK ({_WRITABLE});
CREATE POLICY changers ON modules.item_tag_counts AS RESTRICTIVE FOR UPDATE TO mcpist_gateway USING ({_WRITABLE});
CREATE POLICY removers ON modules.item_tag_counts AS RESTRICTIVE FOR DELETE TO mcpist_gateway USING ({_WRITABLE});
GRANT SELECT, INSERT, UPDATE, DELETE ON modules.item_tag_counts TO mcpist_gateway;
GRANT INSERT (is_indexed), UPDATE (is_indexed) ON modules.item_workspaces TO mcpist_gateway;
"""


def upgrade() -> None:
    bind = op.get_bind()
    run_script(bind, TABLES)
    run_script(bind, DATA)
    run_script(bind, build_tenant_policy_script("modules.item_tag_counts"))
    run_script(bind, POLICIES)


def downgrade() -> None:
    op.execute("DROP TABLE modules.item_tag_counts")
    op.execute(
        "ALTER TABLE modules.items DROP CONSTRAINT items_start_date_check, DROP CONSTRAINT items_end_date_check, "
        "ALTER start_date TYPE date USING left(start_date, 10)::date, "
        "ALTER end_date TYPE date USING left(end_date, 10)::date"
    )
    op.execute("ALTER TABLE modules.items ADD CONSTRAINT items_check CHECK (end_date >= start_date) NOT VALID")
    op.execute("ALTER TABLE modules.item_numbers DROP items")
    op.execute("ALTER TABLE modules.item_workspaces DROP is_indexed")
