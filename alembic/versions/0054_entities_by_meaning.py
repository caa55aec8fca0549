"""Searches of the knowledge graph by meaning: which entities their index has to catch up with.

`is_indexed` is set by a person's first such search; until then nothing is counted as waiting. `has_lost`: the index may
still have something of the entity that was deleted.
"""

from alembic import op

from core.migrations import run_script

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

TABLES = """
ALTER TABLE modules.kg_graphs ADD is_indexed boolean NOT NULL DEFAULT false;
CREATE TABLE modules.kg_unindexed (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    entity text COLLATE "C" NOT NULL CHECK (length(entity) BETWEEN 1 AND 200),
    change bigint GENERATED ALWAYS AS IDENTITY,
    has_lost boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, user_id, entity),
    FOREIGN KEY (tenant_id, user_id) REFERENCES modules.kg_graphs ON DELETE CASCADE
);
CREATE INDEX ON modules.kg_unindexed (tenant_id, user_id, has_lost DESC, change);
ALTER TABLE modules.kg_unindexed ENABLE ROW LEVEL SECURITY;
ALTER TABLE modules.kg_unindexed FORCE ROW LEVEL SECURITY;
CREATE POLICY by_user ON modules.kg_unindexed
    USING (tenant_id = core.current_tenant() AND user_id = core.current_user_id())
    WITH CHECK (tenant_id = core.current_tenant() AND user_id = core.current_user_id());
GRANT SELECT, INSERT, UPDATE, DELETE ON modules.kg_unindexed TO mcpist_gateway;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)


def downgrade() -> None:
    op.execute("DROP TABLE modules.kg_unindexed")
    op.execute("ALTER TABLE modules.kg_graphs DROP is_indexed")
