"""Identity: the allow list, accounts at identity providers, browser sessions, one-time links, and everything that the
OAuth 2.1 authorization server keeps.

Of every secret (session, link, code, refresh token, client secret) only a hash is stored. What exists before a tenant
is known (a sign-in under way, a dynamically registered client, a signing key) has no tenant and belongs to the broker.
"""

from alembic import op

from core.migrations import run_script

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# An entry is an e-mail address, or "@" and a domain.
DIRECTORY = """
ALTER TABLE core.tenants ADD COLUMN longest_token_days integer CHECK (longest_token_days BETWEEN 1 AND 3650);
CREATE TABLE core.allow_list (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    entry text NOT NULL CHECK (length(entry) BETWEEN 3 AND 320 AND entry = lower(entry) AND entry ~ '^[^@ ]*@[^@ ]+$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, entry)
);
CREATE INDEX ON core.allow_list (entry);
"""

PEOPLE = """
CREATE TABLE auth.identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    issuer text NOT NULL CHECK (length(issuer) BETWEEN 1 AND 500),
    subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 500),
    user_id uuid NOT NULL,
    email text NOT NULL CHECK (length(email) <= 320),
    created_at timestamptz NOT NULL,
    last_sign_in_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, issuer, subject),
    UNIQUE (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.identities (issuer, subject);
CREATE INDEX ON auth.identities (tenant_id, user_id);
CREATE TABLE auth.sessions (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    secret_hash bytea NOT NULL UNIQUE CHECK (octet_length(secret_hash) = 32),
    method text NOT NULL CHECK (length(method) BETWEEN 1 AND 100),
    created_at timestamptz NOT NULL,
    authenticated_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    address text NOT NULL DEFAULT '' CHECK (length(address) <= 100),
    user_agent text NOT NULL DEFAULT '' CHECK (length(user_agent) <= 300),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.sessions (tenant_id, user_id);
CREATE INDEX ON auth.sessions (expires_at);
CREATE TABLE auth.one_time_links (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    secret_hash bytea NOT NULL UNIQUE CHECK (octet_length(secret_hash) = 32),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    consumed_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.one_time_links (tenant_id, user_id);
CREATE TABLE auth.sign_ins (
    browser_hash bytea PRIMARY KEY CHECK (octet_length(browser_hash) = 32),
    provider text NOT NULL CHECK (length(provider) BETWEEN 1 AND 100),
    next text NOT NULL CHECK (length(next) <= 8192),
    linking text NOT NULL DEFAULT '' CHECK (length(linking) <= 100),
    state text NOT NULL DEFAULT 'started' CHECK (state IN ('started', 'verified', 'done')),
    issuer text NOT NULL DEFAULT '' CHECK (length(issuer) <= 500),
    subject text NOT NULL DEFAULT '' CHECK (length(subject) <= 500),
    email text NOT NULL DEFAULT '' CHECK (length(email) <= 320),
    name text NOT NULL DEFAULT '' CHECK (length(name) <= 200),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON auth.sign_ins (expires_at);
"""

# A client that a tenant has registered. One that has registered itself, or a metadata document, has no tenant.
CLIENTS = """
CREATE TABLE auth.clients (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id text NOT NULL UNIQUE CHECK (id ~ '^[0-9A-Za-z_-]{8,100}$'),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    auth_method text NOT NULL
        CHECK (auth_method IN ('none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt')),
    pepper_kid text,
    secret_hmac bytea CHECK (octet_length(secret_hmac) = 32),
    jwks jsonb,
    redirect_uris text[] NOT NULL DEFAULT '{}',
    grant_types text[] NOT NULL,
    scopes text[] NOT NULL,
    user_id uuid,
    created_at timestamptz NOT NULL,
    disabled_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CHECK ((auth_method LIKE 'client_secret_%') = (secret_hmac IS NOT NULL AND pepper_kid IS NOT NULL)),
    CHECK ((auth_method = 'private_key_jwt') = (jwks IS NOT NULL)),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.clients (tenant_id, user_id);
CREATE TABLE auth.dynamic_clients (
    id text PRIMARY KEY CHECK (id ~ '^dyn_[0-9A-Za-z]{22}$'),
    name text NOT NULL CHECK (length(name) <= 200),
    redirect_uris text[] NOT NULL,
    application_type text NOT NULL DEFAULT 'web' CHECK (application_type IN ('web', 'native')),
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE INDEX ON auth.dynamic_clients (coalesce(last_used_at, created_at));
CREATE TABLE auth.trusted_issuers (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    issuer text NOT NULL CHECK (length(issuer) BETWEEN 1 AND 500),
    jwks_uri text NOT NULL CHECK (length(jwks_uri) BETWEEN 1 AND 1000),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, issuer)
);
CREATE INDEX ON auth.trusted_issuers (issuer);
"""

# A grant is what all tokens of one authorization hang on: its end is theirs, on every process within a second. Its
# `issuer` is that of the assertion that it was made on, and empty where there was none; `authenticated_at` is when the
# person had signed in who agreed, null where nobody did.
# A refresh token is `live`; `previous` once its successor is out and until that is first used; then `spent`.
# `replaced` is a successor that was never used before a retry put another in its place.
GRANTS_AND_TOKENS = """
CREATE TABLE auth.consents (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    client_id text NOT NULL CHECK (length(client_id) BETWEEN 1 AND 2000),
    redirect_uri text NOT NULL CHECK (length(redirect_uri) BETWEEN 1 AND 2000),
    scopes text[] NOT NULL,
    given_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, client_id, redirect_uri),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE auth.grants (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('code', 'client_credentials', 'id_jag')),
    client_id text NOT NULL CHECK (length(client_id) BETWEEN 1 AND 2000),
    client_name text NOT NULL CHECK (length(client_name) <= 200),
    scopes text[] NOT NULL,
    resource text NOT NULL CHECK (length(resource) BETWEEN 1 AND 2000),
    issuer text NOT NULL DEFAULT '' CHECK (length(issuer) <= 500),
    authenticated_at timestamptz,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    cause text NOT NULL DEFAULT '' CHECK (length(cause) <= 40),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.grants (tenant_id, user_id);
CREATE INDEX ON auth.grants (expires_at);
CREATE TABLE auth.codes (
    tenant_id uuid NOT NULL,
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    user_id uuid NOT NULL,
    client_id text NOT NULL CHECK (length(client_id) BETWEEN 1 AND 2000),
    client_name text NOT NULL CHECK (length(client_name) <= 200),
    redirect_uri text NOT NULL CHECK (length(redirect_uri) BETWEEN 1 AND 2000),
    scopes text[] NOT NULL,
    resource text NOT NULL CHECK (length(resource) BETWEEN 1 AND 2000),
    challenge text NOT NULL CHECK (challenge ~ '^[0-9A-Za-z_-]{43}$'),
    authenticated_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    consumed_at timestamptz,
    grant_id uuid,
    PRIMARY KEY (tenant_id, hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.codes (tenant_id, user_id);
CREATE INDEX ON auth.codes (expires_at);
CREATE TABLE auth.refresh_tokens (
    tenant_id uuid NOT NULL,
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    grant_id uuid NOT NULL,
    state text NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'previous', 'spent', 'replaced')),
    parent_hash bytea CHECK (octet_length(parent_hash) = 32),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (tenant_id, hash),
    FOREIGN KEY (tenant_id, grant_id) REFERENCES auth.grants (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.refresh_tokens (tenant_id, grant_id);
CREATE INDEX ON auth.refresh_tokens (expires_at);
"""

KEYS = """
CREATE TABLE auth.signing_keys (
    kid text PRIMARY KEY CHECK (length(kid) BETWEEN 1 AND 100),
    algorithm text NOT NULL CHECK (algorithm IN ('RS256', 'ES256')),
    public jsonb NOT NULL,
    kek_id text NOT NULL REFERENCES vault.key_checks,
    wrapped bytea NOT NULL CHECK (octet_length(wrapped) > 0),
    state text NOT NULL CHECK (state IN ('next', 'active', 'retired', 'distrusted')),
    created_at timestamptz NOT NULL,
    activated_at timestamptz,
    retired_at timestamptz
);
CREATE UNIQUE INDEX one_active_signing_key ON auth.signing_keys (state) WHERE state = 'active';
CREATE TABLE auth.used_ids (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON auth.used_ids (expires_at);
"""

TENANT_TABLES = (
    "core.allow_list",
    "auth.identities",
    "auth.sessions",
    "auth.one_time_links",
    "auth.clients",
    "auth.trusted_issuers",
    "auth.consents",
    "auth.grants",
    "auth.codes",
    "auth.refresh_tokens",
)
DEPLOYMENT_TABLES = ("auth.sign_ins", "auth.dynamic_clients", "auth.signing_keys", "auth.used_ids")

# Before a tenant is known: SELECT only, each on one key. A sweeper sees and removes what is over, of every tenant.
POLICIES = """
CREATE POLICY lookup_by_allow_entry ON core.allow_list FOR SELECT TO mcpist_broker
    USING (entry = ANY (string_to_array(nullif(current_setting('app.lookup_allow_entries', true), ''), ' ')));
CREATE POLICY lookup_by_account ON auth.identities FOR SELECT TO mcpist_broker
    USING (issuer || ' ' || subject = current_setting('app.lookup_account', true));
CREATE POLICY lookup_by_session ON auth.sessions FOR SELECT TO mcpist_broker
    USING (secret_hash = decode(nullif(current_setting('app.lookup_session', true), ''), 'hex'));
CREATE POLICY lookup_by_link ON auth.one_time_links FOR SELECT TO mcpist_broker
    USING (secret_hash = decode(nullif(current_setting('app.lookup_link', true), ''), 'hex'));
CREATE POLICY lookup_by_client_id ON auth.clients FOR SELECT TO mcpist_broker
    USING (id = current_setting('app.lookup_client', true));
CREATE POLICY lookup_by_issuer ON auth.trusted_issuers FOR SELECT TO mcpist_broker
    USING (issuer = current_setting('app.lookup_issuer', true));
CREATE POLICY lookup_by_code ON auth.codes FOR SELECT TO mcpist_broker
    USING (hash = decode(nullif(current_setting('app.lookup_code', true), ''), 'hex'));
CREATE POLICY lookup_by_refresh_token ON auth.refresh_tokens FOR SELECT TO mcpist_broker
    USING (hash = decode(nullif(current_setting('app.lookup_refresh_token', true), ''), 'hex'));
CREATE POLICY broker_looks_up_by_slug ON core.tenants FOR SELECT TO mcpist_broker
    USING (slug = current_setting('app.lookup_slug', true));
CREATE POLICY lookup_by_tenants ON core.tenants FOR SELECT TO mcpist_broker
    USING (tenant_id = ANY (string_to_array(nullif(current_setting('app.lookup_tenants', true), ''), ',')::uuid[]));
"""

# What is over is removed by these functions, which see nothing else of any tenant.
SWEEP = """
CREATE POLICY owner_sweeps_sessions ON auth.sessions TO mcpist_owner USING (true);
CREATE POLICY owner_sweeps_links ON auth.one_time_links TO mcpist_owner USING (true);
CREATE POLICY owner_sweeps_codes ON auth.codes TO mcpist_owner USING (true);
CREATE POLICY owner_sweeps_grants ON auth.grants TO mcpist_owner USING (true);
CREATE POLICY owner_sweeps_refresh_tokens ON auth.refresh_tokens TO mcpist_owner USING (true);
CREATE FUNCTION auth.sweep(before timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    swept bigint := 0;
    n bigint;
BEGIN
    DELETE FROM auth.sessions WHERE expires_at < before; GET DIAGNOSTICS n = ROW_COUNT; swept := swept + n;
    DELETE FROM auth.one_time_links WHERE expires_at < before; GET DIAGNOSTICS n = ROW_COUNT; swept := swept + n;
    DELETE FROM auth.codes WHERE expires_at < before; GET DIAGNOSTICS n = ROW_COUNT; swept := swept + n;
    DELETE FROM auth.refresh_tokens WHERE expires_at < before; GET DIAGNOSTICS n = ROW_COUNT; swept := swept + n;
    DELETE FROM auth.grants WHERE expires_at < before; GET DIAGNOSTICS n = ROW_COUNT; swept := swept + n;
    RETURN swept;
END $$;
"""

# A tenant's generation goes with it, so it is raised before: what other processes hold of the tenant is void then.
# Where a signing key is distrusted, every tenant is concerned. The policy counts in the functions only, because
# nobody logs in as the owner, and there only while it is switched on.
GENERATION = """
CREATE FUNCTION core.raise_last_generation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v bigint;
BEGIN
    UPDATE core.generations SET value = value + 1, raised_by = pg_current_xact_id()
        WHERE tenant_id = OLD.tenant_id RETURNING value INTO v;
    PERFORM pg_notify('mcpist_generation', OLD.tenant_id || ' ' || v);
    RETURN OLD;
END $$;
CREATE TRIGGER raise_last_generation BEFORE DELETE ON core.tenants
    FOR EACH ROW EXECUTE FUNCTION core.raise_last_generation();
CREATE POLICY owner_raises_all ON core.generations TO mcpist_owner
    USING (current_setting('app.generations', true) = 'all');
CREATE FUNCTION core.raise_all_generations() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    raised record;
BEGIN
    PERFORM set_config('app.generations', 'all', true);
    FOR raised IN
        UPDATE core.generations SET value = value + 1, raised_by = pg_current_xact_id() RETURNING tenant_id, value
    LOOP
        PERFORM pg_notify('mcpist_generation', raised.tenant_id || ' ' || raised.value);
    END LOOP;
    PERFORM set_config('app.generations', '', true);
END $$;
CREATE TRIGGER raise_generation AFTER UPDATE OF revoked_at ON auth.grants
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation AFTER UPDATE OF ended_at ON auth.sessions
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation AFTER UPDATE OF disabled_at, scopes OR DELETE ON auth.clients
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""

RIGHTS = """
GRANT SELECT, INSERT, UPDATE, DELETE ON core.allow_list TO mcpist_console;
GRANT SELECT ON core.allow_list TO mcpist_broker;
GRANT INSERT (tenant_id, email, name) ON core.users TO mcpist_broker;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    auth.identities, auth.sessions, auth.one_time_links, auth.clients, auth.trusted_issuers, auth.consents,
    auth.grants, auth.codes, auth.refresh_tokens, auth.sign_ins, auth.dynamic_clients, auth.used_ids TO mcpist_broker;
GRANT SELECT, INSERT, UPDATE ON auth.signing_keys TO mcpist_broker;
GRANT EXECUTE ON FUNCTION auth.sweep(timestamptz), core.raise_all_generations() TO mcpist_broker;
"""


def upgrade() -> None:
    for script in (DIRECTORY, PEOPLE, CLIENTS, GRANTS_AND_TOKENS, KEYS):
        run_script(op.get_bind(), script)
    for table in (*TENANT_TABLES, *DEPLOYMENT_TABLES):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    for table in TENANT_TABLES:
        op.execute(
            f"CREATE POLICY by_tenant ON {table} "
            "USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())"
        )
    for table in DEPLOYMENT_TABLES:
        op.execute(f"CREATE POLICY broker_keeps ON {table} TO mcpist_broker USING (true) WITH CHECK (true)")
    for script in (POLICIES, SWEEP, GENERATION, RIGHTS):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    op.execute("DROP FUNCTION auth.sweep(timestamptz)")
    op.execute("DROP POLICY owner_raises_all ON core.generations")
    op.execute("DROP FUNCTION core.raise_all_generations()")
    op.execute("DROP TRIGGER raise_last_generation ON core.tenants")
    op.execute("DROP FUNCTION core.raise_last_generation()")
    op.execute("DROP POLICY broker_looks_up_by_slug ON core.tenants")
    op.execute("DROP POLICY lookup_by_tenants ON core.tenants")
    op.execute("REVOKE INSERT (tenant_id, email, name) ON core.users FROM mcpist_broker")
    for table in reversed((*TENANT_TABLES, *DEPLOYMENT_TABLES)):
        op.execute(f"DROP TABLE {table}")
    op.execute("ALTER TABLE core.tenants DROP COLUMN longest_token_days")
