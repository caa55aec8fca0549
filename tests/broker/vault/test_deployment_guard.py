"""A copy of a deployment opens nothing and hands out nothing until it is adopted; the original never stops."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from broker.interface import Lease
from broker.vault import deployment_guard
from broker.vault.deployment_guard import DeploymentGuard, adopt, get_adoption_state, mark_as_copy
from broker.vault.maintenance import run_maintenance
from broker.vault.vault import NotAdopted, Vault
from core.errors import Invalid
from tests.broker.broker_harness import ACTOR, BrokerHarness


async def looked(app: BrokerHarness, file: Path) -> DeploymentGuard:
    guard = DeploymentGuard(app.trusted, file)
    await guard.verify_deployment()
    return guard


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "deployment-id"


async def test_the_first_start_gives_the_id(app: BrokerHarness, file: Path) -> None:
    assert not DeploymentGuard(app.trusted, file).is_outbound_allowed(), "nobody has looked"
    assert await get_adoption_state(app.trusted, file) is None
    assert not file.exists()
    assert (await looked(app, file)).is_outbound_allowed()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (await looked(app, file)).is_outbound_allowed(), "the same folder again, or another process on it"
    assert await get_adoption_state(app.trusted, file)


async def test_many_first_starts_at_once_agree(app: BrokerHarness, file: Path) -> None:
    guards = await asyncio.gather(*[looked(app, file) for _ in range(8)])
    assert all(guard.is_outbound_allowed() for guard in guards)


@pytest.mark.parametrize("other", [None, "00112233-4455-6677-8899-aabbccddeeff"])
async def test_another_data_folder_has_a_copy(
    app: BrokerHarness, file: Path, tmp_path: Path, other: str | None
) -> None:
    await looked(app, file)
    theirs = tmp_path / "other-id"
    if other is not None:
        theirs.write_text(other)
        theirs.chmod(0o600)
    guard = await looked(app, theirs)
    assert not guard.is_outbound_allowed()
    assert await get_adoption_state(app.trusted, theirs) is False
    with pytest.raises(NotAdopted, match="mcpist adopt"):
        guard.require_adopted()
    assert (await looked(app, file)).is_outbound_allowed(), "the original goes on"


async def test_a_database_that_was_restored_elsewhere_under_the_same_folder_is_a_copy(
    app: BrokerHarness, file: Path
) -> None:
    """By hand, with PostgreSQL's own programs: the folder's id is right, and the place is not."""
    await looked(app, file)
    await app.execute("UPDATE core.deployment SET place = '7000000000000000000/16384'")
    assert not (await looked(app, file)).is_outbound_allowed()


async def test_a_database_that_our_command_restored_is_a_copy_anywhere(app: BrokerHarness, file: Path) -> None:
    """Dropped schemas and the same database: the place is right, but the command has said so."""
    await looked(app, file)
    await mark_as_copy(app.trusted)
    assert not (await looked(app, file)).is_outbound_allowed()


@pytest.mark.guarantee("G16")
async def test_a_copy_hands_out_nothing_until_it_is_adopted(app: BrokerHarness, file: Path) -> None:
    tenant = await app.tenant("acme")
    role = await app.role(tenant, "team", allow=["github.*"])
    person = await app.person(tenant, "ada@example.test", "team")
    await looked(app, file)
    await mark_as_copy(app.trusted)
    guard = await looked(app, file)
    deployment = await app.trusted.call("SELECT id FROM core.deployment")
    app.leases._vault = Vault(app.keys, deployment, clock=app.clock, guard=guard)
    await app.put(tenant, role, "secret-1")
    with pytest.raises(NotAdopted):
        await app.leases.lease(person.asks())
    (stored,) = await app.stored(tenant)
    assert (stored.state, stored.last_used_at) == ("connected", None), "nothing is broken by it"

    await adopt(app.trusted, file, ACTOR)
    with pytest.raises(NotAdopted):
        await app.leases.lease(person.asks())
    assert await guard.verify_deployment()
    assert isinstance(await app.leases.lease(person.asks()), Lease)
    assert len(await app.events(deployment_guard.DEPLOYMENT_CHAIN, "operator.adopted")) == 1


async def test_an_adoption_is_noticed_without_a_restart(
    app: BrokerHarness, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deployment_guard, "WATCH_INTERVAL_SECONDS", 0.01)
    await looked(app, file)
    await mark_as_copy(app.trusted)
    guard = await looked(app, file)
    with caplog.at_level(logging.ERROR):
        async with run_maintenance(app.vault, app.trusted, guard):
            await asyncio.sleep(0)
            await adopt(app.trusted, file, ACTOR)
            async with asyncio.timeout(10):
                while not guard.is_outbound_allowed():
                    await asyncio.sleep(0.01)
    assert "mcpist adopt" in caplog.text


async def test_the_original_s_own_id_is_gone_after_an_adoption(app: BrokerHarness, file: Path, tmp_path: Path) -> None:
    """A second folder that had the first id's file is a copy's from then on."""
    await looked(app, file)
    kept = tmp_path / "kept-id"
    kept.write_text(file.read_text())
    kept.chmod(0o600)
    await adopt(app.trusted, file, ACTOR)
    assert (await looked(app, file)).is_outbound_allowed()
    assert not (await looked(app, kept)).is_outbound_allowed()


@pytest.mark.parametrize(("text", "mode", "told"), [("no id", 0o600, "is damaged"), ("", 0o644, "chmod 600")])
async def test_a_damaged_id_is_told(app: BrokerHarness, file: Path, text: str, mode: int, told: str) -> None:
    await looked(app, file)
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(Invalid, match=told):
        await looked(app, file)


async def test_a_service_that_hides_the_system_identifier(app: BrokerHarness, file: Path) -> None:
    await app.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    guard = await looked(app, file)
    assert guard.is_outbound_allowed()
    async with app.database.admin_connection() as admin:
        place: Any = await admin.fetchval("SELECT place FROM core.deployment")
    assert place.startswith(app.database.name)


async def test_no_other_role_adopts(app: BrokerHarness) -> None:
    async with app.database.open("mcpist_console") as console:
        with pytest.raises(Exception, match="permission denied"):
            await console.call("UPDATE core.deployment SET place = '' RETURNING true")
    with pytest.raises(Exception, match="permission denied"):
        await app.trusted.call("UPDATE core.deployment SET id = gen_random_uuid() RETURNING true")
