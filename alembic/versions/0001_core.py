"""Tenants, users, roles, permissions, services, API tokens; one generation per tenant.

Row-level security is forced on every table that has a tenant (threat-model.md §3.5). Policies named
``by_tenant`` are the rule; every other policy is an exception that the catalogue test lists by name.
"""

from alembic import op

from core.migrations import run_script

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SCHEMAS = ("core", "auth", "vault", "audit", "modules")

CURRENT_TENANT = """
CREATE FUNCTION core.current_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('app.tenant_id', true), '')::uuid;
CREATE FUNCTION core.current_user_id() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('app.user_id', true), '')::uuid;
"""

TABLES = """
CREATE TABLE core.tenants (
    tenant_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    slug text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
    record_arguments boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE core.generations (
    tenant_id uuid PRIMARY KEY REFERENCES core.tenants ON DELETE CASCADE,
    value bigint NOT NULL DEFAULT 1,
    raised_by xid8
);
CREATE TABLE core.users (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    email text NOT NULL CHECK (length(email) BETWEEN 3 AND 320 AND email = lower(email)),
    name text NOT NULL DEFAULT '' CHECK (length(name) <= 200),
    system_role text NOT NULL DEFAULT 'user' CHECK (system_role IN ('admin', 'user')),
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, email)
);
CREATE TABLE core.roles (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    priority integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
);
CREATE TABLE core.role_assignments (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, user_id, role_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE core.permissions (
    tenant_id uuid NOT NULL,
    role_id uuid NOT NULL,
    effect text NOT NULL CHECK (effect IN ('allow', 'deny')),
    permission text NOT NULL CHECK (length(permission) BETWEEN 1 AND 200),
    PRIMARY KEY (tenant_id, role_id, effect, permission),
    FOREIGN KEY (tenant_id, role_id) REFERENCES core.roles (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE core.services (
    tenant_id uuid NOT NULL REFERENCES core.tenants ON DELETE CASCADE,
    module text NOT NULL CHECK (module ~ '^[a-z][a-z0-9_]{0,62}$'),
    enabled boolean NOT NULL DEFAULT true,
    settings jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, module)
);
CREATE TABLE auth.api_tokens (
    tenant_id uuid NOT NULL,
    id text NOT NULL UNIQUE CHECK (id ~ '^[0-9A-Za-z]{12}$'),
    user_id uuid NOT NULL,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    pepper_kid text NOT NULL,
    secret_hmac bytea NOT NULL CHECK (length(secret_hmac) = 32),
    scopes text[] NOT NULL,
    read_only boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON auth.api_tokens (tenant_id, user_id);
CREATE INDEX ON core.role_assignments (tenant_id, role_id);
"""

TENANT_TABLES = (
    "core.tenants",
    "core.generations",
    "core.users",
    "core.roles",
    "core.role_assignments",
    "core.permissions",
    "core.services",
    "auth.api_tokens",
)

# The look-ups that happen before a tenant is known: SELECT only, each on one key (or, for the deployment's
# list of tenants, on the console's role alone).
LOOKUPS = """
CREATE POLICY lookup_by_slug ON core.tenants FOR SELECT TO mcpist_console
    USING (slug = current_setting('app.lookup_slug', true));
CREATE POLICY deployment_lists_tenants ON core.tenants FOR SELECT TO mcpist_console
    USING (current_setting('app.deployment', true) = 'list');
CREATE POLICY lookup_by_token_id ON auth.api_tokens FOR SELECT TO mcpist_broker
    USING (id = current_setting('app.lookup_token_id', true));
CREATE POLICY poll_by_tenants ON core.generations FOR SELECT TO mcpist_gateway, mcpist_broker
    USING (tenant_id = ANY (string_to_array(nullif(current_setting('app.lookup_tenants', true), ''), ',')::uuid[]));
"""

# SECURITY DEFINER, so that no application role needs to write core.generations; the caller's tenant setting
# still holds inside, so the forced policy lets it touch its own tenant's row only. Raised once a transaction.
GENERATION = """
CREATE FUNCTION core.raise_generation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t uuid;
    v bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN t := OLD.tenant_id; ELSE t := NEW.tenant_id; END IF;
    UPDATE core.generations SET value = value + 1, raised_by = pg_current_xact_id()
        WHERE tenant_id = t AND raised_by IS DISTINCT FROM pg_current_xact_id() RETURNING value INTO v;
    IF FOUND THEN PERFORM pg_notify('mcpist_generation', t || ' ' || v); END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION core.first_generation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO core.generations (tenant_id) VALUES (NEW.tenant_id);
    RETURN NULL;
END $$;
CREATE TRIGGER first_generation AFTER INSERT ON core.tenants
    FOR EACH ROW EXECUTE FUNCTION core.first_generation();
CREATE TRIGGER raise_generation AFTER UPDATE ON core.tenants
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation AFTER UPDATE OF status, system_role, email OR DELETE ON core.users
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation AFTER UPDATE OR DELETE ON core.roles
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation AFTER INSERT OR UPDATE OR DELETE ON core.role_assignments
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation AFTER INSERT OR UPDATE OR DELETE ON core.permissions
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation AFTER INSERT OR UPDATE OR DELETE ON core.services
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation
    AFTER UPDATE OF secret_hmac, scopes, read_only, expires_at, revoked_at OR DELETE ON auth.api_tokens
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""

GRANTS = """
GRANT USAGE ON SCHEMA core TO mcpist_gateway, mcpist_broker, mcpist_console;
GRANT USAGE ON SCHEMA audit TO mcpist_gateway, mcpist_broker, mcpist_console;
GRANT USAGE ON SCHEMA modules TO mcpist_gateway;
GRANT USAGE ON SCHEMA auth, vault TO mcpist_broker;
GRANT EXECUTE ON FUNCTION core.current_tenant(), core.current_user_id()
    TO mcpist_gateway, mcpist_broker, mcpist_console;
GRANT SELECT ON ALL TABLES IN SCHEMA core TO mcpist_gateway, mcpist_broker;
GRANT SELECT, INSERT, UPDATE, DELETE
    ON core.tenants, core.users, core.roles, core.role_assignments, core.permissions, core.services TO mcpist_console;
GRANT SELECT ON core.generations TO mcpist_console;
GRANT SELECT, INSERT, UPDATE, DELETE ON auth.api_tokens TO mcpist_broker;
"""


def upgrade() -> None:
    for schema in SCHEMAS:
        op.execute(f"CREATE SCHEMA {schema}")
    op.execute("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
    run_script(op.get_bind(), CURRENT_TENANT)
    run_script(op.get_bind(), TABLES)
    for table in TENANT_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY by_tenant ON {table} "
            "USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant())"
        )
    run_script(op.get_bind(), LOOKUPS)
    run_script(op.get_bind(), GENERATION)
    run_script(op.get_bind(), GRANTS)


def downgrade() -> None:
    for schema in reversed(SCHEMAS):
        op.execute(f"DROP SCHEMA {schema} CASCADE")
    op.execute("ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC")
