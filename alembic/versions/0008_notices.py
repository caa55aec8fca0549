"""Notices: what the owner of a vendor account, or the administrators, have to be told, once per change of state.

Triggers write them in the transaction of the change, so that none is forgotten and none is told twice. They wait for
some minutes: what a vendor takes back by then (a wave of refusals, threat-model.md §2 row 49) troubles nobody.
"""

from alembic import op

from core.migrations import run_script

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE vault.notices (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    about text NOT NULL CHECK (about IN ('account', 'credential', 'oauth_client')),
    subject_id uuid NOT NULL,
    cause text NOT NULL CHECK (length(cause) <= 40),
    created_at timestamptz NOT NULL DEFAULT vault.clock(),
    due_at timestamptz NOT NULL DEFAULT vault.clock() + interval '5 minutes',
    attempts integer NOT NULL DEFAULT 0,
    told_by text[] NOT NULL DEFAULT '{}',
    closed_at timestamptz,
    outcome text NOT NULL DEFAULT '' CHECK (outcome IN ('', 'told', 'over', 'given_up', 'nobody')),
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX ON vault.notices (due_at) WHERE closed_at IS NULL;
CREATE INDEX ON vault.notices (tenant_id, subject_id);
"""

POLICIES = """
CREATE POLICY owner_finds_notices ON vault.notices TO mcpist_owner USING (true) WITH CHECK (true);
"""

# A notice that is taken is due again in two minutes, later in up to an hour: whoever took it may fail, or be killed.
FUNCTIONS = """
CREATE FUNCTION vault.write_notice() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO vault.notices (tenant_id, about, subject_id, cause)
        VALUES (NEW.tenant_id, TG_ARGV[0], NEW.id, to_jsonb(NEW) ->> TG_ARGV[1]);
    RETURN NULL;
END $$;
CREATE FUNCTION vault.take_notices(most integer) RETURNS TABLE (tenant_id uuid, id uuid)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE vault.notices n SET attempts = n.attempts + 1,
        due_at = vault.clock() + interval '2 minutes' * least(power(2, n.attempts), 30)
    FROM (SELECT d.tenant_id, d.id FROM vault.notices d WHERE d.closed_at IS NULL AND d.due_at <= vault.clock()
        ORDER BY d.due_at LIMIT most FOR UPDATE SKIP LOCKED) due
    WHERE n.tenant_id = due.tenant_id AND n.id = due.id
    RETURNING n.tenant_id, n.id
$$;
CREATE FUNCTION vault.sweep_notices() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    swept bigint;
BEGIN
    DELETE FROM vault.notices WHERE closed_at < vault.clock() - interval '30 days';
    GET DIAGNOSTICS swept = ROW_COUNT;
    RETURN swept;
END $$;
"""

TRIGGERS = """
CREATE TRIGGER tell_owner AFTER UPDATE OF status ON vault.accounts FOR EACH ROW
    WHEN (OLD.status = 'active' AND NEW.status = 'needs_reauth')
    EXECUTE FUNCTION vault.write_notice('account', 'reason');
CREATE TRIGGER tell_owner AFTER UPDATE OF state ON vault.credentials FOR EACH ROW
    WHEN (OLD.state = 'ok' AND NEW.state = 'broken')
    EXECUTE FUNCTION vault.write_notice('credential', 'cause');
CREATE TRIGGER tell_administrators AFTER UPDATE OF state ON vault.oauth_clients FOR EACH ROW
    WHEN (OLD.state = 'ok' AND NEW.state = 'misconfigured')
    EXECUTE FUNCTION vault.write_notice('oauth_client', 'cause');
"""

RIGHTS = """
GRANT SELECT, INSERT, UPDATE ON vault.notices TO mcpist_broker;
GRANT EXECUTE ON FUNCTION vault.take_notices(integer), vault.sweep_notices() TO mcpist_broker;
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLES)
    op.execute("ALTER TABLE vault.notices ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE vault.notices FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY by_tenant ON vault.notices "
        "USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())"
    )
    for script in (POLICIES, FUNCTIONS, TRIGGERS, RIGHTS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    op.execute("DROP TRIGGER tell_owner ON vault.accounts")
    op.execute("DROP TRIGGER tell_owner ON vault.credentials")
    op.execute("DROP TRIGGER tell_administrators ON vault.oauth_clients")
    for function in ("write_notice()", "take_notices(integer)", "sweep_notices()"):
        op.execute(f"DROP FUNCTION vault.{function}")
    op.execute("DROP TABLE vault.notices")
