"""Refreshes that are fair between tenants and quiet for gateways, and grants whose end is known.

What a vendor answers is counted by the token endpoint that was asked, not by a provider's name, which a tenant may
choose. A new version of a token alone raises no generation: nothing that is cached is wrong then. Accounts of who is
suspended are not refreshed ahead of time. Before a grant ends for good, its owner is told.
"""

from alembic import op

from core.migrations import run_script

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# `endpoint` is where the account's refresh token was sent last: an origin of the world, or a tenant's id and one that
# the tenant has chosen. `ends_at` is the end of the grant, whatever is done; `refresh_ends_at` what the vendor last
# said of the refresh token; `told_end` the end that the owner was told of.
COLUMNS = """
ALTER TABLE vault.accounts
    ADD COLUMN endpoint text NOT NULL DEFAULT '' CHECK (length(endpoint) <= 2100),
    ADD COLUMN granted_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN ends_at timestamptz,
    ADD COLUMN refresh_ends_at timestamptz,
    ADD COLUMN told_end timestamptz;
UPDATE vault.accounts SET granted_at = created_at;
DROP INDEX vault.accounts_attempted;
CREATE INDEX accounts_attempted ON vault.accounts (endpoint, attempted_at);
ALTER TABLE vault.notices DROP CONSTRAINT notices_about_check;
ALTER TABLE vault.notices ADD CONSTRAINT notices_about_check
    CHECK (about IN ('account', 'account_end', 'credential', 'oauth_client'));
"""

POLICIES = """
CREATE POLICY owner_sees_who_is_suspended ON core.users FOR SELECT TO mcpist_owner USING (status = 'suspended');
CREATE POLICY owner_sees_who_is_suspended ON core.tenants FOR SELECT TO mcpist_owner USING (status = 'suspended');
"""

DROPPED = """
DROP FUNCTION vault.due_accounts(interval, integer);
DROP FUNCTION vault.vendor_answers(text, interval);
DROP FUNCTION vault.undo_marks(text, interval);
"""

# Of many that are due, each tenant's come in turn, and of a tenant's those of each OAuth client: who has a thousand
# waits behind nobody, and nobody behind them.
DUE = """
CREATE FUNCTION vault.due_accounts(used_within interval, most_each integer, most integer)
    RETURNS TABLE (tenant_id uuid, account_id uuid, client_id uuid)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH clock AS MATERIALIZED (SELECT vault.clock() AS now), due AS (
        SELECT a.tenant_id, a.id, a.user_id, a.oauth_client_id, a.refresh_at AS since
        FROM vault.accounts a
        WHERE a.status = 'active' AND a.refresh IS NOT NULL AND a.refresh_at < (SELECT now FROM clock)
            AND a.last_used_at > (SELECT now FROM clock) - used_within
            AND (a.next_try_at IS NULL OR a.next_try_at < (SELECT now FROM clock))
            AND (a.lease_until IS NULL OR a.lease_until < (SELECT now FROM clock))
        UNION ALL
        SELECT a.tenant_id, a.id, a.user_id, a.oauth_client_id, a.idle_at
        FROM vault.accounts a
        WHERE a.status = 'active' AND a.refresh IS NOT NULL AND a.idle_at < (SELECT now FROM clock)
            AND (a.next_try_at IS NULL OR a.next_try_at < (SELECT now FROM clock))
            AND (a.lease_until IS NULL OR a.lease_until < (SELECT now FROM clock))
    ), wanted AS (
        SELECT due.tenant_id, due.id, due.oauth_client_id, min(due.since) AS since FROM due
        JOIN vault.oauth_clients c ON c.tenant_id = due.tenant_id AND c.id = due.oauth_client_id
        WHERE (c.breaker_until IS NULL OR c.breaker_until < (SELECT now FROM clock))
            AND NOT EXISTS (SELECT FROM core.tenants t WHERE t.tenant_id = due.tenant_id AND t.status = 'suspended')
            AND NOT EXISTS (SELECT FROM core.users u
                WHERE u.tenant_id = due.tenant_id AND u.id = due.user_id AND u.status = 'suspended')
        GROUP BY due.tenant_id, due.id, due.oauth_client_id
    ), of_client AS (
        SELECT w.*, row_number() OVER (PARTITION BY w.tenant_id, w.oauth_client_id ORDER BY w.since) AS turn
        FROM wanted w
    ), of_tenant AS (
        SELECT o.*, row_number() OVER (PARTITION BY o.tenant_id ORDER BY o.turn, o.since) AS round FROM of_client o
        WHERE o.turn <= most_each
    )
    SELECT f.tenant_id, f.id, f.oauth_client_id FROM of_tenant f ORDER BY f.round, f.since LIMIT most
$$;
"""

# Of a tenant with more refusals than `most_of_one`, so many count, and as much less of what it attempted: a company
# that ends all its grants on one day speaks for nobody else.
WAVES = """
CREATE FUNCTION vault.vendor_answers(of_endpoint text, within interval, most_of_one integer)
    RETURNS TABLE (attempted float8, refused float8)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH of_tenant AS (
        SELECT count(*) AS attempted, count(*) FILTER (WHERE a.last_error_class = 'permanent') AS refused
        FROM vault.accounts a
        WHERE a.endpoint = of_endpoint AND a.attempted_at > (SELECT vault.clock()) - within GROUP BY a.tenant_id
    ), counted AS (
        SELECT t.*, least(1.0, most_of_one / greatest(t.refused, 1)::float8) AS share FROM of_tenant t
    )
    SELECT coalesce(sum(c.attempted * c.share), 0)::float8, coalesce(sum(c.refused * c.share), 0)::float8 FROM counted c
$$;
CREATE FUNCTION vault.undo_marks(of_endpoint text, within interval, of_tenant uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    undone bigint;
BEGIN
    PERFORM set_config('app.generations', 'all', true);
    UPDATE vault.accounts
        SET status = 'active', reason = '', reauth_at = NULL, refused_at = coalesce(refused_at, reauth_at)
        WHERE endpoint = of_endpoint AND status = 'needs_reauth' AND last_error_class = 'permanent' AND NOT uncertain
        AND access IS NOT NULL AND reauth_at > (SELECT vault.clock()) - within
        AND (of_tenant IS NULL OR tenant_id = of_tenant);
    GET DIAGNOSTICS undone = ROW_COUNT;
    PERFORM set_config('app.generations', '', true);
    RETURN undone;
END $$;
"""

# A week ahead, once for each end. Grants of less than two weeks are the vendor's way of life, and nobody's news.
ENDS = """
CREATE FUNCTION vault.announce_ends() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at timestamptz := vault.clock();
    announced bigint;
BEGIN
    WITH known AS (
        SELECT a.tenant_id, a.id, least(a.ends_at, CASE
            WHEN a.refresh_ends_at > coalesce(a.refreshed_at, a.granted_at) + interval '7 days' THEN a.refresh_ends_at
        END) AS the_end
        FROM vault.accounts a WHERE a.status = 'active'
    ), told AS (
        UPDATE vault.accounts a SET told_end = k.the_end FROM known k
        WHERE a.tenant_id = k.tenant_id AND a.id = k.id AND a.told_end IS DISTINCT FROM k.the_end
            AND k.the_end > at AND k.the_end <= at + interval '7 days'
            AND k.the_end >= a.granted_at + interval '14 days'
        RETURNING a.tenant_id, a.id
    )
    INSERT INTO vault.notices (tenant_id, about, subject_id, cause)
        SELECT t.tenant_id, 'account_end', t.id, 'ending' FROM told t;
    GET DIAGNOSTICS announced = ROW_COUNT;
    RETURN announced;
END $$;
"""

# 1048576 is GRANT_STEP of broker/refresh/store.py: a new grant, which may be another person's or have other rights.
QUIET = """
DROP TRIGGER raise_generation ON vault.accounts;
CREATE TRIGGER raise_generation AFTER INSERT OR DELETE ON vault.accounts
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation_for_change
    AFTER UPDATE OF version, status, reason, scopes, account, vendor_account_id, details ON vault.accounts
    FOR EACH ROW WHEN (
        (OLD.status, OLD.reason, OLD.scopes, OLD.account, OLD.vendor_account_id, OLD.details)
            IS DISTINCT FROM (NEW.status, NEW.reason, NEW.scopes, NEW.account, NEW.vendor_account_id, NEW.details)
        OR NEW.version - OLD.version >= 1048576
    ) EXECUTE FUNCTION core.raise_generation();
DROP TRIGGER raise_generation ON vault.oauth_clients;
CREATE TRIGGER raise_generation AFTER INSERT OR DELETE ON vault.oauth_clients
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
CREATE TRIGGER raise_generation_for_change
    AFTER UPDATE OF version, state, cause, settings, role_id ON vault.oauth_clients
    FOR EACH ROW WHEN (
        (OLD.version, OLD.state, OLD.cause, OLD.settings, OLD.role_id)
            IS DISTINCT FROM (NEW.version, NEW.state, NEW.cause, NEW.settings, NEW.role_id)
    ) EXECUTE FUNCTION core.raise_generation();
"""

RIGHTS = """
GRANT EXECUTE ON FUNCTION
    vault.due_accounts(interval, integer, integer), vault.vendor_answers(text, interval, integer),
    vault.undo_marks(text, interval, uuid), vault.announce_ends()
    TO mcpist_broker;
"""


def upgrade() -> None:
    for script in (COLUMNS, POLICIES, DROPPED, DUE, WAVES, ENDS, QUIET, RIGHTS):
        run_script(op.get_bind(), script)


BEFORE = """
DROP FUNCTION vault.announce_ends();
DROP FUNCTION vault.due_accounts(interval, integer, integer);
DROP FUNCTION vault.vendor_answers(text, interval, integer);
DROP FUNCTION vault.undo_marks(text, interval, uuid);
DELETE FROM vault.notices WHERE about = 'account_end';
ALTER TABLE vault.notices DROP CONSTRAINT notices_about_check;
ALTER TABLE vault.notices ADD CONSTRAINT notices_about_check CHECK (about IN ('account', 'credential', 'oauth_client'));
DROP INDEX vault.accounts_attempted;
CREATE INDEX accounts_attempted ON vault.accounts (provider, attempted_at);
ALTER TABLE vault.accounts DROP COLUMN endpoint, DROP COLUMN granted_at, DROP COLUMN ends_at,
    DROP COLUMN refresh_ends_at, DROP COLUMN told_end;
DROP POLICY owner_sees_who_is_suspended ON core.users;
DROP POLICY owner_sees_who_is_suspended ON core.tenants;
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
GRANT EXECUTE ON FUNCTION
    vault.due_accounts(interval, integer), vault.vendor_answers(text, interval), vault.undo_marks(text, interval)
    TO mcpist_broker;
DROP TRIGGER raise_generation_for_change ON vault.accounts;
DROP TRIGGER raise_generation ON vault.accounts;
CREATE TRIGGER raise_generation
    AFTER INSERT OR DELETE OR UPDATE OF version, status, reason, scopes, account, vendor_account_id, details
    ON vault.accounts FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
DROP TRIGGER raise_generation_for_change ON vault.oauth_clients;
DROP TRIGGER raise_generation ON vault.oauth_clients;
CREATE TRIGGER raise_generation
    AFTER INSERT OR DELETE OR UPDATE OF version, state, cause, settings, role_id ON vault.oauth_clients
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""


def downgrade() -> None:
    run_script(op.get_bind(), BEFORE)
