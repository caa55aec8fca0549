"""Keys that change: rewrapped, re-encrypted, retired; twice at once, beside writers, after a kill, and with proof."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from broker.authorization_server.signing_key_store import SigningKeyRows, SigningKeyStore
from broker.interface import Lease
from broker.vault.credential_store import CredentialOwner, build_credential_context
from broker.vault.envelope import DecryptionError, KeyMissing
from broker.vault.key_checks import retire_key
from broker.vault.key_rewrap import DataKeyRows, rewrap_keys
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.reencryption import SEALED_COLUMNS, Reencryption, ReencryptionResult
from broker.vault.vault import Vault
from core.errors import Conflict, Invalid, NotFound, Unavailable
from core.secret import Secret
from tests.broker.broker_harness import ACTOR, BrokerHarness

K1, K2 = b"k" * 32, b"2" * 32
BOTH = InMemoryKeyProvider("k2", {"k1": K1, "k2": K2})
ONLY_NEW = InMemoryKeyProvider("k2", {"k2": K2})
NOW = datetime(2026, 11, 22, tzinfo=UTC)


async def deployment_of(app: BrokerHarness) -> UUID:
    return await app.trusted.call("SELECT id FROM core.deployment")


async def vault_with(app: BrokerHarness, keys: InMemoryKeyProvider) -> Vault:
    return Vault(keys, await deployment_of(app), clock=app.clock)


async def filled(app: BrokerHarness, slug: str, secrets: int) -> tuple[UUID, list[CredentialOwner]]:
    """A tenant with shared credentials, one for each of its roles."""
    tenant = await app.tenant(slug)
    owners = [await app.role(tenant, f"team-{number}") for number in range(secrets)]
    for number, owner in enumerate(owners):
        await app.put(tenant, owner, f"secret-{slug}-{number}")
    return tenant, owners


async def rewrapped(app: BrokerHarness, tenant: UUID, keys: InMemoryKeyProvider = BOTH) -> int:
    return await rewrap_keys(app.trusted, keys, DataKeyRows(await deployment_of(app), tenant), lambda: None)


async def reencrypted(
    app: BrokerHarness, tenant: UUID, *, fresh: bool = False, keys: InMemoryKeyProvider = BOTH
) -> ReencryptionResult:
    run = Reencryption(app.trusted, await vault_with(app, keys), keys, lambda _: None)
    return await run.reencrypt_tenant(tenant, fresh=fresh)


async def secret_of(app: BrokerHarness, tenant: UUID, owner: CredentialOwner, keys: InMemoryKeyProvider) -> str:
    """What the row opens to in a process that has nothing in memory and these keys alone."""
    vault = await vault_with(app, keys)
    async with app.trusted.tenant(tenant) as work:
        row = await work.fetchrow(
            "SELECT id, version, secret FROM vault.credentials WHERE tenant_id = $1 AND role_id = $2", owner.role_id
        )
        assert row is not None
        return (await vault.open(work, build_credential_context(row["id"], row["version"]), row["secret"])).decode()


async def rows(app: BrokerHarness, sql: str, *args: object) -> list[tuple[Any, ...]]:
    async with app.database.admin_connection() as admin:
        return [tuple(row) for row in await admin.fetch(sql, *args)]


async def test_data_keys_are_rewrapped_and_no_secret_is_touched(app: BrokerHarness) -> None:
    tenant, owners = await filled(app, "one", 3)
    before = await rows(app, "SELECT id, secret FROM vault.credentials ORDER BY id")
    assert await rewrapped(app, tenant) == 1
    assert await rewrapped(app, tenant) == 0, "run again, there is nothing to do"
    assert await rows(app, "SELECT id, secret FROM vault.credentials ORDER BY id") == before
    assert await rows(app, "SELECT kek_id, rewrapped FROM vault.deks") == [("k2", True)]
    assert [await secret_of(app, tenant, owner, ONLY_NEW) for owner in owners] == [
        f"secret-one-{number}" for number in range(3)
    ]


async def test_retired_data_keys_are_rewrapped_too_in_batches(
    app: BrokerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.vault.key_rewrap.BATCH_SIZE", 3)
    tenant, _ = await filled(app, "one", 1)
    for _ in range(7):
        async with app.trusted.tenant(tenant) as work:
            await app.vault.rotate_data_key(work)
    assert await rewrapped(app, tenant) == 8
    assert await rows(app, "SELECT DISTINCT kek_id FROM vault.deks") == [("k2",)]


async def test_signing_keys_are_rewrapped_and_open(app: BrokerHarness) -> None:
    deployment = await deployment_of(app)
    store = SigningKeyStore(app.trusted, app.keys, deployment, clock=app.clock)
    await store.ensure_keys()
    assert await rewrap_keys(app.trusted, BOTH, SigningKeyRows(deployment), lambda: None) == 2
    later = SigningKeyStore(app.trusted, ONLY_NEW, deployment, clock=app.clock)
    for sealed in await later.list_published():
        assert (await later.unwrap_key(sealed)).kid == sealed.kid
    assert await rewrap_keys(app.trusted, BOTH, SigningKeyRows(deployment), lambda: None) == 0


async def test_two_rewraps_at_once_do_no_harm(app: BrokerHarness) -> None:
    tenant, owners = await filled(app, "one", 1)
    for _ in range(5):
        async with app.trusted.tenant(tenant) as work:
            await app.vault.rotate_data_key(work)
    changed = await asyncio.gather(*[rewrapped(app, tenant) for _ in range(4)])
    assert sum(changed) == 6, "each was stored once"
    assert await secret_of(app, tenant, owners[0], ONLY_NEW) == "secret-one-0"


async def test_a_data_key_that_was_rewrapped_meanwhile_keeps_what_it_got(app: BrokerHarness) -> None:
    """One command still wraps under k2 while another, begun after k3 was activated, has done so under k3."""
    tenant, owners = await filled(app, "one", 1)
    keys = {"k1": K1, "k2": K2, "k3": b"3" * 32}
    newest = InMemoryKeyProvider("k3", keys)

    class Slow(InMemoryKeyProvider):
        """The other command is done while this one asks its keeper."""

        async def wrap(self, plain: bytes, context: bytes) -> Any:
            wrapped = await super().wrap(plain, context)
            assert await rewrapped(app, tenant, newest) == 1
            return wrapped

    assert await rewrapped(app, tenant, Slow("k2", keys)) == 0
    assert await rows(app, "SELECT kek_id FROM vault.deks") == [("k3",)]
    only = InMemoryKeyProvider("k3", {"k3": keys["k3"]})
    assert await secret_of(app, tenant, owners[0], only) == "secret-one-0"


@pytest.mark.guarantee("G8")
async def test_a_rewrap_that_was_killed_half_way_goes_on(app: BrokerHarness) -> None:
    tenant, owners = await filled(app, "one", 1)
    for _ in range(5):
        async with app.trusted.tenant(tenant) as work:
            await app.vault.rotate_data_key(work)

    class Dies(InMemoryKeyProvider):
        """Wraps three times, and then the process is gone."""

        left = 3

        async def wrap(self, plain: bytes, context: bytes) -> Any:
            self.left -= 1
            if self.left < 0:
                raise asyncio.CancelledError
            return await super().wrap(plain, context)

    with pytest.raises(asyncio.CancelledError):
        await rewrapped(app, tenant, Dies("k2", {"k1": K1, "k2": K2}))
    assert await secret_of(app, tenant, owners[0], BOTH) == "secret-one-0", "half way everything opens"
    assert await rewrapped(app, tenant) == 3
    assert await secret_of(app, tenant, owners[0], ONLY_NEW) == "secret-one-0"


async def test_a_wrong_or_missing_key_changes_nothing(app: BrokerHarness) -> None:
    tenant, _ = await filled(app, "one", 1)
    before = await rows(app, "SELECT id, kek_id, wrapped FROM vault.deks")
    with pytest.raises(KeyMissing, match="k1"):
        await rewrapped(app, tenant, ONLY_NEW)
    with pytest.raises(DecryptionError):
        await rewrapped(app, tenant, InMemoryKeyProvider("k2", {"k1": K2, "k2": K2}))
    assert await rows(app, "SELECT id, kek_id, wrapped FROM vault.deks") == before


async def test_a_data_key_that_was_changed_is_not_rewrapped(app: BrokerHarness) -> None:
    """Every bit of the wrapped key counts: nothing forged gets the new key's blessing."""
    tenant, _ = await filled(app, "one", 1)
    ((wrapped,),) = await rows(app, "SELECT wrapped FROM vault.deks")
    for bit in range(0, len(wrapped) * 8, 7):
        changed = bytearray(wrapped)
        changed[bit // 8] ^= 1 << bit % 8
        await app.execute("UPDATE vault.deks SET wrapped = $1", bytes(changed))
        with pytest.raises(DecryptionError):
            await rewrapped(app, tenant)
    assert await rows(app, "SELECT kek_id FROM vault.deks") == [("k1",)]


async def test_secrets_come_under_a_data_key_that_was_born_under_the_active_key(app: BrokerHarness) -> None:
    tenant, owners = await filled(app, "one", 3)
    versions = await rows(app, "SELECT id, version FROM vault.credentials ORDER BY id")
    generation = await app.generation(tenant)
    await rewrapped(app, tenant)
    done = await reencrypted(app, tenant)
    assert (done.data_keys, done.secrets, done.busy, done.damaged) == (1, 3, 0, 0)
    assert await rows(app, "SELECT state, kek_id, rewrapped FROM vault.deks ORDER BY created_at") == [
        ("retired", "k2", True),
        ("active", "k2", False),
    ]
    assert await rows(app, "SELECT DISTINCT substring(secret FROM 2 FOR 16) FROM vault.credentials") == await rows(
        app, "SELECT uuid_send(id) FROM vault.deks WHERE state = 'active'"
    )
    assert await rows(app, "SELECT id, version FROM vault.credentials ORDER BY id") == versions
    assert await app.generation(tenant) == generation, "what a gateway has cached stays good"
    assert [await secret_of(app, tenant, owner, ONLY_NEW) for owner in owners] == [
        f"secret-one-{number}" for number in range(3)
    ]
    again = await reencrypted(app, tenant)
    assert (again.data_keys, again.secrets) == (0, 0)
    fresh = await reencrypted(app, tenant, fresh=True)
    assert (fresh.data_keys, fresh.secrets) == (1, 3)


async def test_a_tenant_without_secrets_gets_no_key(app: BrokerHarness) -> None:
    tenant = await app.tenant("empty")
    assert await reencrypted(app, tenant, fresh=True) == ReencryptionResult()
    assert await rows(app, "SELECT id FROM vault.deks") == []


@pytest.mark.guarantee("G8")
async def test_a_reencryption_that_was_killed_half_way_goes_on(
    app: BrokerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.vault.reencryption.BATCH_SIZE", 2)
    tenant, owners = await filled(app, "one", 7)
    batches = 0

    def dies(_secrets: int) -> None:
        nonlocal batches
        batches += 1
        if batches == 2:
            raise asyncio.CancelledError

    run = Reencryption(app.trusted, await vault_with(app, BOTH), BOTH, dies)
    with pytest.raises(asyncio.CancelledError):
        await run.reencrypt_tenant(tenant, fresh=False)
    left = Reencryption(app.trusted, await vault_with(app, BOTH), BOTH, lambda _: None)
    assert await left.count_pending(tenant) == 3
    for owner in owners:
        assert await secret_of(app, tenant, owner, BOTH)
    done = await reencrypted(app, tenant)
    assert (done.data_keys, done.secrets) == (0, 3), "no second data key, and what was done stays done"
    for number, owner in enumerate(owners):
        assert await secret_of(app, tenant, owner, BOTH) == f"secret-one-{number}"


async def test_a_damaged_secret_is_counted_and_left(app: BrokerHarness) -> None:
    tenant, owners = await filled(app, "one", 3)
    await app.execute(
        "UPDATE vault.credentials SET secret = set_byte(secret, 40, get_byte(secret, 40) # 1) WHERE role_id = $1",
        owners[1].role_id,
    )
    done = await reencrypted(app, tenant, fresh=True)
    assert (done.secrets, done.damaged, done.busy) == (2, 1, 0)


async def test_a_row_in_other_hands_is_left_for_later_and_their_write_wins(app: BrokerHarness) -> None:
    """Somebody holds a row for the whole of the first round, and stores a new secret then."""
    tenant, owners = await filled(app, "one", 3)
    waited: list[float] = []

    async with app.trusted.tenant(tenant) as theirs:
        await theirs.fetch(
            "SELECT id FROM vault.credentials WHERE tenant_id = $1 AND role_id = $2 FOR UPDATE", owners[0].role_id
        )
        released = asyncio.Event()

        async def sleep(seconds: float) -> None:
            waited.append(seconds)
            released.set()
            await asyncio.sleep(0.01)

        run = Reencryption(app.trusted, await vault_with(app, BOTH), BOTH, lambda _: None, sleep=sleep)
        running = asyncio.create_task(run.reencrypt_tenant(tenant, fresh=True))
        await asyncio.wait_for(released.wait(), 10)
        await theirs.execute(
            "UPDATE vault.credentials SET last_used_at = now() WHERE tenant_id = $1 AND role_id = $2", owners[0].role_id
        )
    done = await running
    assert (done.secrets, done.busy) == (3, 0)
    assert waited


async def test_nothing_is_waited_for_for_ever(app: BrokerHarness) -> None:
    tenant, owners = await filled(app, "one", 2)

    async def sleep(_seconds: float) -> None: ...

    async with app.trusted.tenant(tenant) as theirs:
        await theirs.fetch(
            "SELECT id FROM vault.credentials WHERE tenant_id = $1 AND role_id = $2 FOR UPDATE", owners[0].role_id
        )
        run = Reencryption(app.trusted, await vault_with(app, BOTH), BOTH, lambda _: None, sleep=sleep)
        done = await run.reencrypt_tenant(tenant, fresh=True)
    assert (done.secrets, done.busy) == (1, 1)
    assert (await reencrypted(app, tenant)).secrets == 1


@pytest.mark.guarantee("G8")
async def test_a_key_is_retired_only_when_nothing_hangs_on_it(app: BrokerHarness) -> None:
    tenants = [(await filled(app, slug, 1))[0] for slug in ("one", "two")]
    deployment = await deployment_of(app)
    await SigningKeyStore(app.trusted, app.keys, deployment, clock=app.clock).ensure_keys()

    async def refused(kek_id: str, text: str, keys: InMemoryKeyProvider = BOTH) -> None:
        with pytest.raises(Conflict, match=text):
            await retire_key(app.trusted, keys, ACTOR, kek_id, NOW)

    await refused("k2", "is active")
    await refused("k1", "still wraps")
    await rewrapped(app, tenants[0])
    await refused("k1", "still wraps")
    await rewrapped(app, tenants[1])
    await refused("k1", "still wraps")  # the signing keys, which are no tenant's
    await rewrap_keys(app.trusted, BOTH, SigningKeyRows(deployment), lambda: None)
    await retire_key(app.trusted, BOTH, ACTOR, "k1", NOW)
    await retire_key(app.trusted, BOTH, ACTOR, "k1", NOW)  # again, after a kill before the file was changed
    assert await rows(app, "SELECT kek_id, retired_at IS NULL FROM vault.key_checks ORDER BY 1") == [
        ("k1", False),
        ("k2", True),
    ]
    with pytest.raises(NotFound):
        await retire_key(app.trusted, BOTH, ACTOR, "k3", NOW)


async def test_a_process_with_an_old_key_file_seals_nothing_under_a_retired_key(app: BrokerHarness) -> None:
    tenant, _ = await filled(app, "one", 1)
    await rewrapped(app, tenant)
    await retire_key(app.trusted, BOTH, ACTOR, "k1", NOW)
    other = await app.tenant("two")
    role = await app.role(other, "team")
    with pytest.raises(Invalid, match="k1 was retired"):
        await app.put(other, role, "secret-2")
    assert await rows(app, "SELECT kek_id FROM vault.deks WHERE tenant_id = $1", other) == []


async def test_retiring_waits_for_who_is_storing_a_data_key(app: BrokerHarness) -> None:
    """A process begins to use the old key in the moment in which it is retired: one of both gives way."""
    tenant, _ = await filled(app, "one", 1)
    await rewrapped(app, tenant)
    other = await app.tenant("two")
    async with app.trusted.tenant(other) as theirs:
        await app.vault.rotate_data_key(theirs)
        retiring = asyncio.create_task(retire_key(app.trusted, BOTH, ACTOR, "k1", NOW))
        done, _ = await asyncio.wait({retiring}, timeout=0.2)
        assert not done, "it waits for the transaction"
    with pytest.raises(Conflict, match="still wraps"):
        await retiring


async def test_whatever_a_key_seals_refers_to_it_and_is_rewrapped(app: BrokerHarness) -> None:
    """A new table with keys of its own has to come into `mcpist keys rewrap` and under the proof of `retire`."""
    named = await rows(
        app,
        """SELECT c.table_schema || '.' || c.table_name FROM information_schema.columns c
        WHERE c.column_name = 'kek_id' AND c.table_name <> 'key_checks' ORDER BY 1""",
    )
    referring = await rows(
        app,
        """SELECT n.nspname || '.' || r.relname FROM pg_constraint k JOIN pg_class r ON r.oid = k.conrelid
        JOIN pg_namespace n ON n.oid = r.relnamespace
        WHERE k.contype = 'f' AND k.confrelid = 'vault.key_checks'::regclass ORDER BY 1""",
    )
    assert named == referring == [("auth.deployment_settings",), ("auth.signing_keys",), ("vault.deks",)]


async def test_every_sealed_column_is_reencrypted(app: BrokerHarness) -> None:
    """Columns whose CHECK demands the format of a sealed secret, as the database has them."""
    found = await rows(
        app,
        """SELECT DISTINCT n.nspname || '.' || r.relname, a.attname FROM pg_constraint k
        JOIN pg_class r ON r.oid = k.conrelid JOIN pg_namespace n ON n.oid = r.relnamespace
        JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum = ANY (k.conkey) AND a.atttypid = 'bytea'::regtype
        WHERE k.contype = 'c' AND pg_get_constraintdef(k.oid) LIKE '%x01%' ORDER BY 1, 2""",
    )
    assert found == sorted((column.table, column.column) for column in SEALED_COLUMNS)


@pytest.fixture
async def busy(app: BrokerHarness) -> tuple[UUID, Any, CredentialOwner]:
    """A tenant whose person asks for leases."""
    tenant = await app.tenant("busy")
    role = await app.role(tenant, "team", allow=["github.*"])
    person = await app.person(tenant, "ada@example.test", "team")
    await app.put(tenant, role, "secret-0")
    return tenant, person, role


async def load(app: BrokerHarness, person: Any, stop: asyncio.Event) -> int:
    """Ask for leases until `stop`; how many came. One that fails ends the test."""
    came = 0
    while not stop.is_set():
        lease = await app.leases.lease(person.asks())
        assert isinstance(lease, Lease), lease
        came += 1
    return came


async def rotate_under_load(
    app: BrokerHarness, busy: tuple[UUID, Any, CredentialOwner], rounds: int
) -> tuple[int, int]:
    """Whole rotations, key after key, while leases are asked for and the secret is replaced: leases and writes."""
    tenant, person, role = busy
    stop, written = asyncio.Event(), 0
    callers = [asyncio.create_task(load(app, person, stop)) for _ in range(3)]
    keys = app.keys

    async def writes() -> None:
        nonlocal written
        while not stop.is_set():
            await app.put(tenant, role, f"secret-{written + 1}")
            written += 1
            await asyncio.sleep(0.005)

    writer = asyncio.create_task(writes())
    try:
        for number in range(rounds):
            old, new = keys._active, f"n{number}"
            keys._keys[new] = uuid4().bytes * 2
            keys._active = new
            await rewrapped(app, tenant, keys)
            done = await reencrypted(app, tenant, keys=keys)
            assert (done.busy, done.damaged) == (0, 0)
            await rewrapped(app, tenant, keys)
            await retire_key(app.trusted, keys, ACTOR, old, NOW)
            del keys._keys[old]
            assert not writer.done(), writer.exception()
    finally:
        stop.set()
    leases = sum(await asyncio.gather(*callers))
    await writer
    assert await app.credentials.get_secret(tenant, "github", role) == Secret(f"secret-{written}")
    return leases, written


@pytest.mark.guarantee("G8")
async def test_rotation_under_load_fails_no_lease(app: BrokerHarness, busy: tuple[UUID, Any, CredentialOwner]) -> None:
    leases, written = await rotate_under_load(app, busy, 3)
    assert leases > 10
    assert written > 3


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_many_rotations_under_load_fail_no_lease(
    app: BrokerHarness, busy: tuple[UUID, Any, CredentialOwner]
) -> None:
    leases, written = await rotate_under_load(app, busy, 100)
    assert leases > 1000
    assert written > 300


async def test_an_unreachable_keeper_is_no_damaged_secret(app: BrokerHarness) -> None:
    tenant, _ = await filled(app, "one", 1)

    class Away(InMemoryKeyProvider):
        async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
            raise Unavailable("away")

    with pytest.raises(Unavailable, match="away"):
        await reencrypted(app, tenant, fresh=True, keys=Away("k2", {"k1": K1, "k2": K2}))
    with pytest.raises(asyncpg.PostgresError, match="permission denied"):
        await app.console.fetch("SELECT 1 FROM vault.deks")
