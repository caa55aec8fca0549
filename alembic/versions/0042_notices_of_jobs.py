"""Notices at the end of jobs, where their person has asked for one.

A trigger writes the notice in the transaction that ends the job, so that none is forgotten and none is written twice.
The broker tells it, and sees of the job what stands in the notice: no arguments and no result.
"""

from alembic import op

from core.migrations import run_script

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

COLUMNS = """
ALTER TABLE jobs.jobs ADD notify text NOT NULL DEFAULT 'never' CHECK (notify IN ('never', 'failure', 'always'));
ALTER TABLE jobs.schedules ADD notify text NOT NULL DEFAULT 'never' CHECK (notify IN ('never', 'failure', 'always'));
GRANT UPDATE (notify) ON jobs.jobs TO mcpist_gateway;
GRANT SELECT (notify), UPDATE (notify) ON jobs.jobs TO mcpist_console;
GRANT INSERT (notify) ON jobs.schedules TO mcpist_gateway;
GRANT SELECT (notify) ON jobs.schedules TO mcpist_console;
ALTER TABLE vault.notices DROP CONSTRAINT notices_about_check;
ALTER TABLE vault.notices ADD CONSTRAINT notices_about_check
    CHECK (about IN ('account', 'account_end', 'credential', 'oauth_client', 'job'));
ALTER TABLE vault.notices ADD user_id uuid;
ALTER TABLE vault.notices ADD title text NOT NULL DEFAULT '' CHECK (length(title) <= 200);
ALTER TABLE vault.notices ADD module text NOT NULL DEFAULT '' CHECK (length(module) <= 63);
ALTER TABLE vault.notices ADD tool text NOT NULL DEFAULT '' CHECK (length(tool) <= 128);
ALTER TABLE vault.notices ADD is_scheduled boolean NOT NULL DEFAULT false;
ALTER TABLE vault.notices ADD began_at timestamptz;
ALTER TABLE vault.notices ADD CHECK ((about = 'job') = (user_id IS NOT NULL));
CREATE INDEX notices_of_jobs ON vault.notices (tenant_id, user_id, created_at) WHERE about = 'job';
"""

# A copy that was restored tells nobody of what it ended, and a job that awaits an answer has not ended. A person
# gets 30 an hour at most.
TRIGGERS = """
CREATE FUNCTION jobs.copy_notify() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT s.notify INTO NEW.notify FROM jobs.schedules s
        WHERE s.tenant_id = NEW.tenant_id AND s.id = NEW.schedule_id AND s.user_id = NEW.user_id;
    NEW.notify := coalesce(NEW.notify, 'never');
    RETURN NEW;
END $$;
CREATE TRIGGER copy_notify BEFORE INSERT ON jobs.jobs FOR EACH ROW WHEN (NEW.schedule_id IS NOT NULL)
    EXECUTE FUNCTION jobs.copy_notify();
CREATE FUNCTION vault.write_job_notice() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE vault.notices SET closed_at = vault.clock(), outcome = 'over'
        WHERE tenant_id = NEW.tenant_id AND about = 'job' AND subject_id = NEW.id AND closed_at IS NULL;
    IF NEW.state NOT IN ('queued', 'running') AND NEW.error NOT IN ('restored', 'input_required')
        AND (NEW.notify = 'always' OR NEW.notify = 'failure' AND NEW.state IN ('failed', 'unknown'))
        AND (SELECT count(*) FROM vault.notices n WHERE n.tenant_id = NEW.tenant_id AND n.user_id = NEW.user_id
            AND n.about = 'job' AND n.created_at > vault.clock() - interval '1 hour') < 30
    THEN
        INSERT INTO vault.notices (tenant_id, about, subject_id, cause, due_at, user_id, title, module, tool,
            is_scheduled, began_at)
        VALUES (NEW.tenant_id, 'job', NEW.id, NEW.state, vault.clock(), NEW.user_id, NEW.title, NEW.module, NEW.tool,
            NEW.schedule_id IS NOT NULL, NEW.created_at);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER write_notice AFTER UPDATE ON jobs.jobs
    FOR EACH ROW WHEN (NEW.notify <> 'never' AND NEW.state <> OLD.state AND NEW.state <> 'running')
    EXECUTE FUNCTION vault.write_job_notice();
"""

DOWN = """
DROP TRIGGER write_notice ON jobs.jobs;
DROP TRIGGER copy_notify ON jobs.jobs;
DROP FUNCTION vault.write_job_notice(), jobs.copy_notify();
DELETE FROM vault.notices WHERE about = 'job';
ALTER TABLE vault.notices DROP COLUMN user_id, DROP COLUMN title, DROP COLUMN module, DROP COLUMN tool,
    DROP COLUMN is_scheduled, DROP COLUMN began_at;
ALTER TABLE vault.notices DROP CONSTRAINT notices_about_check;
ALTER TABLE vault.notices ADD CONSTRAINT notices_about_check
    CHECK (about IN ('account', 'account_end', 'credential', 'oauth_client'));
ALTER TABLE jobs.schedules DROP COLUMN notify;
ALTER TABLE jobs.jobs DROP COLUMN notify;
"""


def upgrade() -> None:
    for script in (COLUMNS, TRIGGERS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
