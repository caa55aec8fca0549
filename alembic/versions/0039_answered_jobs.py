"""Jobs that have to ask their person first: answered, they are run anew with the answer; or their end is asked for.

Such a job has ended with `input_required`, before it changed anything. It is answered once: its attempt is the fence.
"""

from alembic import op

from core.migrations import run_script

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

FUNCTIONS = """
CREATE FUNCTION jobs.answer(job uuid, of_attempt integer, answered bytea, mandate uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET state = 'queued', arguments = answered, mandate_id = mandate, run_at = NULL,
        progress = NULL, total = NULL, message = '', result = NULL, error = '', finished_at = NULL,
        updated_at = jobs.clock(),
        expires_at = greatest(j.expires_at, jobs.clock() + least(j.lifetime, interval '5 minutes'))
    WHERE j.tenant_id = core.current_tenant() AND j.user_id = core.current_user_id() AND j.id = job
        AND j.attempt = of_attempt AND j.state = 'failed' AND j.error = 'input_required'
        AND j.cancel_requested_at IS NULL AND j.expires_at > jobs.clock();
    RETURN FOUND;
END $$;
CREATE FUNCTION jobs.withdraw(job uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET state = 'cancelled', result = NULL, error = '', updated_at = jobs.clock()
    WHERE j.tenant_id = core.current_tenant() AND j.user_id = core.current_user_id() AND j.id = job
        AND j.state = 'failed' AND j.error = 'input_required';
    RETURN FOUND;
END $$;
GRANT EXECUTE ON FUNCTION jobs.answer(uuid, integer, bytea, uuid), jobs.withdraw(uuid) TO mcpist_gateway;
"""


def upgrade() -> None:
    run_script(op.get_bind(), FUNCTIONS)


def downgrade() -> None:
    op.execute("DROP FUNCTION jobs.answer(uuid, integer, bytea, uuid), jobs.withdraw(uuid)")
