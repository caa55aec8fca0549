"""Jobs that have asked several questions keep the answers that have come while they await the others.

Two answers that come at once do not overwrite each other: the time of the last change is the fence.
"""

from alembic import op

from core.migrations import run_script

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

FUNCTIONS = """
CREATE FUNCTION jobs.note_answers(job uuid, of_attempt integer, unchanged_since timestamptz, answered bytea)
    RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET arguments = answered, updated_at = jobs.clock()
    WHERE j.tenant_id = core.current_tenant() AND j.user_id = core.current_user_id() AND j.id = job
        AND j.attempt = of_attempt AND j.updated_at = unchanged_since AND j.state = 'failed'
        AND j.error = 'input_required' AND j.cancel_requested_at IS NULL AND j.expires_at > jobs.clock();
    RETURN FOUND;
END $$;
GRANT EXECUTE ON FUNCTION jobs.note_answers(uuid, integer, timestamptz, bytea) TO mcpist_gateway;
"""


def upgrade() -> None:
    run_script(op.get_bind(), FUNCTIONS)


def downgrade() -> None:
    op.execute("DROP FUNCTION jobs.note_answers(uuid, integer, timestamptz, bytea)")
