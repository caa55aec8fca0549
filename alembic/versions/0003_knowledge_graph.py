"""The knowledge graph: one per user, never shared.

`kg_graphs` holds a user's totals, and its row is the lock that every write of that user takes first: writers of one
graph queue, so none is lost and none can deadlock. The other tables hang on it, not on `core.users`, so that a write
never waits for an administrator's change to the user.
"""

from alembic import op

from core.migrations import run_script

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# COLLATE "C": paging compares names, and that order must not change with the server's locale.
TABLES = """
CREATE TABLE modules.kg_graphs (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    entities integer NOT NULL DEFAULT 0,
    observations integer NOT NULL DEFAULT 0,
    relations integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE modules.kg_entities (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    type text NOT NULL CHECK (length(type) BETWEEN 1 AND 200),
    folded text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, user_id, name),
    FOREIGN KEY (tenant_id, user_id) REFERENCES modules.kg_graphs ON DELETE CASCADE
);
CREATE TABLE modules.kg_observations (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    entity text COLLATE "C" NOT NULL,
    nth bigint GENERATED ALWAYS AS IDENTITY,
    observation text NOT NULL CHECK (length(observation) BETWEEN 1 AND 2000),
    fingerprint bytea NOT NULL CHECK (length(fingerprint) = 16),
    folded text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, user_id, entity, nth),
    UNIQUE (tenant_id, user_id, entity, fingerprint),
    FOREIGN KEY (tenant_id, user_id, entity) REFERENCES modules.kg_entities ON DELETE CASCADE
);
CREATE TABLE modules.kg_relations (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    from_entity text COLLATE "C" NOT NULL,
    to_entity text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL CHECK (length(type) BETWEEN 1 AND 200),
    PRIMARY KEY (tenant_id, user_id, from_entity, to_entity, type),
    FOREIGN KEY (tenant_id, user_id, from_entity) REFERENCES modules.kg_entities ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id, to_entity) REFERENCES modules.kg_entities ON DELETE CASCADE
);
CREATE INDEX ON modules.kg_relations (tenant_id, user_id, to_entity);
"""

KG_TABLES = ("modules.kg_graphs", "modules.kg_entities", "modules.kg_observations", "modules.kg_relations")


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)
    for table in KG_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY by_user ON {table} "
            "USING (tenant_id = core.current_tenant() AND user_id = core.current_user_id()) "
            "WITH CHECK (tenant_id = core.current_tenant() AND user_id = core.current_user_id())"
        )
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO mcpist_gateway")


def downgrade() -> None:
    for table in reversed(KG_TABLES):
        op.execute(f"DROP TABLE {table}")
