"""Tables of the console that are read over time: counts by the hour, versions of what administrators edit,
announcements of sealed events, and tokens of a browser session.
"""

from alembic import op

from core.migrations import build_tenant_policy_script, run_script

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

# `seq` is the last event of the tenant's chain that is counted. The module '*' is all of them together. `durations` are
# how many calls fell into each bucket: bucket n ends at the square root of 2 to the power of n, in milliseconds.
# `hours` has a bit for each hour of the day (UTC).
FIGURES = """
CREATE TABLE core.count_positions (
    tenant_id uuid PRIMARY KEY REFERENCES core.tenants ON DELETE CASCADE,
    seq bigint NOT NULL DEFAULT 0
);
CREATE TABLE core.hourly_calls (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    period timestamptz NOT NULL,
    module text NOT NULL CHECK (length(module) <= 63),
    calls bigint NOT NULL,
    errors bigint NOT NULL,
    denied bigint NOT NULL,
    durations bigint[] NOT NULL CHECK (cardinality(durations) <= 41),
    PRIMARY KEY (tenant_id, module, period)
);
CREATE TABLE core.daily_calls (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    period timestamptz NOT NULL,
    module text NOT NULL CHECK (length(module) <= 63),
    calls bigint NOT NULL,
    errors bigint NOT NULL,
    denied bigint NOT NULL,
    durations bigint[] NOT NULL CHECK (cardinality(durations) <= 41),
    PRIMARY KEY (tenant_id, module, period)
);
CREATE INDEX ON core.hourly_calls (tenant_id, period);
CREATE INDEX ON core.daily_calls (tenant_id, period);
CREATE FUNCTION core.add_counts(a bigint[], b bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT coalesce(array_agg(coalesce(x, 0) + coalesce(y, 0) ORDER BY n), '{}')
        FROM unnest(a, b) WITH ORDINALITY AS u (x, y, n));
CREATE TABLE core.active_people (
    tenant_id uuid NOT NULL,
    day date NOT NULL,
    user_id uuid NOT NULL,
    hours integer NOT NULL CHECK (hours BETWEEN 1 AND 16777215),
    PRIMARY KEY (tenant_id, day, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON core.active_people (tenant_id, user_id);
CREATE TABLE core.versions (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('user', 'role', 'service', 'tenant', 'client')),
    object_id text NOT NULL CHECK (length(object_id) BETWEEN 1 AND 2000),
    version bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL,
    PRIMARY KEY (tenant_id, kind, object_id)
);
"""
TABLES = (
    "core.count_positions",
    "core.hourly_calls",
    "core.daily_calls",
    "core.active_people",
    "core.versions",
)

# Which tenants have events that are not counted yet.
GRANTS = """
CREATE POLICY deployment_lists_positions ON core.count_positions FOR SELECT TO mcpist_console
    USING (current_setting('app.deployment', true) = 'list');
GRANT SELECT, INSERT, UPDATE, DELETE ON core.count_positions, core.hourly_calls, core.daily_calls,
    core.active_people, core.versions TO mcpist_console;
GRANT SELECT, INSERT, UPDATE, DELETE ON core.versions TO mcpist_broker;
GRANT EXECUTE ON FUNCTION core.add_counts(bigint[], bigint[]) TO mcpist_console;
"""

# An announcement is a hint, as that of a generation is: the head is read.
ANNOUNCEMENT = """
CREATE FUNCTION audit.announce_head() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('mcpist_sealed', NEW.tenant_id::text);
    RETURN NULL;
END $$;
CREATE TRIGGER announce_head AFTER UPDATE OF seq ON audit.heads FOR EACH ROW EXECUTE FUNCTION audit.announce_head();
"""

# A grant of a browser session counts for as long as the session does. There is no reference: a session that was swept
# is one that has ended.
SESSION_GRANTS = """
ALTER TABLE auth.grants ADD COLUMN session_id uuid;
CREATE UNIQUE INDEX grants_of_sessions ON auth.grants (tenant_id, session_id) WHERE session_id IS NOT NULL;
"""

DOWN = """
DELETE FROM auth.grants WHERE session_id IS NOT NULL;
ALTER TABLE auth.grants DROP COLUMN session_id;
DROP TRIGGER announce_head ON audit.heads;
DROP FUNCTION audit.announce_head;
DROP TABLE core.versions, core.active_people, core.daily_calls, core.hourly_calls, core.count_positions;
DROP FUNCTION core.add_counts;
"""


def upgrade() -> None:
    run_script(op.get_bind(), FIGURES)
    for table in TABLES:
        run_script(op.get_bind(), build_tenant_policy_script(table))
    for script in (GRANTS, ANNOUNCEMENT, SESSION_GRANTS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
