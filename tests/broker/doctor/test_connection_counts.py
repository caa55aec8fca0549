"""How many connections stand how: counted in one question, as the list of all of them tells each."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.broker.doctor.doctor_app import Case, DoctorApp, doctor_app_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person

# Forty people, each with a copy of one account; they differ in whatever decides how it stands.
PEOPLE = """INSERT INTO core.users (tenant_id, id, email)
    SELECT $1::uuid, gen_random_uuid(), 'copy' || n || '@counts.test' FROM generate_series(1, 40) n"""
ROLES = """INSERT INTO core.role_assignments (tenant_id, user_id, role_id)
    SELECT u.tenant_id, u.id, r.id FROM core.users u JOIN core.roles r ON r.tenant_id = u.tenant_id
    WHERE u.tenant_id = $1 AND u.email LIKE 'copy%' AND substring(u.email, '[0-9]+')::int % 3 > 0
    AND r.name = $2"""
ACCOUNTS = """WITH one AS (SELECT a.*, c.module, c.origins FROM vault.accounts a
        JOIN vault.credentials c ON c.tenant_id = a.tenant_id AND c.account_id = a.id WHERE a.tenant_id = $1 LIMIT 1),
    copies AS (SELECT u.id AS user_id, substring(u.email, '[0-9]+')::int AS n, gen_random_uuid() AS account_id
        FROM core.users u WHERE u.tenant_id = $1 AND u.email LIKE 'copy%'),
    made AS (INSERT INTO vault.accounts (tenant_id, id, provider, oauth_client_id, user_id, scopes, version, status,
            access, lease_owner, lease_until, attempt_no, uncertain, last_error_class, created_at, updated_at)
        SELECT one.tenant_id, p.account_id, one.provider, one.oauth_client_id, p.user_id,
            CASE WHEN n % 4 = 0 THEN '{}' ELSE one.scopes END, 1,
            CASE n % 10 WHEN 1 THEN 'needs_reauth' WHEN 2 THEN 'disabled' ELSE 'active' END, one.access,
            CASE WHEN n % 10 = 3 THEN gen_random_uuid() END,
            CASE WHEN n % 10 = 3 THEN now() + (n - 20) * interval '1 hour' END,
            n % 6, n % 7 = 0, (ARRAY['', 'uncertain', 'throttled', 'permanent', ''])[n % 5 + 1], now(), now()
        FROM copies p, one RETURNING id)
    INSERT INTO vault.credentials (tenant_id, id, module, user_id, type, version, account_id, origins, held_back,
        rejected_version, created_at, updated_at)
    SELECT one.tenant_id, gen_random_uuid(), one.module, p.user_id, 'B', 1, p.account_id,
        CASE WHEN n % 13 = 0 THEN ARRAY['https://elsewhere.test'] ELSE one.origins END, n % 11 = 0, 1, now(), now()
    FROM copies p, one"""
KEYS = """INSERT INTO vault.credentials (tenant_id, id, module, user_id, type, version, secret, state, cause,
        created_at, updated_at)
    SELECT u.tenant_id, gen_random_uuid(), 'keyed', u.id, 'A', 1, '\\x01'::bytea || repeat('x', 60)::bytea,
        CASE WHEN length(u.email) % 2 = 0 THEN 'ok' ELSE 'broken' END, '', now(), now()
    FROM core.users u WHERE u.tenant_id = $1 AND u.email LIKE 'copy%'"""


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[DoctorApp]:
    async with doctor_app_on(database, tmp_path, "google") as made:
        yield made


async def count(case: Case, boss: Person) -> dict[tuple[str, str], int]:
    """The counts, which have to be those of the list."""
    found = (await case.asked("/connections/counts", person=boss))["counts"]
    counted = {(one["module"], one["state"]): one["count"] for one in found}
    assert len(counted) == len(found)
    assert list(counted) == sorted(counted)
    listed = await case.asked("/connections", person=boss, all_owners=True, limit=200)
    assert listed["next_cursor"] is None
    assert counted == Counter((one["module"], one["state"]) for one in listed["items"])
    return counted


async def test_counts_are_those_of_the_list_whatever_differs(app: DoctorApp) -> None:
    case, other = await app.case("google"), await app.case("google")
    boss, stranger = await app.administrator(case.tenant), await app.administrator(other.tenant)
    assert await count(case, boss) == {}
    await other.connect()
    await app.mend(case.tenant, case.vendor)
    await case.connect()
    assert await count(case, boss) == {(case.module, "connected"): 1}
    for sql, *more in ((PEOPLE,), (ROLES, case.person.email), (ACCOUNTS,), (KEYS,)):
        await app.execute(sql, case.tenant.id, *more)
    counted = await count(case, boss)
    states = {state for module, state in counted if module == case.module}
    assert states == {"connected", "refreshing", "needs_reconnect", "refused", "vendor_down", "disabled"}
    assert sum(counted.values()) == 81
    lacking = counted[case.module, "needs_reconnect"]

    # Who needs no tool of the module lacks no scope of it, and who needs one more may lack it.
    await app.execute("DELETE FROM core.role_assignments WHERE tenant_id = $1", case.tenant.id)
    assert (await count(case, boss))[case.module, "needs_reconnect"] < lacking
    await app.execute("UPDATE vault.oauth_clients SET state = 'misconfigured' WHERE tenant_id = $1", case.tenant.id)
    assert (await count(case, boss))[case.module, "service_misconfigured"] > 1
    assert await count(other, stranger) == {(other.module, "connected"): 1}, "the other tenant's stay their own"
