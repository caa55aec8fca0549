"""Stored credentials: put, replaced, listed, removed; recorded, announced, and never another tenant's."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from broker.vault.credential_store import MAX_SECRET_LENGTH, CredentialOwner
from broker.vault.envelope import DecryptionError
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret
from tests.broker.broker_harness import ACTOR, BrokerHarness


async def test_put_replace_remove(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    person = await app.person(tenant, "ada@example.test")
    first = await app.put(tenant, person.own, "secret-1", account="ada")
    (stored,) = await app.stored(tenant)
    assert (stored.id, stored.module, stored.kind, stored.owner) == (first, "github", "personal", "ada@example.test")
    assert (stored.account, stored.state, stored.cause, stored.last_used_at) == ("ada", "connected", "", None)

    assert await app.put(tenant, person.own, "secret-2", account="ada2") == first
    (replaced,) = await app.stored(tenant)
    assert (replaced.version, replaced.account) == (stored.version + 1, "ada2")
    assert await app.credentials.get_secret(tenant, "github", person.own) == Secret("secret-2")

    await app.credentials.remove(ACTOR, tenant, "github", person.own)
    assert await app.stored(tenant) == []
    with pytest.raises(NotFound):
        await app.credentials.remove(ACTOR, tenant, "github", person.own)
    with pytest.raises(NotFound):
        await app.credentials.get_secret(tenant, "github", person.own)


async def test_a_version_never_comes_back(app: BrokerHarness) -> None:
    """A gateway that remembers a version of a removed credential must not find it in the next one."""
    tenant = await app.tenant("acme")
    role, versions = await app.role(tenant, "team"), set[int]()
    for _ in range(5):
        await app.put(tenant, role, "secret-1")
        versions.add((await app.stored(tenant))[0].version)
        await app.credentials.remove(ACTOR, tenant, "github", role)
    assert len(versions) == 5


async def test_personal_and_shared_ones_stand_beside_each_other(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    person, role = await app.person(tenant, "ada@example.test"), await app.role(tenant, "team")
    for module in ("notion", "github"):
        for owner in (role, person.own):
            await app.put(tenant, owner, f"secret-{module}-{owner.kind}", module=module)
    listed = [(one.module, one.kind, one.owner) for one in await app.stored(tenant)]
    assert listed == [
        ("github", "personal", "ada@example.test"),
        ("github", "shared", "team"),
        ("notion", "personal", "ada@example.test"),
        ("notion", "shared", "team"),
    ]
    assert len(await app.stored(tenant, "notion")) == 2


async def test_each_change_is_recorded_and_announced(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    role = await app.role(tenant, "team")
    generation = await app.generation(tenant)

    async def raised() -> bool:
        nonlocal generation
        before, generation = generation, await app.generation(tenant)
        return generation == before + 1

    credential_id = await app.put(tenant, role, "secret-1", account="bot")
    assert await raised()
    await app.put(tenant, role, "secret-2")
    assert await raised()
    version = (await app.stored(tenant))[0].version
    assert await app.credentials.mark_broken(tenant, credential_id, version, "rejected")
    assert await raised()
    await app.credentials.remove(ACTOR, tenant, "github", role)
    assert await raised()

    common = {"module": "github", "role": str(role.id), "credential": str(credential_id)}
    for kind, detail, actor in (
        ("credential.created", {"account": "bot"}, "tests"),
        ("credential.replaced", {"account": ""}, "tests"),
        ("credential.broken", {"cause": "rejected"}, "broker"),
        ("credential.removed", {}, "tests"),
    ):
        (event,) = await app.events(tenant, kind)
        assert (event.detail, event.actor) == ({**common, **detail}, actor)


async def test_only_the_version_that_was_refused_is_marked(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    role = await app.role(tenant, "team")
    credential_id = await app.put(tenant, role, "secret-1")
    (first,) = await app.stored(tenant)
    await app.put(tenant, role, "secret-2")
    assert not await app.credentials.mark_broken(tenant, credential_id, first.version, "rejected")
    assert await app.credentials.mark_broken(tenant, credential_id, first.version + 1, "rejected")
    assert not await app.credentials.mark_broken(tenant, credential_id, first.version + 1, "rejected")
    assert len(await app.events(tenant, "credential.broken")) == 1
    await app.put(tenant, role, "secret-3")
    (mended,) = await app.stored(tenant)
    assert (mended.state, mended.cause) == ("connected", "")


async def test_one_of_many_at_once_wins_whole(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    role = await app.role(tenant, "team")
    for _ in range(2):  # the first time they insert, the second time they replace
        puts = [app.put(tenant, role, f"secret-{number}", account=f"{number}") for number in range(8)]
        results = await asyncio.gather(*puts, return_exceptions=True)
        assert all(isinstance(result, UUID | Conflict) for result in results)
        (stored,) = await app.stored(tenant)
        assert await app.credentials.get_secret(tenant, "github", role) == Secret(f"secret-{stored.account}")
        assert not isinstance(results[int(stored.account)], Exception)


@pytest.mark.parametrize("secret", ["", " ", " x", "x\n", "x\ny", "x\0", "x" * (MAX_SECRET_LENGTH + 1)])
async def test_what_no_header_can_carry_is_refused(app: BrokerHarness, secret: str) -> None:
    tenant = await app.tenant("acme")
    role = await app.role(tenant, "team")
    with pytest.raises(Invalid) as refused:
        await app.put(tenant, role, secret)
    assert secret.strip("x \n\0") == "" or secret not in str(refused.value)
    assert await app.stored(tenant) == []


async def test_owners_by_name(app: BrokerHarness) -> None:
    tenant, other = await app.tenant("acme"), await app.tenant("other")
    person, role = await app.person(tenant, "ada@example.test"), await app.role(tenant, "team")
    assert await app.credentials.resolve_owner(tenant, email=" Ada@Example.test ") == person.own
    assert await app.credentials.resolve_owner(tenant, role="team") == role
    for wanted in ({"email": "ada@example.test"}, {"role": "team"}, {"role": ""}):
        with pytest.raises(NotFound):
            await app.credentials.resolve_owner(other, **wanted)


async def test_nothing_of_another_tenant(app: BrokerHarness) -> None:
    """The ids are right and the tenant is not: the same answers as for ids that nobody has."""
    tenant, other = await app.tenant("acme"), await app.tenant("other")
    person, role = await app.person(tenant, "ada@example.test"), await app.role(tenant, "team")
    credential_id = await app.put(tenant, role, "secret-1")
    (before,) = await app.stored(tenant)
    assert await app.stored(other) == []
    assert not await app.credentials.mark_broken(other, credential_id, before.version, "rejected")
    for owner in (role, person.own, CredentialOwner("shared", uuid4()), CredentialOwner("personal", uuid4())):
        with pytest.raises(NotFound, match="there is no such user or role"):
            await app.put(other, owner, "secret-2")
        with pytest.raises(NotFound, match="no such credential"):
            await app.credentials.remove(ACTOR, other, "github", owner)
        with pytest.raises(NotFound, match="no such credential"):
            await app.credentials.get_secret(other, "github", owner)
    assert await app.stored(tenant) == [before]


async def test_it_goes_with_its_owner(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    person, role = await app.person(tenant, "ada@example.test"), await app.role(tenant, "team")
    await app.put(tenant, person.own, "secret-1")
    await app.put(tenant, role, "secret-2")
    await app.execute("DELETE FROM core.roles WHERE id = $1", role.id)
    assert [one.kind for one in await app.stored(tenant)] == ["personal"]
    await app.execute("DELETE FROM core.users WHERE id = $1", person.id)
    assert await app.stored(tenant) == []
    await app.execute("DELETE FROM core.tenants WHERE tenant_id = $1", tenant)
    async with app.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM vault.deks") == 0


async def test_a_damaged_secret_is_an_error_and_never_passed_on(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    role = await app.role(tenant, "team")
    await app.put(tenant, role, "secret-1")
    await app.execute("UPDATE vault.credentials SET secret = '\\x01' || decode(repeat('00', 60), 'hex')")
    with pytest.raises(DecryptionError):
        await app.credentials.get_secret(tenant, "github", role)


@pytest.mark.guarantee("G10")
async def test_no_other_role_reaches_the_vault(app: BrokerHarness) -> None:
    for role in ("mcpist_gateway", "mcpist_console"):
        async with app.database.open(role) as other:
            for table in ("vault.credentials", "vault.deks", "vault.key_checks", "core.deployment"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await other.call(f"SELECT count(*) FROM {table}")  # type: ignore[arg-type]


async def test_the_broker_cannot_take_a_key_check_away_that_is_needed(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    await app.put(tenant, await app.role(tenant, "team"), "secret-1")
    with pytest.raises(asyncpg.ForeignKeyViolationError):  # by a check that no tenant's policy hides a row from
        await app.trusted.call("DELETE FROM vault.key_checks")
    for statement in (
        "UPDATE vault.key_checks SET mac = mac",
        "DELETE FROM vault.deks",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await app.trusted.call(statement)  # type: ignore[arg-type]


async def test_times_are_the_clock_s(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    role = await app.role(tenant, "team")
    await app.put(tenant, role, "secret-1")
    app.clock.ahead = timedelta(days=2)
    await app.put(tenant, role, "secret-2")
    (stored,) = await app.stored(tenant)
    assert timedelta(days=2) <= stored.updated_at - stored.created_at < timedelta(days=2, minutes=5)
