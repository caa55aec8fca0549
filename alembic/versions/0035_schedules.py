"""Schedules: work that a person has done at times, in their absence. A schedule that is due becomes a job.

A person keeps their own; only workers, by functions, find what is due and make jobs of it.
"""

from alembic import op

from core.migrations import run_script

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

# `next_run_at` is the fence: of several workers that find a schedule due, the one that moves it on makes the job.
TABLES = """
CREATE TABLE jobs.schedules (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    title text NOT NULL CHECK (length(title) <= 200),
    kind text NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,30}$'),
    module text COLLATE "C" NOT NULL CHECK (length(module) <= 63),
    tool text NOT NULL CHECK (length(tool) <= 128),
    client text NOT NULL CHECK (length(client) <= 200),
    mandate_id uuid NOT NULL,
    arguments bytea NOT NULL CHECK (octet_length(arguments) <= 8388608),
    retries smallint NOT NULL CHECK (retries BETWEEN 0 AND 9),
    lifetime interval NOT NULL CHECK (lifetime BETWEEN interval '1 second' AND interval '366 days'),
    cron text NOT NULL CHECK (length(cron) <= 100),
    every interval CHECK (every BETWEEN interval '1 minute' AND interval '366 days'),
    time_zone text NOT NULL CHECK (length(time_zone) BETWEEN 1 AND 64),
    overlap text NOT NULL CHECK (overlap IN ('skip', 'wait')),
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'ended')),
    end_reason text NOT NULL DEFAULT '' CHECK (length(end_reason) <= 40),
    next_run_at timestamptz CHECK ((next_run_at IS NOT NULL) = (state = 'active')),
    last_run_at timestamptz,
    last_job_id uuid,
    skipped integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT jobs.clock(),
    updated_at timestamptz NOT NULL DEFAULT jobs.clock(),
    PRIMARY KEY (tenant_id, id),
    CHECK (cron = '' OR every IS NULL),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON jobs.schedules (tenant_id, user_id, created_at);
CREATE INDEX due ON jobs.schedules (next_run_at) WHERE state = 'active';
ALTER TABLE jobs.schedules ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs.schedules FORCE ROW LEVEL SECURITY;
CREATE POLICY by_user ON jobs.schedules
    USING (tenant_id = core.current_tenant() AND user_id = core.current_user_id())
    WITH CHECK (tenant_id = core.current_tenant() AND user_id = core.current_user_id());
CREATE POLICY owner_runs_schedules ON jobs.schedules TO mcpist_owner USING (true) WITH CHECK (true);
GRANT SELECT, DELETE, UPDATE (state, next_run_at, updated_at), INSERT (tenant_id, id, user_id, title, kind, module,
    tool, client, mandate_id, arguments, retries, lifetime, cron, every, time_zone, overlap, next_run_at)
    ON jobs.schedules TO mcpist_gateway;
ALTER TABLE jobs.jobs ADD schedule_id uuid;
GRANT SELECT (schedule_id) ON jobs.jobs TO mcpist_console;
"""

LIMIT = """
CREATE FUNCTION jobs.check_schedule_limit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM core.users u WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id FOR NO KEY UPDATE;
    IF (SELECT count(*) FROM jobs.schedules s WHERE s.tenant_id = NEW.tenant_id AND s.user_id = NEW.user_id) >= 100
    THEN RAISE EXCEPTION 'too many schedules' USING ERRCODE = 'program_limit_exceeded'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER check_limit BEFORE INSERT ON jobs.schedules
    FOR EACH ROW EXECUTE FUNCTION jobs.check_schedule_limit();
"""

# Whoever has a schedule run earlier than the workers know wakes them.
ANNOUNCE = """
CREATE FUNCTION jobs.announce_schedule() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('mcpist_schedule', '');
    RETURN NULL;
END $$;
CREATE TRIGGER announce_new AFTER INSERT ON jobs.schedules
    FOR EACH ROW EXECUTE FUNCTION jobs.announce_schedule();
CREATE TRIGGER announce_resumed AFTER UPDATE OF state ON jobs.schedules
    FOR EACH ROW WHEN (NEW.state = 'active' AND OLD.state = 'paused') EXECUTE FUNCTION jobs.announce_schedule();
"""

# What is due and does not wait for its last run, and the seconds until something is due: of nothing, null.
DUE = """
CREATE FUNCTION jobs.due_schedules(most integer)
    RETURNS TABLE (tenant_id uuid, id uuid, mandate_id uuid, arguments bytea, cron text, every interval,
        time_zone text, due_at timestamptz, is_running boolean, at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.tenant_id, s.id, s.mandate_id, s.arguments, s.cron, s.every, s.time_zone, s.next_run_at,
        j.id IS NOT NULL, jobs.clock()
    FROM jobs.schedules s LEFT JOIN jobs.jobs j ON j.tenant_id = s.tenant_id AND j.id = s.last_job_id
        AND j.state IN ('queued', 'running')
    WHERE s.state = 'active' AND s.next_run_at <= jobs.clock() AND (s.overlap = 'skip' OR j.id IS NULL)
    ORDER BY s.next_run_at LIMIT most
$$;
CREATE FUNCTION jobs.seconds_until_schedule() RETURNS double precision
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT extract(epoch FROM min(s.next_run_at) - jobs.clock()) FROM jobs.schedules s WHERE s.state = 'active'
$$;
CREATE FUNCTION jobs.run_schedule(of_tenant uuid, schedule uuid, due_at timestamptz, next_at timestamptz, job uuid,
        sealed bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    s jobs.schedules;
BEGIN
    UPDATE jobs.schedules c SET next_run_at = next_at, last_run_at = jobs.clock(), last_job_id = job,
        state = CASE WHEN next_at IS NULL THEN 'ended' ELSE 'active' END,
        end_reason = CASE WHEN next_at IS NULL THEN 'completed' ELSE '' END, updated_at = jobs.clock()
    WHERE c.tenant_id = of_tenant AND c.id = schedule AND c.state = 'active' AND c.next_run_at = due_at
    RETURNING c.* INTO s;
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO jobs.jobs (tenant_id, user_id, id, kind, module, tool, title, client, mandate_id, arguments,
        is_repeatable, retries_left, lifetime, expires_at, schedule_id)
    VALUES (s.tenant_id, s.user_id, job, s.kind, s.module, s.tool, s.title, s.client, s.mandate_id, sealed,
        s.retries > 0, s.retries, s.lifetime, jobs.clock() + s.lifetime, s.id);
    RETURN true;
END $$;
CREATE FUNCTION jobs.skip_schedule(of_tenant uuid, schedule uuid, due_at timestamptz, next_at timestamptz)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.schedules c SET next_run_at = next_at, skipped = c.skipped + 1,
        state = CASE WHEN next_at IS NULL THEN 'ended' ELSE 'active' END,
        end_reason = CASE WHEN next_at IS NULL THEN 'skipped' ELSE '' END, updated_at = jobs.clock()
    WHERE c.tenant_id = of_tenant AND c.id = schedule AND c.state = 'active' AND c.next_run_at = due_at;
    RETURN FOUND;
END $$;
CREATE FUNCTION jobs.end_schedule(of_tenant uuid, schedule uuid, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.schedules c SET state = 'ended', end_reason = reason, next_run_at = NULL, updated_at = jobs.clock()
    WHERE c.tenant_id = of_tenant AND c.id = schedule AND c.state = 'active';
    RETURN FOUND;
END $$;
"""

OF_WORKERS = (
    "due_schedules(integer)",
    "seconds_until_schedule()",
    "run_schedule(uuid, uuid, timestamptz, timestamptz, uuid, bytea)",
    "skip_schedule(uuid, uuid, timestamptz, timestamptz)",
    "end_schedule(uuid, uuid, text)",
)

DOWN = """
DROP TABLE jobs.schedules;
DROP FUNCTION jobs.check_schedule_limit(), jobs.announce_schedule(), jobs.due_schedules(integer),
    jobs.seconds_until_schedule(), jobs.run_schedule(uuid, uuid, timestamptz, timestamptz, uuid, bytea),
    jobs.skip_schedule(uuid, uuid, timestamptz, timestamptz), jobs.end_schedule(uuid, uuid, text);
ALTER TABLE jobs.jobs DROP COLUMN schedule_id;
"""


def upgrade() -> None:
    for script in (TABLES, LIMIT, ANNOUNCE, DUE):
        run_script(op.get_bind(), script)
    for function in OF_WORKERS:
        op.execute(f"GRANT EXECUTE ON FUNCTION jobs.{function} TO mcpist_worker")


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
