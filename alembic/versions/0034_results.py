"""Results that were too large for one answer: one user's each, sealed, for an hour; and how large an answer may be, as
a setting of API tokens and of OAuth clients.

A result was read with a credential, and goes with it, as it goes with its user.
"""

from alembic import op

from core.migrations import run_script

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

# What is sealed is compressed already: nothing is gained by PostgreSQL's compression.
TABLE = """
CREATE SCHEMA results;
CREATE TABLE results.results (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    module text NOT NULL CHECK (module ~ '^[a-z][a-z0-9_]{0,62}$'),
    tool text NOT NULL CHECK (tool ~ '^[a-z][a-z0-9_]{0,62}$'),
    credential_id uuid,
    untrusted boolean NOT NULL,
    sealed bytea NOT NULL CHECK (octet_length(sealed) BETWEEN 30 AND 33554432),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    PRIMARY KEY (tenant_id, user_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, credential_id) REFERENCES vault.credentials (tenant_id, id) ON DELETE CASCADE
);
ALTER TABLE results.results ALTER COLUMN sealed SET STORAGE EXTERNAL;
CREATE INDEX ON results.results (tenant_id, credential_id);
CREATE INDEX ON results.results (expires_at);
ALTER TABLE results.results ENABLE ROW LEVEL SECURITY;
ALTER TABLE results.results FORCE ROW LEVEL SECURITY;
CREATE POLICY by_user ON results.results
    USING (tenant_id = core.current_tenant() AND user_id = core.current_user_id())
    WITH CHECK (tenant_id = core.current_tenant() AND user_id = core.current_user_id());
CREATE POLICY owner_removes_results ON results.results TO mcpist_owner USING (true);
GRANT USAGE ON SCHEMA results TO mcpist_gateway;
GRANT SELECT, INSERT, DELETE ON results.results TO mcpist_gateway;
"""

# Expired results of all users, and those of an account that another one takes the place of.
FUNCTIONS = """
CREATE FUNCTION results.sweep(at timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE removed integer;
    BEGIN
        DELETE FROM results.results WHERE expires_at <= at;
        GET DIAGNOSTICS removed = ROW_COUNT;
        RETURN removed;
    END $$;
ALTER FUNCTION results.sweep(timestamptz) OWNER TO mcpist_owner;
REVOKE ALL ON FUNCTION results.sweep(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION results.sweep(timestamptz) TO mcpist_gateway;
CREATE FUNCTION results.end_with_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        DELETE FROM results.results WHERE tenant_id = OLD.tenant_id AND credential_id = OLD.id;
        RETURN NULL;
    END $$;
ALTER FUNCTION results.end_with_account() OWNER TO mcpist_owner;
REVOKE ALL ON FUNCTION results.end_with_account() FROM PUBLIC;
CREATE TRIGGER end_results AFTER UPDATE OF account_id ON vault.credentials FOR EACH ROW
    WHEN (OLD.account_id IS DISTINCT FROM NEW.account_id) EXECUTE FUNCTION results.end_with_account();
"""

# Null: what is known of the client decides (core.known_clients).
BUDGETS = """
ALTER TABLE auth.api_tokens ADD COLUMN result_tokens integer CHECK (result_tokens BETWEEN 200 AND 50000);
ALTER TABLE auth.clients ADD COLUMN result_tokens integer CHECK (result_tokens BETWEEN 200 AND 50000);
DROP TRIGGER raise_generation ON auth.clients;
CREATE TRIGGER raise_generation AFTER UPDATE OF disabled_at, scopes, result_text, result_tokens OR DELETE
    ON auth.clients FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""

BEFORE = """
DROP TRIGGER raise_generation ON auth.clients;
CREATE TRIGGER raise_generation AFTER UPDATE OF disabled_at, scopes, result_text OR DELETE ON auth.clients
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
ALTER TABLE auth.clients DROP COLUMN result_tokens;
ALTER TABLE auth.api_tokens DROP COLUMN result_tokens;
DROP TRIGGER end_results ON vault.credentials;
DROP FUNCTION results.end_with_account();
DROP FUNCTION results.sweep(timestamptz);
DROP TABLE results.results;
DROP SCHEMA results;
"""


def upgrade() -> None:
    for script in (TABLE, FUNCTIONS, BUDGETS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    run_script(op.get_bind(), BEFORE)
