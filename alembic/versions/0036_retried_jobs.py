"""A job that is run once more gets a mandate made anew, for the tools that its row names."""

from alembic import op

from core.migrations import run_script

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

TOOLS = """
ALTER TABLE jobs.jobs ADD tools text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tools) <= 100);
GRANT INSERT (tools) ON jobs.jobs TO mcpist_gateway;
GRANT SELECT (tools) ON jobs.jobs TO mcpist_console;
"""

# One that was made for a job which was not queued then, as the control plane was killed, is named by no job. It ends
# with the row.
ENDS = """
CREATE FUNCTION jobs.end_mandate_of_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE auth.mandates SET ended_at = clock_timestamp(), end_reason = 'completed'
        WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id AND purpose = 'job' AND purpose_id = OLD.id
        AND ended_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER end_mandate_of_deleted AFTER DELETE ON jobs.jobs
    FOR EACH ROW EXECUTE FUNCTION jobs.end_mandate_of_deleted();
"""

LIMITS = """
CREATE FUNCTION jobs.is_full(tenant uuid, person uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.tenant_id = tenant AND j.user_id = person
            AND j.state = 'queued' AND j.run_at IS NULL LIMIT 1000) of_person) >= 1000
        OR (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.tenant_id = tenant
            AND j.state = 'queued' AND j.run_at IS NULL LIMIT 10000) of_tenant) >= 10000
$$;
CREATE OR REPLACE FUNCTION jobs.check_limits() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jobs.is_full(NEW.tenant_id, NEW.user_id)
    THEN RAISE EXCEPTION 'too many jobs wait' USING ERRCODE = 'program_limit_exceeded'; END IF;
    RETURN NEW;
END $$;
"""

# Answers what became of it: `queued`; or `state`, `full` or `ended` (its mandate), and the job stays as it was. A
# mandate that was made for nothing ends. Nobody but the control plane queues a job again, in its person's presence.
RETRY = """
DROP FUNCTION jobs.retry(uuid);
CREATE FUNCTION jobs.retry(job uuid, mandate uuid) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant uuid := core.current_tenant();
    person uuid := core.current_user_id();
    schedule uuid;
    outcome text := 'queued';
BEGIN
    SELECT j.schedule_id INTO schedule FROM jobs.jobs j
        WHERE j.tenant_id = tenant AND j.user_id = person AND j.id = job
        AND j.state IN ('failed', 'cancelled', 'unknown') FOR UPDATE;
    IF NOT FOUND THEN outcome := 'state';
    ELSIF jobs.is_full(tenant, person) THEN outcome := 'full';
    ELSIF NOT EXISTS (SELECT FROM auth.mandates m WHERE m.tenant_id = tenant AND m.user_id = person AND m.id = mandate
        AND m.purpose_id = coalesce(schedule, job) AND m.ended_at IS NULL AND m.consented_at IS NOT NULL)
    THEN outcome := 'ended';
    ELSE
        UPDATE jobs.jobs j SET state = 'queued', run_at = NULL, mandate_id = mandate,
            retries_left = CASE WHEN j.is_repeatable THEN 2 ELSE 0 END, cancel_requested_at = NULL, progress = NULL,
            total = NULL, message = '', result = NULL, error = '', started_at = NULL, finished_at = NULL,
            updated_at = jobs.clock(), expires_at = jobs.clock() + j.lifetime
        WHERE j.tenant_id = tenant AND j.id = job;
        RETURN outcome;
    END IF;
    UPDATE auth.mandates m SET ended_at = clock_timestamp(), end_reason = 'completed'
        WHERE m.tenant_id = tenant AND m.user_id = person AND m.purpose = 'job' AND m.purpose_id = job
        AND m.ended_at IS NULL AND NOT EXISTS (SELECT FROM jobs.jobs j WHERE j.tenant_id = tenant AND j.id = job
            AND j.state IN ('queued', 'running'));
    RETURN outcome;
END $$;
GRANT EXECUTE ON FUNCTION jobs.retry(uuid, uuid) TO mcpist_console;
"""

DOWN = """
DROP TRIGGER end_mandate_of_deleted ON jobs.jobs;
DROP FUNCTION jobs.end_mandate_of_deleted(), jobs.retry(uuid, uuid);
CREATE FUNCTION jobs.retry(job uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET state = 'queued', run_at = NULL, retries_left = CASE WHEN j.is_repeatable THEN 2 ELSE 0 END,
        cancel_requested_at = NULL, progress = NULL, total = NULL, message = '', result = NULL, error = '',
        started_at = NULL, finished_at = NULL, updated_at = jobs.clock(), expires_at = jobs.clock() + j.lifetime
    WHERE j.tenant_id = core.current_tenant() AND j.user_id = core.current_user_id() AND j.id = job
        AND j.state IN ('failed', 'cancelled', 'unknown');
    RETURN FOUND;
END $$;
GRANT EXECUTE ON FUNCTION jobs.retry(uuid) TO mcpist_gateway, mcpist_console;
CREATE OR REPLACE FUNCTION jobs.check_limits() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.tenant_id = NEW.tenant_id AND j.user_id = NEW.user_id
            AND j.state = 'queued' AND j.run_at IS NULL LIMIT 1000) person) >= 1000
        OR (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.tenant_id = NEW.tenant_id
            AND j.state = 'queued' AND j.run_at IS NULL LIMIT 10000) tenant) >= 10000
    THEN RAISE EXCEPTION 'too many jobs wait' USING ERRCODE = 'program_limit_exceeded'; END IF;
    RETURN NEW;
END $$;
DROP FUNCTION jobs.is_full(uuid, uuid);
ALTER TABLE jobs.jobs DROP COLUMN tools;
"""


def upgrade() -> None:
    for script in (TOOLS, ENDS, LIMITS, RETRY):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
