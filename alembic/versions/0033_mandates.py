"""Add mandates: a person's permission to use named tools in their absence, for one job, schedule or sync.

Whatever takes the permission away ends the mandate in its own transaction: a suspension, the revocation of the
credential that the mandate was made with, the disconnection of an account.
"""

from alembic import op

from core.migrations import build_tenant_policy_script, run_script

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

# `tools` are written as in permissions: module.tool. `consented_at` is null until the person has agreed, where that is
# needed. `end_recorded` is false until the end stands in the audit log.
TABLE = """
CREATE TABLE auth.mandates (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    purpose text NOT NULL CHECK (purpose IN ('job', 'schedule', 'sync')),
    purpose_id uuid NOT NULL,
    title text NOT NULL CHECK (length(title) <= 200),
    tools text[] NOT NULL CHECK (cardinality(tools) BETWEEN 1 AND 100),
    credential_kind text NOT NULL CHECK (length(credential_kind) BETWEEN 1 AND 40),
    credential_id text NOT NULL CHECK (length(credential_id) BETWEEN 1 AND 100),
    client text NOT NULL CHECK (length(client) <= 200),
    scopes text[] NOT NULL,
    read_only boolean NOT NULL,
    result_text text NOT NULL CHECK (result_text IN ('', 'short', 'full')),
    created_at timestamptz NOT NULL,
    consented_at timestamptz,
    expires_at timestamptz NOT NULL,
    last_used_at timestamptz,
    ended_at timestamptz,
    end_reason text NOT NULL DEFAULT '' CHECK (length(end_reason) <= 40),
    end_recorded boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, id),
    CHECK ((ended_at IS NULL) = (end_reason = '')),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.mandates (id);
CREATE INDEX ON auth.mandates (tenant_id, user_id, created_at) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX one_live_mandate_of_a_purpose ON auth.mandates (tenant_id, purpose, purpose_id)
    WHERE ended_at IS NULL;
CREATE INDEX ON auth.mandates (expires_at) WHERE ended_at IS NULL;
CREATE INDEX ON auth.mandates (created_at) WHERE ended_at IS NULL AND consented_at IS NULL;
CREATE INDEX ON auth.mandates (ended_at) WHERE ended_at IS NOT NULL;
"""

RIGHTS = """
CREATE POLICY lookup_by_mandate ON auth.mandates FOR SELECT TO mcpist_broker
    USING (id = nullif(current_setting('app.lookup_mandate', true), '')::uuid);
CREATE POLICY owner_ends_mandates ON auth.mandates TO mcpist_owner USING (true);
GRANT SELECT, INSERT, UPDATE ON auth.mandates TO mcpist_broker;
"""

# The locks order a mandate that is being made before or after a suspension or revocation of the same moment: either
# its row is there to be ended, or it is not inserted.
MAKING = """
CREATE FUNCTION auth.check_mandate() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    revoked timestamptz;
BEGIN
    PERFORM FROM core.users u WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id AND u.status = 'active'
        FOR SHARE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF NEW.credential_kind = 'api_token' THEN
        SELECT a.revoked_at INTO revoked FROM auth.api_tokens a
            WHERE a.tenant_id = NEW.tenant_id AND a.id = NEW.credential_id FOR SHARE;
    ELSIF NEW.credential_kind = 'oauth' AND NEW.credential_id NOT LIKE 'external-%' THEN
        SELECT g.revoked_at INTO revoked FROM auth.grants g
            WHERE g.tenant_id = NEW.tenant_id AND g.id = NEW.credential_id::uuid FOR SHARE;
    END IF;
    IF revoked IS NOT NULL THEN RETURN NULL; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER check_mandate BEFORE INSERT ON auth.mandates
    FOR EACH ROW EXECUTE FUNCTION auth.check_mandate();
"""

# The end of a job raises no generation: thousands a minute would void every cache of their tenant. A suspension, a
# revoked credential and a disconnection raise it themselves.
ENDS = """
CREATE FUNCTION auth.end_mandates_of_user() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE auth.mandates SET ended_at = clock_timestamp(), end_reason = 'user_suspended'
        WHERE tenant_id = NEW.tenant_id AND user_id = NEW.id AND ended_at IS NULL;
    RETURN NULL;
END $$;
CREATE FUNCTION auth.end_mandates_of_credential() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE auth.mandates SET ended_at = clock_timestamp(), end_reason = 'credential_revoked'
        WHERE tenant_id = NEW.tenant_id AND user_id = NEW.user_id AND ended_at IS NULL
        AND credential_kind = TG_ARGV[0] AND credential_id = NEW.id::text;
    RETURN NULL;
END $$;
CREATE FUNCTION auth.end_mandates_of_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE auth.mandates SET ended_at = clock_timestamp(), end_reason = 'disconnected'
        WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id AND ended_at IS NULL
        AND EXISTS (SELECT FROM unnest(tools) AS tool WHERE split_part(tool, '.', 1) = OLD.module);
    RETURN NULL;
END $$;
CREATE TRIGGER end_mandates AFTER UPDATE OF status ON core.users
    FOR EACH ROW WHEN (NEW.status <> 'active') EXECUTE FUNCTION auth.end_mandates_of_user();
CREATE TRIGGER end_mandates AFTER UPDATE OF revoked_at ON auth.api_tokens
    FOR EACH ROW WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION auth.end_mandates_of_credential('api_token');
CREATE TRIGGER end_mandates AFTER UPDATE OF revoked_at ON auth.grants
    FOR EACH ROW WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION auth.end_mandates_of_credential('oauth');
CREATE TRIGGER end_mandates AFTER DELETE ON vault.credentials
    FOR EACH ROW WHEN (OLD.user_id IS NOT NULL) EXECUTE FUNCTION auth.end_mandates_of_account();
CREATE TRIGGER raise_generation AFTER UPDATE OF ended_at ON auth.mandates
    FOR EACH ROW WHEN (NEW.end_reason = 'revoked') EXECUTE FUNCTION core.raise_generation();
"""

SWEEP = """
CREATE FUNCTION auth.mandates_to_end(at timestamptz, consent_by timestamptz, most integer)
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
CREATE FUNCTION auth.sweep_mandates(before timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    swept bigint;
BEGIN
    DELETE FROM auth.mandates WHERE ended_at < before AND end_recorded;
    GET DIAGNOSTICS swept = ROW_COUNT;
    RETURN swept;
END $$;
GRANT EXECUTE ON FUNCTION auth.mandates_to_end(timestamptz, timestamptz, integer), auth.sweep_mandates(timestamptz)
    TO mcpist_broker;
"""

DOWN = """
DROP TRIGGER end_mandates ON core.users;
DROP TRIGGER end_mandates ON auth.api_tokens;
DROP TRIGGER end_mandates ON auth.grants;
DROP TRIGGER end_mandates ON vault.credentials;
DROP FUNCTION auth.mandates_to_end(timestamptz, timestamptz, integer), auth.sweep_mandates(timestamptz);
DROP TABLE auth.mandates;
DROP FUNCTION auth.check_mandate(), auth.end_mandates_of_user(), auth.end_mandates_of_credential(),
    auth.end_mandates_of_account();
"""


def upgrade() -> None:
    run_script(op.get_bind(), TABLE)
    run_script(op.get_bind(), build_tenant_policy_script("auth.mandates"))
    for script in (RIGHTS, MAKING, ENDS, SWEEP):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
