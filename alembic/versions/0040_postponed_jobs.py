"""Queue a job again that could not begin, because the broker or the database was away.

Nothing of it has run, so it loses no attempt, and need not be repeatable. A clock that goes back delays no attempt by
more than five minutes.
"""

from alembic import op

from core.migrations import run_script

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

POSTPONE = """
CREATE FUNCTION jobs.postpone(worker uuid, of_tenant uuid, job uuid, of_attempt integer, pause interval) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET state = 'queued', lease_owner = NULL, updated_at = jobs.clock(),
        run_at = jobs.clock() + pause
    WHERE j.tenant_id = of_tenant AND j.id = job AND j.lease_owner = worker AND j.attempt = of_attempt
        AND j.cancel_requested_at IS NULL;
    RETURN FOUND;
END $$;
GRANT EXECUTE ON FUNCTION jobs.postpone(uuid, uuid, uuid, integer, interval) TO mcpist_worker;
"""

# No pause is longer than five minutes: where one is, the clock has gone back since. It was a day in 0032; nothing else
# has changed.
WAKING = """
CREATE OR REPLACE FUNCTION jobs.look(worker uuid, OUT is_registered boolean, OUT has_ready boolean,
        OUT has_delayed boolean, OUT has_due boolean, OUT held uuid[], OUT cancelled uuid[], OUT others uuid[],
        OUT beats bigint[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM jobs.workers w WHERE w.id = worker),
        EXISTS (SELECT FROM jobs.tenant_turns t WHERE t.is_waiting),
        EXISTS (SELECT FROM jobs.jobs j WHERE j.state = 'queued' AND j.run_at IS NOT NULL),
        EXISTS (SELECT FROM jobs.jobs j WHERE j.state = 'queued' AND j.run_at IS NOT NULL
            AND (j.run_at <= jobs.clock() OR j.run_at > jobs.clock() + interval '5 minutes')),
        coalesce(array_agg(r.id) FILTER (WHERE r.lease_owner = worker), '{}'),
        coalesce(array_agg(r.id) FILTER (WHERE r.lease_owner = worker AND r.is_cancelled), '{}'),
        coalesce(array_agg(r.lease_owner) FILTER (WHERE r.lease_owner <> worker AND r.is_first), '{}'),
        coalesce(array_agg(r.beat) FILTER (WHERE r.lease_owner <> worker AND r.is_first), '{}')
    FROM (
        SELECT j.id, j.lease_owner, j.cancel_requested_at IS NOT NULL AS is_cancelled, coalesce(w.beat, -1) AS beat,
            row_number() OVER (PARTITION BY j.lease_owner) = 1 AS is_first
        FROM jobs.jobs j LEFT JOIN jobs.workers w ON w.id = j.lease_owner WHERE j.state = 'running'
    ) r
$$;
CREATE OR REPLACE FUNCTION jobs.wake_delayed() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    woken integer;
BEGIN
    PERFORM pg_advisory_xact_lock(1835233381);
    UPDATE jobs.jobs j SET run_at = NULL WHERE (j.tenant_id, j.id) IN (
        SELECT c.tenant_id, c.id FROM jobs.jobs c WHERE c.state = 'queued' AND c.run_at IS NOT NULL
            AND (c.run_at <= jobs.clock() OR c.run_at > jobs.clock() + interval '5 minutes')
        ORDER BY c.run_at LIMIT 100 FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS woken = ROW_COUNT;
    RETURN woken;
END $$;
"""


def upgrade() -> None:
    for script in (POSTPONE, WAKING):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    """Waking stays as it is: the version before sets no longer pauses."""
    op.execute("DROP FUNCTION jobs.postpone(uuid, uuid, uuid, integer, interval)")
