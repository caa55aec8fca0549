"""Linked vendor accounts: OAuth clients, accounts with their tokens, answers that came late, history, connect flows
and the providers that a tenant adds.

An account is one OAuth grant: its tokens are refreshed as one unit, however many modules use it. The lease columns are
the committed intent of a refresh (threat-model.md §3.2): a row that still names an owner after its lease has run
out tells that a refresh was cut off.
"""

from alembic import op

from core.migrations import run_script

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# The one clock of the refresh protocol, which several processes share; tests put another in its place.
CLOCK = """
CREATE FUNCTION vault.clock() RETURNS timestamptz LANGUAGE sql VOLATILE RETURN clock_timestamp();
"""

# A sealed field: format 1 of broker/vault/envelope.py, and no other.
SEALED = "octet_length({0}) > 45 AND substring({0} FROM 1 FOR 1) = '\\x01'::bytea"
ID = "^[a-z0-9][a-z0-9_-]{0,39}$"

PROVIDERS = f"""
CREATE TABLE vault.providers (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id text NOT NULL CHECK (id ~ '{ID}'),
    document jsonb NOT NULL CHECK (jsonb_typeof(document) = 'object' AND octet_length(document::text) <= 65536),
    version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);
CREATE TABLE vault.oauth_clients (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL,
    provider text NOT NULL CHECK (provider ~ '{ID}'),
    role_id uuid,
    client_id text NOT NULL CHECK (length(client_id) BETWEEN 1 AND 2000),
    secret bytea CHECK ({SEALED.format("secret")}),
    auth_method text NOT NULL DEFAULT '' CHECK (length(auth_method) <= 40),
    settings jsonb NOT NULL DEFAULT '{{}}' CHECK (jsonb_typeof(settings) = 'object'),
    version bigint NOT NULL CHECK (version > 0),
    state text NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'misconfigured')),
    cause text NOT NULL DEFAULT '' CHECK (length(cause) <= 40),
    breaker_until timestamptz,
    breaker_failures integer NOT NULL DEFAULT 0 CHECK (breaker_failures >= 0),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE NULLS NOT DISTINCT (tenant_id, provider, role_id),
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON vault.oauth_clients (tenant_id, role_id);
"""

# `expires_at` is empty for an access token without an end; `refresh` where the vendor gave none. Tokens of an account
# that needs its owner again are kept for seven days, then both are empty.
# `presented_at` is when the refresh token of this version was first sent, `refused_at` when it was first refused.
# Without its OAuth client an account cannot be refreshed, so it goes with it.
ACCOUNTS = f"""
CREATE TABLE vault.accounts (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    provider text NOT NULL CHECK (provider ~ '{ID}'),
    oauth_client_id uuid NOT NULL,
    user_id uuid,
    role_id uuid,
    vendor_account_id text NOT NULL DEFAULT '' CHECK (length(vendor_account_id) <= 500),
    account text NOT NULL DEFAULT '' CHECK (length(account) <= 200),
    scopes text[] NOT NULL DEFAULT '{{}}',
    details jsonb NOT NULL DEFAULT '{{}}' CHECK (jsonb_typeof(details) = 'object'),
    version bigint NOT NULL CHECK (version > 0),
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'needs_reauth', 'disabled')),
    reason text NOT NULL DEFAULT '' CHECK (length(reason) <= 40),
    access bytea CHECK ({SEALED.format("access")}),
    refresh bytea CHECK ({SEALED.format("refresh")}),
    expires_at timestamptz,
    refresh_at timestamptz,
    idle_at timestamptz,
    lease_owner uuid,
    lease_until timestamptz,
    attempt_no integer NOT NULL DEFAULT 0 CHECK (attempt_no >= 0),
    uncertain boolean NOT NULL DEFAULT false,
    next_try_at timestamptz,
    last_error_class text NOT NULL DEFAULT '' CHECK (length(last_error_class) <= 40),
    attempted_at timestamptz,
    presented_at timestamptz,
    refused_at timestamptz,
    refreshed_at timestamptz,
    last_used_at timestamptz,
    reauth_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (num_nonnulls(user_id, role_id) = 1),
    CHECK (status <> 'active' OR access IS NOT NULL),
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    FOREIGN KEY (tenant_id, oauth_client_id) REFERENCES vault.oauth_clients (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON vault.accounts (tenant_id, oauth_client_id);
CREATE INDEX ON vault.accounts (tenant_id, user_id);
CREATE INDEX ON vault.accounts (tenant_id, role_id);
CREATE INDEX accounts_to_refresh ON vault.accounts (refresh_at) WHERE status = 'active' AND refresh IS NOT NULL;
CREATE INDEX accounts_to_keep_alive ON vault.accounts (idle_at) WHERE status = 'active' AND refresh IS NOT NULL;
CREATE INDEX accounts_attempted ON vault.accounts (provider, attempted_at);
CREATE TABLE vault.candidates (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    presented_version bigint NOT NULL CHECK (presented_version > 0),
    refresh bytea NOT NULL CHECK ({SEALED.format("refresh")}),
    access bytea CHECK ({SEALED.format("access")}),
    expires_at timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, account_id) REFERENCES vault.accounts (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON vault.candidates (tenant_id, account_id);
CREATE TABLE vault.account_events (
    tenant_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    account_id uuid NOT NULL,
    at timestamptz NOT NULL,
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
    class text NOT NULL DEFAULT '' CHECK (length(class) <= 40),
    detail jsonb NOT NULL DEFAULT '{{}}' CHECK (octet_length(detail::text) <= 8192),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, account_id) REFERENCES vault.accounts (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON vault.account_events (tenant_id, account_id, id);
"""

# `modules` are what shall be connected; `account_id` is the account that gets more scopes or a new grant.
CONNECT_FLOWS = f"""
CREATE TABLE vault.connect_flows (
    tenant_id uuid NOT NULL,
    state_hash bytea NOT NULL UNIQUE CHECK (octet_length(state_hash) = 32),
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    session_id uuid NOT NULL,
    provider text NOT NULL CHECK (provider ~ '{ID}'),
    oauth_client_id uuid NOT NULL,
    modules text[] NOT NULL CHECK (cardinality(modules) BETWEEN 1 AND 50),
    role_id uuid,
    account_id uuid,
    issuer text NOT NULL DEFAULT '' CHECK (length(issuer) <= 500),
    scopes text[] NOT NULL DEFAULT '{{}}',
    pkce bytea CHECK ({SEALED.format("pkce")}),
    redirect_uri text NOT NULL CHECK (length(redirect_uri) BETWEEN 1 AND 2000),
    next text NOT NULL DEFAULT '' CHECK (length(next) <= 8192),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    consumed_at timestamptz,
    PRIMARY KEY (tenant_id, state_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES auth.sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, oauth_client_id) REFERENCES vault.oauth_clients (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, account_id) REFERENCES vault.accounts (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON vault.connect_flows (tenant_id, user_id);
CREATE INDEX ON vault.connect_flows (tenant_id, session_id);
CREATE INDEX ON vault.connect_flows (tenant_id, oauth_client_id);
CREATE INDEX ON vault.connect_flows (tenant_id, role_id);
CREATE INDEX ON vault.connect_flows (tenant_id, account_id);
CREATE INDEX ON vault.connect_flows (expires_at);
"""

# A credential of type B has no secret of its own: it is a module's way to an account.
CREDENTIALS = """
ALTER TABLE vault.credentials DROP CONSTRAINT credentials_type_check;
ALTER TABLE vault.credentials ALTER COLUMN secret DROP NOT NULL;
ALTER TABLE vault.credentials ADD COLUMN account_id uuid;
ALTER TABLE vault.credentials ADD CONSTRAINT credentials_type_check CHECK (
    type IN ('A', 'B') AND (type = 'A') = (secret IS NOT NULL) AND (type = 'B') = (account_id IS NOT NULL)
);
ALTER TABLE vault.credentials ADD FOREIGN KEY (tenant_id, account_id)
    REFERENCES vault.accounts (tenant_id, id) ON DELETE CASCADE;
CREATE INDEX ON vault.credentials (tenant_id, account_id);
CREATE TRIGGER raise_generation_for_account AFTER UPDATE OF type, account_id ON vault.credentials
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""

TENANT_TABLES = (
    "vault.providers",
    "vault.oauth_clients",
    "vault.accounts",
    "vault.candidates",
    "vault.account_events",
    "vault.connect_flows",
)

# The callback of a vendor comes before a tenant is known: SELECT only, on one key.
POLICIES = """
CREATE POLICY lookup_by_state ON vault.connect_flows FOR SELECT TO mcpist_broker
    USING (state_hash = decode(nullif(current_setting('app.lookup_state', true), ''), 'hex'));
CREATE POLICY owner_finds_due ON vault.accounts FOR SELECT TO mcpist_owner USING (true);
CREATE POLICY owner_shreds ON vault.accounts FOR UPDATE TO mcpist_owner USING (true) WITH CHECK (true);
CREATE POLICY owner_sees_breakers ON vault.oauth_clients FOR SELECT TO mcpist_owner USING (true);
CREATE POLICY owner_sweeps_candidates ON vault.candidates TO mcpist_owner USING (true);
CREATE POLICY owner_sweeps_flows ON vault.connect_flows TO mcpist_owner USING (true);
"""

# What concerns the accounts of all tenants: which are due (ids only), how a vendor answers, and what is over. Where a
# vendor refuses all of a sudden, those that were taken for revoked in the last minutes are so no more, in every tenant.
FUNCTIONS = """
CREATE FUNCTION vault.due_accounts(used_within interval, most integer) RETURNS TABLE (tenant_id uuid, account_id uuid)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH clock AS MATERIALIZED (SELECT vault.clock() AS now), due AS (
        SELECT a.tenant_id, a.id, a.oauth_client_id, a.refresh_at AS since
        FROM vault.accounts a
        WHERE a.status = 'active' AND a.refresh IS NOT NULL AND a.refresh_at < (SELECT now FROM clock)
            AND a.last_used_at > (SELECT now FROM clock) - used_within
            AND (a.next_try_at IS NULL OR a.next_try_at < (SELECT now FROM clock))
            AND (a.lease_until IS NULL OR a.lease_until < (SELECT now FROM clock))
        UNION ALL
        SELECT a.tenant_id, a.id, a.oauth_client_id, a.idle_at
        FROM vault.accounts a
        WHERE a.status = 'active' AND a.refresh IS NOT NULL AND a.idle_at < (SELECT now FROM clock)
            AND (a.next_try_at IS NULL OR a.next_try_at < (SELECT now FROM clock))
            AND (a.lease_until IS NULL OR a.lease_until < (SELECT now FROM clock))
    )
    SELECT due.tenant_id, due.id FROM due
    JOIN vault.oauth_clients c ON c.tenant_id = due.tenant_id AND c.id = due.oauth_client_id
    WHERE c.breaker_until IS NULL OR c.breaker_until < (SELECT now FROM clock)
    GROUP BY due.tenant_id, due.id ORDER BY min(due.since) LIMIT most
$$;
CREATE FUNCTION vault.vendor_answers(of_provider text, within interval)
    RETURNS TABLE (attempted bigint, refused bigint)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*), count(*) FILTER (WHERE a.last_error_class = 'permanent') FROM vault.accounts a
    WHERE a.provider = of_provider AND a.attempted_at > (SELECT vault.clock()) - within
$$;
CREATE FUNCTION vault.undo_marks(of_provider text, within interval) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    undone bigint;
BEGIN
    PERFORM set_config('app.generations', 'all', true);
    UPDATE vault.accounts
        SET status = 'active', reason = '', reauth_at = NULL, refused_at = coalesce(refused_at, reauth_at)
        WHERE provider = of_provider AND status = 'needs_reauth' AND last_error_class = 'permanent' AND NOT uncertain
        AND access IS NOT NULL AND reauth_at > (SELECT vault.clock()) - within;
    GET DIAGNOSTICS undone = ROW_COUNT;
    PERFORM set_config('app.generations', '', true);
    RETURN undone;
END $$;
CREATE FUNCTION vault.sweep() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    week_ago timestamptz := vault.clock() - interval '7 days';
    swept bigint := 0;
    n bigint;
BEGIN
    DELETE FROM vault.connect_flows WHERE expires_at < vault.clock() - interval '1 day';
    GET DIAGNOSTICS n = ROW_COUNT; swept := swept + n;
    DELETE FROM vault.candidates WHERE created_at < week_ago; GET DIAGNOSTICS n = ROW_COUNT; swept := swept + n;
    UPDATE vault.accounts SET access = NULL, refresh = NULL
        WHERE (access IS NOT NULL OR refresh IS NOT NULL) AND (status = 'needs_reauth' AND reauth_at < week_ago
            OR status = 'disabled' AND reason = 'unconfirmed' AND created_at < vault.clock() - interval '1 day');
    GET DIAGNOSTICS n = ROW_COUNT; swept := swept + n;
    RETURN swept;
END $$;
"""

FUNCTION_NAMES = (
    "sweep()",
    "undo_marks(text, interval)",
    "vendor_answers(text, interval)",
    "due_accounts(interval, integer)",
)

# Not for the lease's columns, nor for a token that is sealed anew under another key: nothing cached is wrong then.
GENERATION = """
CREATE TRIGGER raise_generation
    AFTER INSERT OR DELETE OR UPDATE OF version, status, reason, scopes, account, vendor_account_id, details
    ON vault.accounts FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation
    AFTER INSERT OR DELETE OR UPDATE OF version, state, cause, settings, role_id ON vault.oauth_clients
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation AFTER INSERT OR DELETE OR UPDATE ON vault.providers
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""

RIGHTS = """
GRANT SELECT, INSERT, UPDATE, DELETE ON
    vault.providers, vault.oauth_clients, vault.accounts, vault.candidates, vault.account_events, vault.connect_flows
    TO mcpist_broker;
GRANT EXECUTE ON FUNCTION
    vault.clock(), vault.due_accounts(interval, integer), vault.vendor_answers(text, interval),
    vault.undo_marks(text, interval), vault.sweep()
    TO mcpist_broker;
"""


def upgrade() -> None:
    for script in (CLOCK, PROVIDERS, ACCOUNTS, CONNECT_FLOWS, CREDENTIALS):
        run_script(op.get_bind(), script)
    for table in TENANT_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY by_tenant ON {table} "
            "USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())"
        )
    for script in (POLICIES, FUNCTIONS, GENERATION, RIGHTS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    for function in FUNCTION_NAMES:
        op.execute(f"DROP FUNCTION vault.{function}")
    op.execute("DROP TRIGGER raise_generation_for_account ON vault.credentials")
    op.execute("ALTER TABLE vault.credentials NO FORCE ROW LEVEL SECURITY")  # or the owner sees none of them
    op.execute("DELETE FROM vault.credentials WHERE type = 'B'")
    op.execute("ALTER TABLE vault.credentials FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE vault.credentials DROP CONSTRAINT credentials_type_check")
    op.execute("ALTER TABLE vault.credentials DROP COLUMN account_id")
    op.execute("ALTER TABLE vault.credentials ALTER COLUMN secret SET NOT NULL")
    op.execute("ALTER TABLE vault.credentials ADD CONSTRAINT credentials_type_check CHECK (type = 'A')")
    for table in reversed(TENANT_TABLES):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP FUNCTION vault.clock()")
