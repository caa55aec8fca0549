"""Jobs: work that goes on after the call that asked for it, run by workers (docs/decisions/0120-a-queue-of-our-own.md).

A job is one person's: gateways add, read and cancel the caller's own. What a worker does goes through functions that
`mcpist_worker` alone may call; they act for all tenants as `mcpist_owner`, as nobody logs in.
"""

from alembic import op

from core.migrations import build_tenant_policy_script, run_script

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

# Tests put another clock in its place. `run_at` is set only while a queued job has to wait for a time; `number` is the
# order in which jobs came, whatever the clock does. `attempt` is the fence: it only grows.
TABLES = """
CREATE SCHEMA jobs;
CREATE FUNCTION jobs.clock() RETURNS timestamptz LANGUAGE sql VOLATILE RETURN clock_timestamp();
CREATE TABLE jobs.jobs (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,30}$'),
    module text COLLATE "C" NOT NULL CHECK (length(module) <= 63),
    tool text NOT NULL CHECK (length(tool) <= 128),
    title text NOT NULL CHECK (length(title) <= 200),
    client text NOT NULL CHECK (length(client) <= 200),
    mandate_id uuid,
    idempotency_key text CHECK (length(idempotency_key) BETWEEN 1 AND 200),
    arguments bytea NOT NULL CHECK (octet_length(arguments) <= 8388608),
    is_repeatable boolean NOT NULL,
    retries_left smallint NOT NULL CHECK (retries_left BETWEEN 0 AND 9),
    lifetime interval NOT NULL CHECK (lifetime BETWEEN interval '1 second' AND interval '366 days'),
    state text NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'unknown')),
    run_at timestamptz,
    attempt integer NOT NULL DEFAULT 0,
    lease_owner uuid CHECK ((lease_owner IS NOT NULL) = (state = 'running')),
    cancel_requested_at timestamptz,
    progress double precision,
    total double precision,
    message text NOT NULL DEFAULT '' CHECK (length(message) <= 500),
    result bytea CHECK (octet_length(result) <= 16777216),
    error text NOT NULL DEFAULT '' CHECK (length(error) <= 40),
    created_at timestamptz NOT NULL DEFAULT jobs.clock(),
    started_at timestamptz,
    updated_at timestamptz NOT NULL DEFAULT jobs.clock(),
    finished_at timestamptz,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ON jobs.jobs (tenant_id, user_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX ON jobs.jobs (tenant_id, user_id, number);
CREATE INDEX ON jobs.jobs (tenant_id, number);
CREATE INDEX ready ON jobs.jobs (tenant_id, user_id, module, number) WHERE state = 'queued' AND run_at IS NULL;
CREATE INDEX delayed ON jobs.jobs (run_at) WHERE state = 'queued' AND run_at IS NOT NULL;
CREATE INDEX queued ON jobs.jobs (number) WHERE state = 'queued';
CREATE INDEX running ON jobs.jobs (tenant_id, user_id, module) WHERE state = 'running';
CREATE INDEX finished ON jobs.jobs (expires_at) WHERE state NOT IN ('queued', 'running');
CREATE TABLE jobs.tenant_turns (
    tenant_id uuid PRIMARY KEY REFERENCES core.tenants ON DELETE CASCADE,
    served bigint NOT NULL DEFAULT 0,
    is_waiting boolean NOT NULL
);
CREATE INDEX ON jobs.tenant_turns (served, tenant_id) WHERE is_waiting;
CREATE TABLE jobs.user_turns (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    module text COLLATE "C" NOT NULL,
    served bigint NOT NULL DEFAULT 0,
    is_waiting boolean NOT NULL,
    PRIMARY KEY (tenant_id, user_id, module),
    FOREIGN KEY (tenant_id, user_id) REFERENCES core.users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX ON jobs.user_turns (tenant_id, served, user_id, module) WHERE is_waiting;
CREATE SEQUENCE jobs.turns;
CREATE TABLE jobs.workers (
    id uuid PRIMARY KEY,
    beat bigint NOT NULL DEFAULT 0,
    seen_at timestamptz NOT NULL DEFAULT jobs.clock()
);
ALTER TABLE jobs.workers ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs.workers FORCE ROW LEVEL SECURITY;
"""

# The owner acts in the functions below only.
POLICIES = """
ALTER TABLE jobs.jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs.jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY by_user ON jobs.jobs
    USING (tenant_id = core.current_tenant() AND user_id = core.current_user_id())
    WITH CHECK (tenant_id = core.current_tenant() AND user_id = core.current_user_id());
CREATE POLICY console_lists ON jobs.jobs FOR SELECT TO mcpist_console USING (tenant_id = core.current_tenant());
CREATE POLICY console_cancels ON jobs.jobs FOR UPDATE TO mcpist_console
    USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant());
CREATE POLICY owner_runs_jobs ON jobs.jobs TO mcpist_owner USING (true) WITH CHECK (true);
CREATE POLICY owner_keeps_turns ON jobs.tenant_turns TO mcpist_owner USING (true) WITH CHECK (true);
CREATE POLICY owner_keeps_turns ON jobs.user_turns TO mcpist_owner USING (true) WITH CHECK (true);
CREATE POLICY owner_keeps_workers ON jobs.workers TO mcpist_owner USING (true) WITH CHECK (true);
"""

# Who has a job that waits takes a turn. Whoever adds a job holds the row of its tenant's turn until the job is there,
# so a claim that finds no job of a tenant may take its turn away.
TRIGGERS = """
CREATE FUNCTION jobs.check_limits() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.tenant_id = NEW.tenant_id AND j.user_id = NEW.user_id
            AND j.state = 'queued' AND j.run_at IS NULL LIMIT 1000) person) >= 1000
        OR (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.tenant_id = NEW.tenant_id
            AND j.state = 'queued' AND j.run_at IS NULL LIMIT 10000) tenant) >= 10000
    THEN RAISE EXCEPTION 'too many jobs wait' USING ERRCODE = 'program_limit_exceeded'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER check_limits BEFORE INSERT ON jobs.jobs FOR EACH ROW EXECUTE FUNCTION jobs.check_limits();

CREATE FUNCTION jobs.take_turn() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO jobs.tenant_turns AS t (tenant_id, is_waiting) VALUES (NEW.tenant_id, true)
        ON CONFLICT (tenant_id) DO UPDATE SET is_waiting = true WHERE NOT t.is_waiting;
    INSERT INTO jobs.user_turns AS u (tenant_id, user_id, module, is_waiting)
        VALUES (NEW.tenant_id, NEW.user_id, NEW.module, true)
        ON CONFLICT (tenant_id, user_id, module) DO UPDATE SET is_waiting = true WHERE NOT u.is_waiting;
    PERFORM pg_notify('mcpist_job_ready', '');
    RETURN NULL;
END $$;
CREATE TRIGGER take_turn AFTER INSERT OR UPDATE OF state, run_at ON jobs.jobs
    FOR EACH ROW WHEN (NEW.state = 'queued' AND NEW.run_at IS NULL) EXECUTE FUNCTION jobs.take_turn();

CREATE FUNCTION jobs.note_cancellation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.updated_at := jobs.clock();
    IF NEW.state = 'queued' THEN
        NEW.state := 'cancelled';
        NEW.run_at := NULL;
        NEW.finished_at := NEW.updated_at;
    ELSE
        PERFORM pg_notify('mcpist_job_cancelled', NEW.id::text);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER note_cancellation BEFORE UPDATE OF cancel_requested_at ON jobs.jobs
    FOR EACH ROW WHEN (NEW.cancel_requested_at IS NOT NULL AND OLD.cancel_requested_at IS NULL)
    EXECUTE FUNCTION jobs.note_cancellation();

CREATE FUNCTION jobs.announce() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('mcpist_job', NEW.tenant_id || ' ' || NEW.user_id || ' ' || NEW.id || ' ' || NEW.state);
    RETURN NULL;
END $$;
CREATE TRIGGER announce AFTER INSERT OR UPDATE OF state, cancel_requested_at, progress, total, message ON jobs.jobs
    FOR EACH ROW EXECUTE FUNCTION jobs.announce();
"""

# The tenant that was served longest ago comes first, and within it the person (and module) that was. A tenant at its
# limit is passed over: there are no more of those than jobs that run.
CLAIM = """
CREATE FUNCTION jobs.claim(worker uuid, wanted integer, of_tenant integer, of_user integer, of_module integer)
    RETURNS SETOF jobs.jobs
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant uuid;
    lane jobs.user_turns;
    job jobs.jobs;
    passed uuid[] := '{}';
    taken integer := 0;
BEGIN
    UPDATE jobs.workers w SET beat = beat + 1, seen_at = jobs.clock() WHERE w.id = worker;
    IF NOT FOUND THEN RETURN; END IF;
    WHILE taken < wanted LOOP
        SELECT t.tenant_id INTO tenant FROM jobs.tenant_turns t
        WHERE t.is_waiting AND t.tenant_id <> ALL (passed) AND of_tenant > (
            SELECT count(*) FROM jobs.jobs r WHERE r.tenant_id = t.tenant_id AND r.state = 'running')
        ORDER BY t.served, t.tenant_id LIMIT 1 FOR UPDATE SKIP LOCKED;
        EXIT WHEN NOT FOUND;
        SELECT u.* INTO lane FROM jobs.user_turns u
        WHERE u.tenant_id = tenant AND u.is_waiting
            AND of_user > (SELECT count(*) FROM jobs.jobs r
                WHERE r.tenant_id = tenant AND r.user_id = u.user_id AND r.state = 'running')
            AND of_module > (SELECT count(*) FROM jobs.jobs r
                WHERE r.tenant_id = tenant AND r.module = u.module AND r.state = 'running')
        ORDER BY u.served, u.user_id, u.module LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            passed := passed || tenant;
            CONTINUE;
        END IF;
        UPDATE jobs.jobs j SET state = 'running', attempt = j.attempt + 1, lease_owner = worker,
            started_at = coalesce(j.started_at, jobs.clock()), updated_at = jobs.clock()
        WHERE j.tenant_id = tenant AND j.id = (
            SELECT c.id FROM jobs.jobs c
            WHERE c.tenant_id = tenant AND c.user_id = lane.user_id AND c.module = lane.module
                AND c.state = 'queued' AND c.run_at IS NULL
            ORDER BY c.number LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING j.* INTO job;
        IF FOUND THEN
            taken := taken + 1;
            RETURN NEXT job;
        ELSE
            passed := passed || tenant;
        END IF;
        UPDATE jobs.user_turns u SET served = nextval('jobs.turns'), is_waiting = EXISTS (
            SELECT FROM jobs.jobs c WHERE c.tenant_id = tenant AND c.user_id = lane.user_id AND c.module = lane.module
                AND c.state = 'queued' AND c.run_at IS NULL)
        WHERE u.tenant_id = tenant AND u.user_id = lane.user_id AND u.module = lane.module;
        UPDATE jobs.tenant_turns t SET served = nextval('jobs.turns'), is_waiting = EXISTS (
            SELECT FROM jobs.user_turns u WHERE u.tenant_id = tenant AND u.is_waiting)
        WHERE t.tenant_id = tenant;
    END LOOP;
END $$;
"""

# A worker lives while its `beat` changes. Others watch it by their own monotonic clocks, so no clock that jumps ends a
# lease. `beat` is -1 for a worker that has no row.
LEASES = """
CREATE FUNCTION jobs.register(worker uuid) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO jobs.workers (id) VALUES (worker)
$$;
CREATE FUNCTION jobs.renew(worker uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.workers w SET beat = beat + 1, seen_at = jobs.clock() WHERE w.id = worker;
    RETURN FOUND;
END $$;
CREATE FUNCTION jobs.look(worker uuid, OUT is_registered boolean, OUT has_ready boolean, OUT has_delayed boolean,
        OUT has_due boolean, OUT held uuid[], OUT cancelled uuid[], OUT others uuid[], OUT beats bigint[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM jobs.workers w WHERE w.id = worker),
        EXISTS (SELECT FROM jobs.tenant_turns t WHERE t.is_waiting),
        EXISTS (SELECT FROM jobs.jobs j WHERE j.state = 'queued' AND j.run_at IS NOT NULL),
        EXISTS (SELECT FROM jobs.jobs j WHERE j.state = 'queued' AND j.run_at IS NOT NULL
            AND (j.run_at <= jobs.clock() OR j.run_at > jobs.clock() + interval '1 day')),
        coalesce(array_agg(r.id) FILTER (WHERE r.lease_owner = worker), '{}'),
        coalesce(array_agg(r.id) FILTER (WHERE r.lease_owner = worker AND r.is_cancelled), '{}'),
        coalesce(array_agg(r.lease_owner) FILTER (WHERE r.lease_owner <> worker AND r.is_first), '{}'),
        coalesce(array_agg(r.beat) FILTER (WHERE r.lease_owner <> worker AND r.is_first), '{}')
    FROM (
        SELECT j.id, j.lease_owner, j.cancel_requested_at IS NOT NULL AS is_cancelled, coalesce(w.beat, -1) AS beat,
            row_number() OVER (PARTITION BY j.lease_owner) = 1 AS is_first
        FROM jobs.jobs j LEFT JOIN jobs.workers w ON w.id = j.lease_owner WHERE j.state = 'running'
    ) r
$$;
CREATE FUNCTION jobs.wake_delayed() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    woken integer;
BEGIN
    PERFORM pg_advisory_xact_lock(1835233381);
    UPDATE jobs.jobs j SET run_at = NULL WHERE (j.tenant_id, j.id) IN (
        SELECT c.tenant_id, c.id FROM jobs.jobs c WHERE c.state = 'queued' AND c.run_at IS NOT NULL
            AND (c.run_at <= jobs.clock() OR c.run_at > jobs.clock() + interval '1 day')
        ORDER BY c.run_at LIMIT 100 FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS woken = ROW_COUNT;
    RETURN woken;
END $$;
CREATE FUNCTION jobs.reap(lost uuid, seen_beat bigint) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    reaped integer;
BEGIN
    PERFORM pg_advisory_xact_lock(1835233381);
    DELETE FROM jobs.workers w WHERE w.id = lost AND w.beat = seen_beat;
    IF NOT FOUND AND EXISTS (SELECT FROM jobs.workers w WHERE w.id = lost) THEN RETURN 0; END IF;
    UPDATE jobs.jobs j SET
        state = CASE WHEN NOT j.is_repeatable THEN 'unknown' WHEN j.cancel_requested_at IS NOT NULL THEN 'cancelled'
            WHEN j.retries_left > 0 THEN 'queued' ELSE 'failed' END,
        error = CASE WHEN NOT j.is_repeatable THEN 'outcome_unknown' WHEN j.cancel_requested_at IS NOT NULL THEN ''
            WHEN j.retries_left > 0 THEN '' ELSE 'worker_lost' END,
        finished_at = CASE WHEN j.is_repeatable AND j.cancel_requested_at IS NULL AND j.retries_left > 0 THEN NULL
            ELSE jobs.clock() END,
        run_at = CASE WHEN j.is_repeatable AND j.cancel_requested_at IS NULL AND j.retries_left > 0 AND j.attempt > 1
            THEN jobs.clock() + interval '10 seconds' END,
        retries_left = greatest(j.retries_left - 1, 0), lease_owner = NULL, updated_at = jobs.clock()
    WHERE j.lease_owner = lost AND j.state = 'running';
    GET DIAGNOSTICS reaped = ROW_COUNT;
    RETURN reaped;
END $$;
CREATE FUNCTION jobs.leave(worker uuid) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM jobs.workers w WHERE w.id = worker
        AND NOT EXISTS (SELECT FROM jobs.jobs j WHERE j.lease_owner = worker AND j.state = 'running')
$$;
"""

# Each holds for the attempt that the worker was given, and says whether it did.
OUTCOMES = """
CREATE FUNCTION jobs.report_progress(worker uuid, of_tenant uuid, job uuid, of_attempt integer,
        done double precision, of_total double precision, text text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET progress = done, total = of_total, message = left(text, 500), updated_at = jobs.clock()
    WHERE j.tenant_id = of_tenant AND j.id = job AND j.lease_owner = worker AND j.attempt = of_attempt;
    RETURN FOUND;
END $$;
CREATE FUNCTION jobs.finish(worker uuid, of_tenant uuid, job uuid, of_attempt integer,
        end_state text, end_result bytea, end_error text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET state = end_state, result = end_result, error = end_error, lease_owner = NULL,
        finished_at = jobs.clock(), updated_at = jobs.clock(),
        expires_at = greatest(j.expires_at, jobs.clock() + least(j.lifetime, interval '5 minutes'))
    WHERE j.tenant_id = of_tenant AND j.id = job AND j.lease_owner = worker AND j.attempt = of_attempt;
    RETURN FOUND;
END $$;
CREATE FUNCTION jobs.give_back(worker uuid, of_tenant uuid, job uuid, of_attempt integer, pause interval,
        is_failure boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET state = 'queued', lease_owner = NULL, updated_at = jobs.clock(),
        run_at = CASE WHEN pause > interval '0' THEN jobs.clock() + pause END,
        retries_left = j.retries_left - is_failure::integer
    WHERE j.tenant_id = of_tenant AND j.id = job AND j.lease_owner = worker AND j.attempt = of_attempt
        AND j.is_repeatable AND j.cancel_requested_at IS NULL AND j.retries_left >= is_failure::integer;
    RETURN FOUND;
END $$;
CREATE FUNCTION jobs.unclaim(worker uuid, forgotten uuid[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    given_back integer;
BEGIN
    PERFORM pg_advisory_xact_lock(1835233381);
    UPDATE jobs.jobs j SET state = 'queued', lease_owner = NULL, updated_at = jobs.clock()
    WHERE j.id = ANY (forgotten) AND j.lease_owner = worker AND j.state = 'running';
    GET DIAGNOSTICS given_back = ROW_COUNT;
    RETURN given_back;
END $$;
CREATE FUNCTION jobs.retry(job uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE jobs.jobs j SET state = 'queued', run_at = NULL, retries_left = CASE WHEN j.is_repeatable THEN 2 ELSE 0 END,
        cancel_requested_at = NULL, progress = NULL, total = NULL, message = '', result = NULL, error = '',
        started_at = NULL, finished_at = NULL, updated_at = jobs.clock(), expires_at = jobs.clock() + j.lifetime
    WHERE j.tenant_id = core.current_tenant() AND j.user_id = core.current_user_id() AND j.id = job
        AND j.state IN ('failed', 'cancelled', 'unknown');
    RETURN FOUND;
END $$;
CREATE FUNCTION jobs.end_restored() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ended integer;
BEGIN
    UPDATE jobs.jobs j SET state = 'unknown', error = 'restored', lease_owner = NULL, run_at = NULL,
        finished_at = jobs.clock(), updated_at = jobs.clock(),
        expires_at = greatest(j.expires_at, jobs.clock() + interval '7 days')
    WHERE j.state IN ('queued', 'running');
    GET DIAGNOSTICS ended = ROW_COUNT;
    DELETE FROM jobs.workers;
    UPDATE jobs.tenant_turns SET is_waiting = false WHERE is_waiting;
    UPDATE jobs.user_turns SET is_waiting = false WHERE is_waiting;
    RETURN ended;
END $$;
CREATE FUNCTION jobs.prune(most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pruned integer;
BEGIN
    DELETE FROM jobs.jobs j WHERE (j.tenant_id, j.id) IN (
        SELECT c.tenant_id, c.id FROM jobs.jobs c
        WHERE c.state NOT IN ('queued', 'running') AND c.expires_at < jobs.clock()
        ORDER BY c.expires_at LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS pruned = ROW_COUNT;
    DELETE FROM jobs.workers w WHERE w.seen_at < jobs.clock() - interval '1 day'
        AND NOT EXISTS (SELECT FROM jobs.jobs j WHERE j.lease_owner = w.id AND j.state = 'running');
    RETURN pruned;
END $$;
CREATE FUNCTION jobs.figures(OUT waiting bigint, OUT running bigint, OUT oldest_seconds double precision)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (SELECT count(*) FROM (SELECT FROM jobs.jobs j WHERE j.state = 'queued' LIMIT 100000) counted),
        (SELECT count(*) FROM jobs.jobs j WHERE j.state = 'running'),
        coalesce((SELECT extract(epoch FROM jobs.clock() - j.created_at) FROM jobs.jobs j
            WHERE j.state = 'queued' AND j.run_at IS NULL ORDER BY j.number LIMIT 1), 0)
$$;
"""

OF_WORKERS = (
    "claim(uuid, integer, integer, integer, integer)",
    "register(uuid)",
    "renew(uuid)",
    "look(uuid)",
    "wake_delayed()",
    "reap(uuid, bigint)",
    "leave(uuid)",
    "report_progress(uuid, uuid, uuid, integer, double precision, double precision, text)",
    "finish(uuid, uuid, uuid, integer, text, bytea, text)",
    "give_back(uuid, uuid, uuid, integer, interval, boolean)",
    "unclaim(uuid, uuid[])",
    "end_restored()",
    "prune(integer)",
    "figures()",
)

# A gateway names no state, attempt or owner; nobody but a worker's function changes them.
GRANTS = """
GRANT USAGE ON SCHEMA jobs TO mcpist_gateway, mcpist_console;
GRANT SELECT, UPDATE (cancel_requested_at), INSERT (tenant_id, id, user_id, kind, module, tool, title, client,
    mandate_id, idempotency_key, arguments, is_repeatable, retries_left, lifetime, expires_at)
    ON jobs.jobs TO mcpist_gateway;
GRANT SELECT (tenant_id, id, user_id, number, kind, module, tool, title, client, mandate_id, is_repeatable,
    retries_left, state, run_at, attempt, cancel_requested_at, progress, total, message, error, created_at,
    started_at, updated_at, finished_at, expires_at), UPDATE (cancel_requested_at) ON jobs.jobs TO mcpist_console;
GRANT EXECUTE ON FUNCTION jobs.clock() TO mcpist_gateway, mcpist_console;
GRANT EXECUTE ON FUNCTION jobs.retry(uuid) TO mcpist_gateway, mcpist_console;
"""


def upgrade() -> None:
    for script in (TABLES, POLICIES, TRIGGERS, CLAIM, LEASES, OUTCOMES):
        run_script(op.get_bind(), script)
    for table in ("jobs.tenant_turns", "jobs.user_turns"):
        run_script(op.get_bind(), build_tenant_policy_script(table))
    run_script(op.get_bind(), GRANTS)
    for function in OF_WORKERS:
        op.execute(f"GRANT EXECUTE ON FUNCTION jobs.{function} TO mcpist_worker")


def downgrade() -> None:
    op.execute("DROP SCHEMA jobs CASCADE")
