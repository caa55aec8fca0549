"""One refresh from beginning to end, at a real vendor: fast path, one call for many, what is stored."""

import asyncio

import pytest

from broker.connections.account_snapshot import AccessToken, TokenUnavailable, UnavailableReason
from core.errors import MCPistError
from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import HOUR, Vendor


async def test_a_good_token_is_handed_out_without_a_call(app: RefreshApp, vendor: Vendor) -> None:
    account = await app.connect(vendor)
    answer = await app.token(account)
    assert await vendor.takes(answer.token)
    assert answer.expires_in is not None
    assert HOUR - 30 < answer.expires_in <= HOUR
    assert await vendor.calls() == 0


async def test_an_ended_token_is_refreshed_and_the_next_refresh_works_too(app: RefreshApp, vendor: Vendor) -> None:
    account = await app.connect(vendor)
    before = await app.token(account)
    for number in (1, 2, 3):
        await app.ahead(number * (HOUR + 10))
        answer = await app.token(account)
        assert answer.version == before.version + number
        assert await vendor.takes(answer.token)
        assert await vendor.calls() == number
    row = await app.row(account)
    assert (row["status"], row["lease_owner"], row["uncertain"], row["attempt_no"]) == ("active", None, False, 0)
    assert await vendor.reuses() == 0


async def test_a_token_that_does_not_last_as_long_as_needed_is_refreshed(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR - 100)
    await app.token(account, need_seconds=60)
    assert await strict.calls() == 0
    await app.token(account, need_seconds=120)
    assert await strict.calls() == 1


async def test_five_hundred_callers_cost_one_call(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    answers = await asyncio.gather(*(app.token(account) for _ in range(500)))
    assert len({answer.version for answer in answers}) == 1
    assert await strict.calls() == 1


async def test_four_brokers_cost_one_call(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    brokers = [app.accounts, *(app.another() for _ in range(3))]
    answers = await asyncio.gather(
        *(broker.get_access_token(app.tenant.id, account) for broker in brokers for _ in range(20))
    )
    assert {type(answer) for answer in answers} == {AccessToken}
    assert await strict.calls() == 1


async def test_a_storm_of_401_is_one_refresh(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    before = await app.token(account)
    brokers = [app.accounts, app.another()]
    answers = await asyncio.gather(
        *(
            broker.get_access_token(app.tenant.id, account, rejected_version=before.version)
            for broker in brokers
            for _ in range(100)
        )
    )
    assert {answer.version for answer in answers if isinstance(answer, AccessToken)} == {before.version + 1}
    assert await strict.calls() == 1


async def test_a_401_on_a_token_just_given_does_not_refresh_again(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    first = await app.token(account)
    second = await app.token(account, rejected_version=first.version)
    answer = await app.fresh(account, rejected_version=second.version)
    assert isinstance(answer, TokenUnavailable)
    assert (answer.reason, answer.cause) == (UnavailableReason.REFUSED, "rejected")
    assert await strict.calls() == 1
    await app.ahead(60)
    assert (await app.token(account, rejected_version=second.version)).version == second.version + 1


async def test_a_rejected_version_that_is_history_costs_nothing(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    first = await app.token(account)
    await app.token(account, rejected_version=first.version)
    again = await app.token(account, rejected_version=first.version)
    assert again.version == first.version + 1
    assert await strict.calls() == 1


@pytest.mark.guarantee("G3")
async def test_the_first_caller_may_leave(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    await strict.fault("delay_after", ms=300)
    first = asyncio.create_task(app.fresh(account))
    while await strict.calls() == 0:
        await asyncio.sleep(0.01)
    second = asyncio.create_task(app.fresh(account))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert isinstance(await second, AccessToken)
    assert await strict.calls() == 1


async def test_a_caller_that_cannot_wait_is_told_so_and_the_refresh_goes_on(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    await strict.fault("delay_after", ms=500)
    answer = await app.fresh(account, within=0.05)
    assert isinstance(answer, TokenUnavailable)
    assert answer.reason is UnavailableReason.REFRESHING
    await app.token(account)
    assert await strict.calls() == 1


async def test_what_still_lives_is_handed_out_to_a_caller_that_cannot_wait(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR - 30)
    await strict.fault("delay_after", ms=500)
    answer = await app.token(account, within=0.05)
    assert answer.expires_in is not None
    assert answer.expires_in < 30
    assert (await app.token(account)).version == answer.version + 1


async def test_an_account_that_was_disconnected_meanwhile_does_not_come_back(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    await strict.fault("delay_after", ms=400)
    waiting = asyncio.create_task(app.fresh(account))
    while await strict.calls() == 0:
        await asyncio.sleep(0.01)
    await app.execute("DELETE FROM vault.accounts WHERE id = $1", account)
    answer = await waiting
    assert answer == TokenUnavailable(UnavailableReason.MISSING)
    assert await app.count("vault.accounts") == 0
    assert await app.count("vault.candidates") == 0


async def test_an_unknown_account_and_another_tenant_s_are_the_same(
    app: RefreshApp, strict: Vendor, make_tenant
) -> None:
    account = await app.connect(strict)
    other = await make_tenant()
    assert await app.accounts.get_access_token(other.id, account) == TokenUnavailable(UnavailableReason.MISSING)
    assert await app.fresh(other.id) == TokenUnavailable(UnavailableReason.MISSING)


@pytest.mark.parametrize("column", ["access", "refresh"])
async def test_a_changed_blob_is_neither_used_nor_sent(app: RefreshApp, strict: Vendor, column: str) -> None:
    account = await app.connect(strict)
    if column == "refresh":
        await app.ahead(HOUR + 10)
    await app.execute(
        f"UPDATE vault.accounts SET {column} = overlay({column} placing '\\x00'::bytea from 40 for 1) WHERE id = $1",
        account,
    )
    answer = await app.fresh(account)
    assert answer == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "unreadable")
    assert await strict.calls() == 0


@pytest.mark.guarantee("G7")
async def test_swapped_tokens_of_one_row_are_not_sent(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    await app.execute("UPDATE vault.accounts SET access = refresh, refresh = access WHERE id = $1", account)
    assert await app.fresh(account) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "unreadable")
    assert await strict.calls() == 0


async def test_a_removed_provider_is_told(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    await app.execute("UPDATE vault.accounts SET provider = 'gone' WHERE id = $1", account)
    with pytest.raises(MCPistError, match="gone"):
        await app.fresh(account)
    assert (await app.row(account))["lease_owner"] is None
