"""Schedules know whether their person has agreed, follow the end of their mandate, and are forgotten after their end.

The control plane reads, pauses and deletes them, without their arguments.
"""

from alembic import op

from core.migrations import run_script

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

# `at` is the time of a single run; `next_run_at` is gone once that has begun.
COLUMNS = """
ALTER TABLE jobs.schedules ADD at timestamptz, ADD consented_at timestamptz, ADD mandate_expires_at timestamptz;
UPDATE jobs.schedules SET at = next_run_at WHERE cron = '' AND every IS NULL;
UPDATE jobs.schedules s SET consented_at = m.consented_at, mandate_expires_at = m.expires_at
    FROM auth.mandates m WHERE m.tenant_id = s.tenant_id AND m.id = s.mandate_id;
CREATE INDEX ON jobs.schedules (tenant_id, created_at, id);
CREATE INDEX ended ON jobs.schedules (updated_at) WHERE state = 'ended';
GRANT INSERT (at) ON jobs.schedules TO mcpist_gateway;
GRANT SELECT (tenant_id, id, user_id, title, kind, module, tool, mandate_id, cron, every, at, time_zone, overlap, state,
    end_reason, next_run_at, last_run_at, last_job_id, skipped, consented_at, mandate_expires_at, created_at,
    updated_at), UPDATE (state, next_run_at, updated_at) ON jobs.schedules TO mcpist_console;
CREATE POLICY console_lists ON jobs.schedules FOR SELECT TO mcpist_console USING (tenant_id = core.current_tenant());
CREATE POLICY console_changes ON jobs.schedules FOR UPDATE TO mcpist_console
    USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant());
"""

# Of those that have ended a person keeps the newest hundred. The lock on the mandate orders its consent or end before
# this row, which then shows it, or after, when the trigger below finds the row.
LIMIT = """
CREATE OR REPLACE FUNCTION jobs.check_schedule_limit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mandate auth.mandates;
BEGIN
    PERFORM FROM core.users u WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id FOR NO KEY UPDATE;
    IF (SELECT count(*) FROM jobs.schedules s
        WHERE s.tenant_id = NEW.tenant_id AND s.user_id = NEW.user_id AND s.state <> 'ended') >= 100
    THEN RAISE EXCEPTION 'too many schedules' USING ERRCODE = 'program_limit_exceeded'; END IF;
    DELETE FROM jobs.schedules s WHERE s.tenant_id = NEW.tenant_id AND s.id IN (
        SELECT e.id FROM jobs.schedules e
        WHERE e.tenant_id = NEW.tenant_id AND e.user_id = NEW.user_id AND e.state = 'ended'
        ORDER BY e.updated_at DESC, e.id OFFSET 100);
    SELECT m.* INTO mandate FROM auth.mandates m
        WHERE m.tenant_id = NEW.tenant_id AND m.id = NEW.mandate_id FOR SHARE;
    NEW.consented_at := mandate.consented_at;
    NEW.mandate_expires_at := mandate.expires_at;
    IF mandate.ended_at IS NOT NULL THEN
        NEW.state := 'ended';
        NEW.end_reason := mandate.end_reason;
        NEW.next_run_at := NULL;
    END IF;
    RETURN NEW;
END $$;
"""

FOLLOW = """
CREATE FUNCTION jobs.follow_mandate() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.ended_at IS NULL THEN
        UPDATE jobs.schedules s SET consented_at = NEW.consented_at, updated_at = jobs.clock()
        WHERE s.tenant_id = NEW.tenant_id AND s.id = NEW.purpose_id AND s.mandate_id = NEW.id;
    ELSE
        UPDATE jobs.schedules s SET state = 'ended', next_run_at = NULL, updated_at = jobs.clock(),
            end_reason = CASE WHEN NEW.end_reason = 'expired' AND NEW.consented_at IS NULL THEN 'no_consent'
                ELSE NEW.end_reason END
        WHERE s.tenant_id = NEW.tenant_id AND s.id = NEW.purpose_id AND s.mandate_id = NEW.id AND s.state <> 'ended';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER follow_mandate AFTER UPDATE OF consented_at, ended_at ON auth.mandates
    FOR EACH ROW WHEN (NEW.purpose = 'schedule') EXECUTE FUNCTION jobs.follow_mandate();
"""

# Whoever wants a run earlier than the workers know wakes them.
ANNOUNCE = """
DROP TRIGGER announce_resumed ON jobs.schedules;
CREATE TRIGGER announce_earlier AFTER UPDATE OF next_run_at ON jobs.schedules
    FOR EACH ROW WHEN (NEW.state = 'active' AND (OLD.next_run_at IS NULL OR NEW.next_run_at < OLD.next_run_at))
    EXECUTE FUNCTION jobs.announce_schedule();
"""

# The mandate first, as everything that ends one has it: two that meet wait for each other in one order only.
REMOVAL = """
CREATE FUNCTION jobs.delete_schedule(of_user uuid, schedule uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mandate uuid;
BEGIN
    SELECT s.mandate_id INTO mandate FROM jobs.schedules s
    WHERE s.tenant_id = core.current_tenant() AND s.id = schedule AND (of_user IS NULL OR s.user_id = of_user);
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE auth.mandates m SET ended_at = clock_timestamp(), end_reason = 'completed'
    WHERE m.tenant_id = core.current_tenant() AND m.id = mandate AND m.purpose_id = schedule AND m.ended_at IS NULL;
    DELETE FROM jobs.schedules s WHERE s.tenant_id = core.current_tenant() AND s.id = schedule;
    RETURN true;
END $$;
GRANT EXECUTE ON FUNCTION jobs.delete_schedule(uuid, uuid) TO mcpist_console;
CREATE FUNCTION jobs.prune_schedules(most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pruned integer;
BEGIN
    DELETE FROM jobs.schedules s WHERE (s.tenant_id, s.id) IN (
        SELECT c.tenant_id, c.id FROM jobs.schedules c
        WHERE c.state = 'ended' AND c.updated_at < jobs.clock() - interval '30 days'
        ORDER BY c.updated_at LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS pruned = ROW_COUNT;
    RETURN pruned;
END $$;
GRANT EXECUTE ON FUNCTION jobs.prune_schedules(integer) TO mcpist_worker;
"""

DOWN = """
DROP FUNCTION jobs.delete_schedule(uuid, uuid), jobs.prune_schedules(integer);
DROP TRIGGER follow_mandate ON auth.mandates;
DROP FUNCTION jobs.follow_mandate();
DROP TRIGGER announce_earlier ON jobs.schedules;
CREATE TRIGGER announce_resumed AFTER UPDATE OF state ON jobs.schedules
    FOR EACH ROW WHEN (NEW.state = 'active' AND OLD.state = 'paused') EXECUTE FUNCTION jobs.announce_schedule();
CREATE OR REPLACE FUNCTION jobs.check_schedule_limit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM core.users u WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id FOR NO KEY UPDATE;
    IF (SELECT count(*) FROM jobs.schedules s WHERE s.tenant_id = NEW.tenant_id AND s.user_id = NEW.user_id) >= 100
    THEN RAISE EXCEPTION 'too many schedules' USING ERRCODE = 'program_limit_exceeded'; END IF;
    RETURN NEW;
END $$;
DROP POLICY console_lists ON jobs.schedules;
DROP POLICY console_changes ON jobs.schedules;
REVOKE ALL ON jobs.schedules FROM mcpist_console;
REVOKE SELECT (tenant_id, id, user_id, title, kind, module, tool, mandate_id, cron, every, time_zone, overlap, state,
    end_reason, next_run_at, last_run_at, last_job_id, skipped, created_at, updated_at),
    UPDATE (state, next_run_at, updated_at) ON jobs.schedules FROM mcpist_console;
DROP INDEX jobs.ended, jobs.schedules_tenant_id_created_at_id_idx;
ALTER TABLE jobs.schedules DROP COLUMN at, DROP COLUMN consented_at, DROP COLUMN mandate_expires_at;
"""


def upgrade() -> None:
    for script in (COLUMNS, LIMIT, FOLLOW, ANNOUNCE, REMOVAL):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
