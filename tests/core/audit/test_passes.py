"""A gateway's login appends to the log of a tenant that the broker has vouched for, and to no other."""

import random
from itertools import zip_longest

import asyncpg
import pytest

from broker.audit_passes import PASS_LIFETIME_SECONDS, PASS_STEP_SECONDS, AuditPassSigner
from core.audit.event import DEPLOYMENT_CHAIN, CallOutcome, build_outcome_event
from core.audit.passes import AuditPasses
from core.audit.truncation import pack, unpack
from core.errors import Unavailable
from tests.core.audit.support import OTHER, TENANT, call, writing
from tests.support.postgres import ScratchDatabase

SIGNED = "SELECT audit.append_signed($1::uuid[], $2::text[], $3::bytea[])"


async def tenants(database: ScratchDatabase) -> list[object]:
    async with database.admin_connection() as admin:
        rows = await admin.fetch("SELECT record FROM audit.incoming ORDER BY id")
    return [unpack(row["record"]).tenant_id for row in rows]


async def test_a_pass_is_for_one_tenant_and_unchanged(database: ScratchDatabase) -> None:
    signed = (await database.passes())(TENANT)
    until, mac = signed[:10], signed[10:]
    wrong = ["", signed[:-1], signed + "0", f"{int(until) + 1}{mac}", until + "0" * 64, mac + until, "x" * 74, "0" * 74]
    flipped = [signed[:at] + ("1" if signed[at] != "1" else "2") + signed[at + 1 :] for at in range(len(signed))]
    async with database.open("mcpist_gateway") as gateway:
        for one in [*wrong, *flipped]:
            assert await gateway.call(SIGNED, [TENANT], [one], [pack(call())]) == [0], one
        assert await gateway.call(SIGNED, [OTHER], [signed], [pack(call())]) == [0]
        assert await tenants(database) == []
        assert await gateway.call(SIGNED, [TENANT], [signed], [pack(call())]) is None
        assert await tenants(database) == [TENANT]


async def test_one_batch_for_several_tenants(database: ScratchDatabase) -> None:
    sign = await database.passes()
    async with database.open("mcpist_gateway") as gateway:
        given = [TENANT, OTHER, DEPLOYMENT_CHAIN, TENANT, OTHER]
        records = [pack(call(number)) for number in range(5)]
        passes = [sign(TENANT), sign(TENANT), "", sign(TENANT), None]
        assert await gateway.call(SIGNED, given, passes, records) == [1, 4]
        assert len(await tenants(database)) == 3


async def test_one_tenant_and_several_are_checked_alike(database: ScratchDatabase) -> None:
    sign, chance = await database.passes(), random.Random(27)
    right = {TENANT: sign(TENANT), OTHER: sign(OTHER)}
    wrong = ["", None, "0" * 74, sign(TENANT)[:-1], "0000000000" + sign(TENANT)[10:]]
    refusals = 0
    async with database.open("mcpist_gateway") as gateway:
        for _ in range(300):
            tenants_given = chance.choice([[TENANT], [OTHER, TENANT], [DEPLOYMENT_CHAIN, TENANT], [DEPLOYMENT_CHAIN]])
            given = [chance.choice(tenants_given) for _ in range(chance.randint(1, 4))]
            passes = [
                chance.choice([*wrong, *right.values()]) if chance.random() < 0.2 else right.get(tenant, "")
                for tenant in given
            ]
            if chance.random() < 0.1:
                passes.pop()
            pairs = list(zip_longest(given, passes))
            unsigned = {tenant for tenant, one in pairs if tenant != DEPLOYMENT_CHAIN and one != right[tenant]}
            expected = [index for index, tenant in enumerate(given) if tenant in unsigned]
            found = await gateway.call(SIGNED, given, passes, [pack(call())] * len(given))
            assert (found or []) == expected, (given, passes)
            refusals += bool(expected)
    assert 60 < refusals < 240


async def test_a_pass_ends(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        key = await admin.fetchrow("SELECT inner_pad, outer_pad FROM auth.audit_key")
        now = float(await admin.fetchval("SELECT extract(epoch FROM now())"))
    async with database.open("mcpist_gateway") as gateway:
        for ago, refused in (
            (PASS_LIFETIME_SECONDS - PASS_STEP_SECONDS, None),
            (PASS_LIFETIME_SECONDS + 2 * PASS_STEP_SECONDS, [0]),
        ):
            signer = AuditPassSigner(key["inner_pad"], key["outer_pad"], clock=lambda ago=ago: now - ago)
            assert await gateway.call(SIGNED, [TENANT], [signer.sign(TENANT)], [pack(call())]) == refused


async def test_the_gateway_has_no_other_way_and_no_key(database: ScratchDatabase) -> None:
    async with database.open("mcpist_gateway") as gateway:
        for statement in ("SELECT audit.append(ARRAY[$1::uuid], ARRAY[$2::bytea])",):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await gateway.call(statement, TENANT, pack(call()))
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await gateway.fetch("SELECT * FROM auth.audit_key")


async def test_what_is_refused_is_told_and_blocks_nobody(database: ScratchDatabase) -> None:
    known = AuditPasses()
    known.store(TENANT, (await database.passes())(TENANT))
    async with database.open("mcpist_gateway") as gateway, writing(gateway, pass_of=known.get) as writer:
        mine, others = call(), call(tenant_id=OTHER)
        durable, refused = writer.submit(mine), writer.submit(others)
        writer.enqueue(build_outcome_event(others, CallOutcome.OK, 1))
        await durable
        with pytest.raises(Unavailable):
            await refused
        await writer.write(call(2))
        assert [one for one in await tenants(database) if one is not None] == [TENANT, TENANT]
        assert writer.lost == 2


def test_passes_are_the_same_for_an_hour() -> None:
    times = [1_800_000_000.0]
    signer = AuditPassSigner(bytes(64), bytes(64), clock=lambda: times[0])
    first = signer.sign(TENANT)
    assert signer.sign(TENANT) is first
    assert signer.sign(OTHER) != first
    times[0] += PASS_STEP_SECONDS
    assert int(signer.sign(TENANT)[:10]) == int(first[:10]) + PASS_STEP_SECONDS


async def test_a_pass_is_checked_once_for_all_records_of_a_flush(database: ScratchDatabase) -> None:
    constants = {
        "INTO unsigned": "",
        "tenant_ids": "'{}'::uuid[]",
        "passes": "'{}'::text[]",
        "pass, i, o)": "pass, ''::bytea, ''::bytea)",
    }
    async with database.admin_connection() as admin:
        source: str = await admin.fetchval("SELECT prosrc FROM pg_proc WHERE proname = 'append_signed'")
        check = source[source.index("WITH given") :].partition(";")[0]
        for name, value in constants.items():
            check = check.replace(name, value)
        plan = "\n".join(row[0] for row in await admin.fetch(f"EXPLAIN (COSTS OFF) {check}"))
    # PostgreSQL would compute the MAC for every record, before it looks for those that are equal.
    behind_distinct = plan[plan.index("CTE Scan on given") :]
    assert plan.count("sha256") == behind_distinct.count("sha256") == 2, plan
