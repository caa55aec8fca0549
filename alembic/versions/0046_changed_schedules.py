"""Schedules can be changed by their person, and jobs are listed by their state by an index.

Making a month's partition of the audit log no longer waits for workers that give jobs back: both had one lock.
"""

from alembic import op

from core.migrations import run_script

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

# The call is not among the columns: its person has agreed to it. The mandate has the title under which they find it.
CHANGES = """
GRANT UPDATE (title, cron, every, at, time_zone, overlap, notify) ON jobs.schedules TO mcpist_console;
CREATE FUNCTION jobs.rename_mandate(of_user uuid, schedule uuid, new_title text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE auth.mandates m SET title = new_title
    WHERE m.tenant_id = core.current_tenant() AND m.user_id = of_user AND m.purpose = 'schedule'
        AND m.purpose_id = schedule AND m.ended_at IS NULL;
    RETURN FOUND;
END $$;
GRANT EXECUTE ON FUNCTION jobs.rename_mandate(uuid, uuid, text) TO mcpist_console;
CREATE INDEX by_state ON jobs.jobs (tenant_id, state, number);
"""

PREPARE_MONTH = """
CREATE OR REPLACE FUNCTION audit.prepare_month(moment timestamptz) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s'
    SET timezone = 'UTC' AS $$
DECLARE
    month timestamptz := date_trunc('month', moment);
    name text := to_char(month, '"events_"YYYY_MM');
BEGIN
    PERFORM pg_advisory_xact_lock({lock});
    IF to_regclass('audit.' || quote_ident(name)) IS NOT NULL THEN RETURN false; END IF;
    EXECUTE format('CREATE TABLE audit.%I (LIKE audit.events INCLUDING ALL)', name);
    EXECUTE format('ALTER TABLE audit.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE audit.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY by_tenant ON audit.%I '
        'USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())', name);
    EXECUTE format('ALTER TABLE audit.events ATTACH PARTITION audit.%I FOR VALUES FROM (%L) TO (%L)',
        name, month, month + interval '1 month');
    RETURN true;
END $$;
"""
LOCK, LOCK_OF_JOBS = "1835233382", "1835233381"

# A volatile clock in a condition is no condition of an index: every job that is kept was read, each five minutes.
PRUNE = """
CREATE OR REPLACE FUNCTION jobs.prune(most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moment timestamptz := jobs.clock();
    pruned integer;
BEGIN
    DELETE FROM jobs.jobs j WHERE (j.tenant_id, j.id) IN (
        SELECT c.tenant_id, c.id FROM jobs.jobs c
        WHERE c.state NOT IN ('queued', 'running') AND c.expires_at < moment
        ORDER BY c.expires_at LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS pruned = ROW_COUNT;
    DELETE FROM jobs.workers w WHERE w.seen_at < moment - interval '1 day'
        AND NOT EXISTS (SELECT FROM jobs.jobs j WHERE j.lease_owner = w.id AND j.state = 'running');
    RETURN pruned;
END $$;
"""

DOWN = """
DROP INDEX jobs.by_state;
DROP FUNCTION jobs.rename_mandate(uuid, uuid, text);
REVOKE UPDATE (title, cron, every, at, time_zone, overlap, notify) ON jobs.schedules FROM mcpist_console;
"""


def upgrade() -> None:
    for script in (CHANGES, PRUNE):
        run_script(op.get_bind(), script)
    run_script(op.get_bind(), PREPARE_MONTH.replace("{lock}", LOCK))


def downgrade() -> None:
    """Pruning stays as it is: it does the same."""
    run_script(op.get_bind(), PREPARE_MONTH.replace("{lock}", LOCK_OF_JOBS))
    run_script(op.get_bind(), DOWN)
