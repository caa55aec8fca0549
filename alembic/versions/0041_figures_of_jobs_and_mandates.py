"""Figures of jobs and mandates for metrics: numbers only, of no tenant. The control plane shows how long jobs wait,
also where no worker runs."""

from alembic import op

from core.migrations import run_script

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

# A job that is queued once more has waited since then, whatever its number is.
FIGURES = """
CREATE OR REPLACE FUNCTION jobs.figures(OUT waiting bigint, OUT running bigint, OUT oldest_seconds double precision)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.state = 'queued' LIMIT 100000) counted),
        (SELECT count(*) FROM jobs.jobs j WHERE j.state = 'running'),
        coalesce((SELECT max(extract(epoch FROM jobs.clock() - w.updated_at)) FROM (
            SELECT j.updated_at FROM jobs.jobs j WHERE j.state = 'queued' AND j.run_at IS NULL
            ORDER BY j.number LIMIT 1000) w), 0)
$$;
GRANT EXECUTE ON FUNCTION jobs.figures() TO mcpist_console;
CREATE FUNCTION auth.count_live_mandates() RETURNS TABLE (purpose text, number bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT p.purpose, (SELECT count(*) FROM (SELECT FROM auth.mandates m WHERE m.ended_at IS NULL
        AND m.purpose = p.purpose LIMIT 100000) counted) FROM unnest(ARRAY['job', 'schedule', 'sync']) AS p (purpose)
$$;
GRANT EXECUTE ON FUNCTION auth.count_live_mandates() TO mcpist_broker;
"""

DOWN = """
DROP FUNCTION auth.count_live_mandates();
REVOKE EXECUTE ON FUNCTION jobs.figures() FROM mcpist_console;
CREATE OR REPLACE FUNCTION jobs.figures(OUT waiting bigint, OUT running bigint, OUT oldest_seconds double precision)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.state = 'queued' LIMIT 100000) counted),
        (SELECT count(*) FROM jobs.jobs j WHERE j.state = 'running'),
        coalesce((SELECT extract(epoch FROM jobs.clock() - j.created_at) FROM jobs.jobs j
            WHERE j.state = 'queued' AND j.run_at IS NULL ORDER BY j.number LIMIT 1), 0)
$$;
"""


def upgrade() -> None:
    run_script(op.get_bind(), FIGURES)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
