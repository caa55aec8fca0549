"""Refreshes in a restored copy, which must not happen; and beside keys that change, which must not fail."""

import asyncio
from pathlib import Path

import pytest

from broker.connections.account_snapshot import AccessToken
from broker.refresh.outcome import boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.scheduler import RefreshScheduler
from broker.vault.deployment_guard import DeploymentGuard, adopt, mark_as_copy
from broker.vault.key_rewrap import DataKeyRows, rewrap_keys
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.reencryption import Reencryption
from broker.vault.vault import NotAdopted, Vault
from core.directory.audit_trail import Actor
from tests.broker.refresh.refresh_app import KEY, RefreshApp, now
from tests.broker.refresh.vendor import HOUR, Vendor

ACTOR = Actor("tests")
KEYS = {"k1": KEY, "k2": b"2" * 32}


@pytest.mark.guarantee("G16")
async def test_a_restored_copy_refreshes_nothing_until_it_is_adopted(
    app: RefreshApp, strict: Vendor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    account = await app.connect(strict)
    file = tmp_path / "home" / "deployment-id"
    guard = DeploymentGuard(app.database, file)
    await guard.verify_deployment()
    await mark_as_copy(app.database)
    await guard.verify_deployment()
    deployment = await app.database.call("SELECT id FROM core.deployment")
    vault = Vault(InMemoryKeyProvider("k1", KEYS), deployment, clock=now, guard=guard)
    copy = app.another(vault=vault)
    await app.execute("UPDATE vault.accounts SET last_used_at = vault.clock() + interval '1 day'")
    before = await app.row(account)
    for hours in (0, HOUR + 10):
        await app.ahead(hours)
        with pytest.raises(NotAdopted):
            await copy.get_access_token(app.tenant.id, account)
    sweeper = RefreshScheduler(copy, app.database, app.tools.timing)
    for _ in range(3):
        assert await sweeper.sweep() == 0
    assert len(caplog.records) == 1, "said once, whatever the number of due accounts and of looks at them"
    assert "was not adopted" in caplog.text
    assert await strict.calls() == 0
    assert await app.row(account) == before, "not even the intent of a refresh is left behind"

    await adopt(app.database, file, ACTOR)
    await guard.verify_deployment()
    assert await sweeper.sweep() == 1, "without a restart"
    answer = await copy.get_access_token(app.tenant.id, account)
    assert isinstance(answer, AccessToken)
    assert (await strict.calls(), await strict.reuses()) == (1, 0)
    assert answer.token == (await app.token(account)).token


@pytest.mark.guarantee("G16")
async def test_a_copy_does_not_take_over_a_lease_that_has_ended(
    app: RefreshApp, strict: Vendor, tmp_path: Path
) -> None:
    """The original's refresh was under way when its database was copied, and may still be stored there."""
    account = await app.connect(strict)
    guard = DeploymentGuard(app.database, tmp_path / "home" / "deployment-id")
    await guard.verify_deployment()
    await mark_as_copy(app.database)
    await guard.verify_deployment()
    deployment = await app.database.call("SELECT id FROM core.deployment")
    copy = app.another(vault=Vault(InMemoryKeyProvider("k1", KEYS), deployment, clock=now, guard=guard))
    await app.ahead(HOUR + 10)
    await app.execute(
        "UPDATE vault.accounts SET lease_owner = gen_random_uuid(), lease_until = vault.clock() - interval '1 minute'"
    )
    before = await app.row(account)
    with pytest.raises(NotAdopted):
        await copy.get_access_token(app.tenant.id, account)
    assert await app.row(account) == before


@pytest.mark.guarantee("G8")
@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
async def test_keys_that_change_cost_no_refresh_and_no_token(app: RefreshApp, strict: Vendor, rounds: int) -> None:
    """Accounts are refreshed again and again while their tokens are sealed anew under one data key after another."""
    accounts = [await app.connect(strict, f"person-{number}") for number in range(4)]
    keys = InMemoryKeyProvider("k2", KEYS)
    deployment = await app.database.call("SELECT id FROM core.deployment")
    vault = Vault(keys, deployment, clock=now)
    settler = OutcomeWriter(app.database, vault, None, app.tools.timing, boottime)
    broker = app.another(vault=vault, outcome_writer=settler)
    run = Reencryption(app.database, Vault(keys, deployment, clock=now), keys, lambda _: None)
    stop, turned = asyncio.Event(), asyncio.Semaphore(0)

    async def rotates() -> int:
        done = 0
        while not stop.is_set():
            await rewrap_keys(app.database, keys, DataKeyRows(deployment, app.tenant.id), lambda: None)
            result = await run.reencrypt_tenant(app.tenant.id, fresh=True)
            assert result.damaged == 0
            done += result.secrets
            turned.release()
        return done

    rotating = asyncio.create_task(rotates())
    for number in range(rounds):
        await app.ahead((number + 1) * (HOUR + 10))
        answers = await asyncio.gather(*(broker.get_access_token(app.tenant.id, account) for account in accounts))
        for answer in answers:
            assert isinstance(answer, AccessToken), answer
            assert await strict.takes(answer.token)
        await asyncio.wait({rotating, asyncio.ensure_future(turned.acquire())}, return_when=asyncio.FIRST_COMPLETED)
        assert not rotating.done(), rotating.exception()
    stop.set()
    assert await rotating >= 2 * len(accounts)
    assert (await strict.calls(), await strict.reuses()) == (rounds * len(accounts), 0)
    await broker.drain()
