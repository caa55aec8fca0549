"""Tables of the console: profiles, two settings of a tenant, access requests."""

from alembic import op

from core.migrations import build_tenant_policy_script, run_script

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# NULL: as the browser says.
COLUMNS = """
ALTER TABLE core.users
    ADD COLUMN language text CHECK (language IN ('en', 'ja')),
    ADD COLUMN time_zone text CHECK (length(time_zone) BETWEEN 1 AND 64),
    ADD COLUMN single_key_shortcuts boolean NOT NULL DEFAULT true;
ALTER TABLE core.tenants
    ADD COLUMN shows_hidden_tools boolean NOT NULL DEFAULT true,
    ADD COLUMN accepts_access_requests boolean NOT NULL DEFAULT true;
"""

# An empty tool is the whole module.
TABLE = """
CREATE TABLE core.access_requests (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    module text NOT NULL CHECK (module ~ '^[a-z][a-z0-9_]{0,62}$'),
    tool text NOT NULL DEFAULT '' CHECK (tool ~ '^([a-z][a-z0-9_]{0,62})?$'),
    message text NOT NULL DEFAULT '' CHECK (length(message) <= 500),
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'approved', 'declined', 'withdrawn')),
    created_at timestamptz NOT NULL DEFAULT now(),
    decided_at timestamptz CHECK ((decided_at IS NULL) = (state = 'open')),
    decided_by text NOT NULL DEFAULT '',
    role text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '' CHECK (length(reason) <= 500),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX access_requests_open ON core.access_requests (tenant_id, user_id, module, tool)
    WHERE state = 'open';
CREATE INDEX access_requests_newest ON core.access_requests (tenant_id, created_at, id);
GRANT SELECT, INSERT, UPDATE, DELETE ON core.access_requests TO mcpist_console;
"""

DOWN = """
DROP TABLE core.access_requests;
ALTER TABLE core.tenants DROP COLUMN shows_hidden_tools, DROP COLUMN accepts_access_requests;
ALTER TABLE core.users DROP COLUMN language, DROP COLUMN time_zone, DROP COLUMN single_key_shortcuts;
"""


def upgrade() -> None:
    run_script(op.get_bind(), COLUMNS)
    run_script(op.get_bind(), TABLE)
    run_script(op.get_bind(), build_tenant_policy_script("core.access_requests"))


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
