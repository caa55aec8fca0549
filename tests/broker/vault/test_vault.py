"""Data keys on a real database: one a tenant, renewed, cached for minutes; no secret opens in another's place."""

import asyncio
import contextlib
from datetime import timedelta
from itertools import permutations
from uuid import UUID, uuid4

import asyncpg
import pytest

from broker.vault.credential_store import build_credential_context
from broker.vault.envelope import CiphertextContext, DecryptionError, KeyMissing
from broker.vault.key_rewrap import DataKeyRows, rewrap_keys
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import MAX_DEK_USES, Vault
from tests.broker.broker_harness import BrokerHarness

PLACE = CiphertextContext("vault.credentials", uuid4(), "access", 1)


async def sealed(app: BrokerHarness, tenant_id: UUID, vault: Vault | None = None) -> bytes:
    async with app.trusted.tenant(tenant_id) as work:
        return await (vault or app.vault).seal(work, PLACE, b"secret")


async def opened(app: BrokerHarness, tenant_id: UUID, blob: bytes, vault: Vault | None = None) -> bytes:
    async with app.trusted.tenant(tenant_id) as work:
        return await (vault or app.vault).open(work, PLACE, blob)


async def deks(app: BrokerHarness) -> list[asyncpg.Record]:
    async with app.database.admin_connection() as admin:
        return await admin.fetch("SELECT tenant_id, id, state, uses FROM vault.deks ORDER BY created_at, id")


async def fresh(app: BrokerHarness, keys: InMemoryKeyProvider | None = None, **options: object) -> Vault:
    """A vault that has nothing cached."""
    deployment = await app.trusted.call("SELECT id FROM core.deployment")
    return Vault(keys or app.keys, deployment, clock=app.clock, **options)  # type: ignore[arg-type]


async def test_each_tenant_has_a_key_of_its_own(app: BrokerHarness) -> None:
    one, two = await app.tenant("one"), await app.tenant("two")
    for tenant in (one, two, one):
        blob = await sealed(app, tenant)
        assert await opened(app, tenant, blob) == b"secret"
        assert await opened(app, tenant, blob, await fresh(app)) == b"secret"
    assert [(row["tenant_id"], row["state"], row["uses"]) for row in await deks(app)] == [
        (one, "active", 2),
        (two, "active", 1),
    ]


@pytest.mark.parametrize("aged", ["uses = $1", "created_at = created_at - make_interval(days => $1)"])
async def test_a_worn_key_is_replaced_and_still_reads(app: BrokerHarness, aged: str) -> None:
    tenant = await app.tenant("one")
    old = await sealed(app, tenant)
    await app.execute(f"UPDATE vault.deks SET {aged}", MAX_DEK_USES if "uses" in aged else 91)
    new = await sealed(app, tenant)
    assert old[1:17] != new[1:17]
    assert [row["state"] for row in await deks(app)] == ["retired", "active"]
    for blob in (old, new):
        assert await opened(app, tenant, blob, await fresh(app)) == b"secret"


async def test_many_first_secrets_at_once_make_one_key(app: BrokerHarness) -> None:
    tenant, all_begun = await app.tenant("one"), asyncio.Barrier(8)

    async def first(vault: Vault) -> bytes:
        async with app.trusted.tenant(tenant) as work:
            await all_begun.wait()
            return await vault.seal(work, PLACE, b"secret")

    blobs = await asyncio.gather(*[first(await fresh(app)) for _ in range(8)])
    assert [(row["state"], row["uses"]) for row in await deks(app)] == [("active", 8)]
    assert len({blob[1:17] for blob in blobs}) == 1


async def test_a_key_that_was_rolled_back_is_not_used(app: BrokerHarness) -> None:
    tenant = await app.tenant("one")

    async def fails() -> None:
        async with app.trusted.tenant(tenant) as work:
            await app.vault.seal(work, PLACE, b"secret")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fails()
    blob = await sealed(app, tenant)
    assert await opened(app, tenant, blob, await fresh(app)) == b"secret"
    assert len(await deks(app)) == 1


class Counted(InMemoryKeyProvider):
    """Counts how often it is asked."""

    asked = 0

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        self.asked += 1
        await asyncio.sleep(0)
        return await super().unwrap(kek_id, wrapped, context)


async def test_an_unwrapped_key_is_kept_for_five_minutes(app: BrokerHarness) -> None:
    tenant, now, keys = await app.tenant("one"), 1000.0, Counted("k1", {"k1": b"k" * 32})
    blob = await sealed(app, tenant)
    vault = await fresh(app, keys, monotonic=lambda: now)
    for seconds, asked in ((0, 1), (0.5, 1), (298, 1), (2, 2)):
        now += seconds
        assert await opened(app, tenant, blob, vault) == b"secret"
        assert keys.asked == asked


async def test_many_who_miss_a_key_ask_for_it_once(app: BrokerHarness) -> None:
    """Also if the one who began gives up."""
    tenant, keys = await app.tenant("one"), Counted("k1", {"k1": b"k" * 32})
    blob = await sealed(app, tenant)
    vault = await fresh(app, keys)
    first, *others = [asyncio.create_task(opened(app, tenant, blob, vault)) for _ in range(6)]
    while not keys.asked:
        await asyncio.sleep(0)
    first.cancel()
    assert await asyncio.gather(*others) == [b"secret"] * 5
    assert keys.asked == 1


async def test_what_is_shredded_stays_shut_within_a_second(app: BrokerHarness) -> None:
    """Another process has the data key in memory and somebody kept the row: it opens for a second, not for the five
    minutes that the key is cached. Nothing tidies meanwhile."""
    (one, two), now = [await app.tenant(slug) for slug in ("one", "two")], 1000.0
    vault = await fresh(app, monotonic=lambda: now)
    blobs = {tenant: await sealed(app, tenant) for tenant in (one, two)}
    for tenant, blob in blobs.items():
        assert await opened(app, tenant, blob, vault) == b"secret"
    await app.execute("DELETE FROM vault.deks WHERE tenant_id = $1", one)
    now += 0.9
    assert await opened(app, one, blobs[one], vault) == b"secret", "so it is the look at the row that shuts it"
    now += 0.1
    for _ in range(2):
        with pytest.raises(DecryptionError):
            await opened(app, one, blobs[one], vault)
    assert await opened(app, two, blobs[two], vault) == b"secret"


async def test_the_keys_of_a_tenant_that_is_gone_leave_the_memory(app: BrokerHarness) -> None:
    one, two = [await app.tenant(slug) for slug in ("one", "two")]
    vault = await fresh(app)
    blobs = {tenant: await sealed(app, tenant) for tenant in (one, two)}
    for tenant, blob in blobs.items():
        assert await opened(app, tenant, blob, vault) == b"secret"
    await app.execute("DELETE FROM core.tenants WHERE tenant_id = $1", one)
    assert await vault.evict_expired(app.trusted) == 2, "both had a key in memory"
    assert await vault.evict_expired(app.trusted) == 1
    with pytest.raises(DecryptionError):
        await opened(app, one, blobs[one], vault)
    assert await opened(app, two, blobs[two], vault) == b"secret"
    vault.forget(two)
    assert await vault.evict_expired(app.trusted) == 0


async def test_a_key_that_was_rewrapped_meanwhile_is_read_again(app: BrokerHarness) -> None:
    """Between reading the row and unwrapping it the key was rewrapped, and the old one retired."""
    tenant = await app.tenant("one")
    blob = await sealed(app, tenant)
    k1, k2 = InMemoryKeyProvider("k1", {"k1": b"k" * 32}), InMemoryKeyProvider("k2", {"k2": b"2" * 32})
    both = InMemoryKeyProvider("k2", {"k1": b"k" * 32, "k2": b"2" * 32})
    deployment = await app.trusted.call("SELECT id FROM core.deployment")

    class Late(InMemoryKeyProvider):
        """Has the new key only, and lets the rotation happen while it is asked for the old one."""

        async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
            if kek_id == "k1":
                await rewrap_keys(app.trusted, both, DataKeyRows(deployment, tenant), lambda: None)
            return await super().unwrap(kek_id, wrapped, context)

    assert await opened(app, tenant, blob, await fresh(app, Late("k2", {"k2": b"2" * 32}))) == b"secret"
    with pytest.raises(KeyMissing):
        await opened(app, tenant, blob, await fresh(app, k1))
    assert await opened(app, tenant, blob, await fresh(app, k2)) == b"secret"


async def test_a_missing_key_is_no_damaged_secret(app: BrokerHarness) -> None:
    tenant = await app.tenant("one")
    blob = await sealed(app, tenant)
    with pytest.raises(KeyMissing, match="k1"):
        await opened(app, tenant, blob, await fresh(app, InMemoryKeyProvider("k2", {"k2": b"2" * 32})))
    both = InMemoryKeyProvider("k2", {"k1": b"k" * 32, "k2": b"2" * 32})
    assert await opened(app, tenant, blob, await fresh(app, both)) == b"secret"


@pytest.mark.guarantee("G7")
async def test_another_deployment_opens_nothing(app: BrokerHarness) -> None:
    """Even the data key stays shut: a restored copy under another id is of no use."""
    tenant = await app.tenant("one")
    blob = await sealed(app, tenant)
    await app.execute("UPDATE core.deployment SET id = gen_random_uuid()")
    with pytest.raises(DecryptionError):
        await opened(app, tenant, blob, await fresh(app))


@pytest.mark.guarantee("G7")
async def test_every_bit_of_a_stored_secret_counts(app: BrokerHarness) -> None:
    tenant = await app.tenant("one")
    role = await app.role(tenant, "team")
    row_id = await app.put(tenant, role, "secret-1")
    async with app.trusted.tenant(tenant) as work:
        row = await work.fetchrow("SELECT version, secret FROM vault.credentials WHERE tenant_id = $1")
        assert row is not None
        where, blob = build_credential_context(row_id, row["version"]), row["secret"]
        assert await app.vault.open(work, where, blob) == b"secret-1"
        for bit in range(len(blob) * 8):
            changed = bytearray(blob)
            changed[bit // 8] ^= 1 << bit % 8
            with pytest.raises(DecryptionError):
                await app.vault.open(work, where, bytes(changed))


@pytest.mark.guarantee("G7")
async def test_no_secret_opens_in_the_place_of_another(app: BrokerHarness) -> None:
    """Every ordered pair of rows, of two modules, both kinds of owner, two tenants: the secret of one in the other."""
    rows: list[tuple[UUID, UUID, str]] = []
    for slug in ("one", "two"):
        tenant = await app.tenant(slug)
        person = await app.person(tenant, "ada@example.test")
        role = await app.role(tenant, "team")
        for module in ("github", "notion"):
            for owner in (person.own, role):
                secret = f"{slug}-{module}-{owner.kind}"
                rows.append((tenant, await app.put(tenant, owner, secret, module=module), secret))
    async with app.database.admin_connection() as admin:
        for (_, source, _), (tenant, target, secret) in permutations(rows, 2):
            assert await stolen(app, admin, tenant, source, target) is None
            assert await stolen(app, admin, tenant, target, target) == secret.encode()


async def stolen(
    app: BrokerHarness, admin: asyncpg.Connection, tenant: UUID, source: UUID, target: UUID
) -> bytes | None:
    """What the target's row opens to with the source's secret in it; it gets its own back afterwards."""
    own = await admin.fetchval("SELECT secret FROM vault.credentials WHERE id = $1", target)
    other = await admin.fetchval("SELECT secret FROM vault.credentials WHERE id = $1", source)
    await admin.execute("UPDATE vault.credentials SET secret = $2 WHERE id = $1", target, other)
    try:
        async with app.trusted.tenant(tenant) as work:
            row = await work.fetchrow(
                "SELECT version, secret FROM vault.credentials WHERE tenant_id = $1 AND id = $2", target
            )
            assert row is not None
            return await app.vault.open(work, build_credential_context(target, row["version"]), row["secret"])
    except DecryptionError:
        return None
    finally:
        await admin.execute("UPDATE vault.credentials SET secret = $2 WHERE id = $1", target, own)


async def test_a_stolen_data_key_row_is_of_no_use_to_another_tenant(app: BrokerHarness) -> None:
    """Secrets, data key and ids of one tenant copied into another's rows."""
    one, two = await app.tenant("one"), await app.tenant("two")
    blob = await sealed(app, one)
    await app.execute(
        "INSERT INTO vault.deks SELECT $2, id, kek_id, wrapped, state, uses, created_at FROM vault.deks "
        "WHERE tenant_id = $1",
        one,
        two,
    )
    with pytest.raises(DecryptionError):
        await opened(app, two, blob)


async def test_a_wrapped_data_key_opens_for_its_own_tenant_and_id_only(app: BrokerHarness) -> None:
    """By itself, without any secret under it."""
    one, two = await app.tenant("one"), await app.tenant("two")
    await sealed(app, one)
    ((_, dek, _, _),) = await deks(app)
    other = uuid4()
    for tenant, named in ((two, dek), (one, other)):
        await app.execute(
            "INSERT INTO vault.deks SELECT $2, $3, kek_id, wrapped, 'retired', uses, created_at FROM vault.deks "
            "WHERE tenant_id = $1 AND id = $4",
            one,
            tenant,
            named,
            dek,
        )
    vault = await fresh(app)
    for tenant, named, opens in ((one, dek, True), (two, dek, False), (one, other, False)):
        async with app.trusted.tenant(tenant) as work:
            with contextlib.nullcontext() if opens else pytest.raises(DecryptionError):
                await vault.preload_key(work, named)


@pytest.mark.guarantee("G7")
async def test_an_earlier_secret_does_not_come_back(app: BrokerHarness) -> None:
    tenant = await app.tenant("one")
    role = await app.role(tenant, "team")
    await app.put(tenant, role, "secret-1")
    async with app.database.admin_connection() as admin:
        earlier = await admin.fetchval("SELECT secret FROM vault.credentials")
        await app.put(tenant, role, "secret-2")
        await admin.execute("UPDATE vault.credentials SET secret = $1", earlier)
    with pytest.raises(DecryptionError):
        await app.credentials.get_secret(tenant, "github", role)


@pytest.mark.parametrize("secret", [b"", b"ghp_" + b"x" * 60, b"\x02" + bytes(60), b"\x01" + bytes(44)])
async def test_the_database_refuses_what_is_no_blob(app: BrokerHarness, secret: bytes) -> None:
    tenant = await app.tenant("one")
    await app.put(tenant, await app.role(tenant, "team"), "secret-1")
    with pytest.raises(asyncpg.CheckViolationError):
        await app.execute("UPDATE vault.credentials SET secret = $1", secret)


async def test_age_is_told_by_the_clock_that_is_given(app: BrokerHarness) -> None:
    tenant = await app.tenant("one")
    await sealed(app, tenant)
    app.clock.ahead = timedelta(days=91)
    await sealed(app, tenant)
    assert len(await deks(app)) == 2
