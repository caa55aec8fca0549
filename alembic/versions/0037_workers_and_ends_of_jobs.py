"""Show whether any worker runs, and end a job's mandate in the transaction that ends the job.

A worker that is lost ends nothing itself: another ends its jobs (`jobs.reap`). Nor is there a worker where a job is
cancelled while it waits. The mandate of a job that is not there, because the gateway was killed before it had added it,
is over after ten minutes.
"""

from alembic import op

from core.migrations import run_script

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

# Every worker holds the lock, shared, on the connection that listens: no row is written while it rests, and it is gone
# with the worker. Advisory locks are per database; objsubid 1 is the form with one 64-bit key.
WORKERS = """
CREATE FUNCTION jobs.announce_worker() RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_advisory_lock_shared(1835233392)
$$;
CREATE FUNCTION jobs.has_worker() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = 0 AND l.objid = 1835233392
        AND l.objsubid = 1 AND l.granted AND l.database = (SELECT d.oid FROM pg_database d
            WHERE d.datname = current_database()))
$$;
CREATE FUNCTION jobs.lacks_worker() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM jobs.tenant_turns t WHERE t.is_waiting) AND NOT jobs.has_worker()
$$;
GRANT EXECUTE ON FUNCTION jobs.announce_worker() TO mcpist_worker;
GRANT EXECUTE ON FUNCTION jobs.has_worker(), jobs.lacks_worker() TO mcpist_gateway, mcpist_console;
"""

# Not that of a schedule, which goes on. A trigger of a column would not see what another trigger sets (a cancellation).
# What a trigger ends is recorded by whoever ends it by name, or by the sweep.
MANDATES = """
CREATE FUNCTION jobs.end_mandate() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE auth.mandates SET ended_at = clock_timestamp(), end_reason = 'completed'
        WHERE tenant_id = NEW.tenant_id AND id = NEW.mandate_id AND purpose_id = NEW.id AND ended_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER end_mandate AFTER UPDATE ON jobs.jobs
    FOR EACH ROW WHEN (NEW.state <> OLD.state AND NEW.state NOT IN ('queued', 'running')
        AND NEW.mandate_id IS NOT NULL)
    EXECUTE FUNCTION jobs.end_mandate();
CREATE OR REPLACE FUNCTION auth.mandates_to_end(at timestamptz, consent_by timestamptz, most integer)
    RETURNS TABLE (tenant_id uuid, mandate_id uuid)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    (SELECT m.tenant_id, m.id FROM auth.mandates m WHERE m.ended_at IS NOT NULL AND NOT m.end_recorded LIMIT most)
    UNION
    (SELECT m.tenant_id, m.id FROM auth.mandates m WHERE m.ended_at IS NULL AND m.expires_at <= at LIMIT most)
    UNION
    (SELECT m.tenant_id, m.id FROM auth.mandates m
        WHERE m.ended_at IS NULL AND m.consented_at IS NULL AND m.created_at <= consent_by LIMIT most)
    UNION
    (SELECT m.tenant_id, m.id FROM auth.mandates m
        WHERE m.ended_at IS NULL AND m.purpose = 'job' AND m.created_at BETWEEN at - interval '1 hour'
            AND at - interval '10 minutes' AND NOT EXISTS (
            SELECT FROM jobs.jobs j WHERE j.tenant_id = m.tenant_id AND j.id = m.purpose_id) LIMIT most)
    LIMIT most
$$;
CREATE INDEX live_mandates_of_jobs ON auth.mandates (created_at) WHERE ended_at IS NULL AND purpose = 'job';
"""

DOWN = """
DROP INDEX auth.live_mandates_of_jobs;
CREATE OR REPLACE FUNCTION auth.mandates_to_end(at timestamptz, consent_by timestamptz, most integer)
    RETURNS TABLE (tenant_id uuid, mandate_id uuid)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    (SELECT m.tenant_id, m.id FROM auth.mandates m WHERE m.ended_at IS NOT NULL AND NOT m.end_recorded LIMIT most)
    UNION
    (SELECT m.tenant_id, m.id FROM auth.mandates m WHERE m.ended_at IS NULL AND m.expires_at <= at LIMIT most)
    UNION
    (SELECT m.tenant_id, m.id FROM auth.mandates m
        WHERE m.ended_at IS NULL AND m.consented_at IS NULL AND m.created_at <= consent_by LIMIT most)
    LIMIT most
$$;
DROP TRIGGER end_mandate ON jobs.jobs;
DROP FUNCTION jobs.end_mandate(), jobs.lacks_worker(), jobs.has_worker(), jobs.announce_worker();
"""


def upgrade() -> None:
    for script in (WORKERS, MANDATES):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
