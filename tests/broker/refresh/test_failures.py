"""Every class of failure, by profile: what happens to the account, what to the vendor, and whom nobody blames."""

import asyncio
from pathlib import Path

import pytest

from broker.connections.account_repository import AccountGrant, replace_grant, update_client
from broker.connections.account_snapshot import AccessToken, TokenUnavailable, UnavailableReason
from broker.oauth_client.types import ErrorClass, OAuthClientConfig
from broker.refresh.decision import RefreshTiming
from broker.vault.credential_store import CredentialOwner
from core.secret import Secret
from tests.broker.refresh.endpoints import Broken, Scripted, failed
from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import HOUR, Vendor
from tests.support.failpoints import held_at

LATER = 400
"""Past every backoff, in seconds."""


async def stuck(app: RefreshApp, account: object, **options: object) -> TokenUnavailable:
    answer = await app.fresh(account, **options)  # type: ignore[arg-type]
    assert isinstance(answer, TokenUnavailable), answer
    return answer


@pytest.mark.guarantee("G4")
@pytest.mark.parametrize("kind", ["hang_up_after", "garbage"])
async def test_a_lost_answer_costs_nothing_where_the_vendor_repeats_it(
    app: RefreshApp, vendors: dict[str, Vendor], kind: str
) -> None:
    for profile in ("grace", "non_rotating"):
        vendor = vendors[profile]
        account = await app.connect(vendor)
        await app.ahead(HOUR + 10)
        await vendor.fault(kind)
        assert (await stuck(app, account)).reason is UnavailableReason.VENDOR
        assert (await app.row(account))["uncertain"]
        await app.ahead(HOUR + 20)
        answer = await app.token(account)
        assert await vendor.takes(answer.token)
        assert not (await app.row(account))["uncertain"]
        await app.ahead(2 * HOUR + 30)
        assert await vendor.takes((await app.token(account)).token)
        assert await vendor.reuses() == 0
        await app.ahead(0)


@pytest.mark.guarantee("G4")
@pytest.mark.reuse("nothing is left to lose: the rule of recovery shows the token once more")
async def test_a_lost_answer_of_a_strict_vendor_is_our_loss_and_is_called_so(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR - 30)
    await strict.fault("hang_up_after")
    before = await app.token(account)  # the old one still lives
    assert await strict.calls() == 1
    await app.ahead(HOUR - 20)
    assert (await app.token(account)).version == before.version
    assert await strict.calls() == 1, "the refresh token is not shown again while the access token lives"
    await app.ahead(HOUR + LATER)
    assert await stuck(app, account) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "lost_rotation")
    assert await strict.calls() == 2
    assert await stuck(app, account) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "lost_rotation")
    assert await strict.calls() == 2


async def test_a_call_that_never_arrived_is_repeated_when_nothing_is_left_to_lose(
    app: RefreshApp, strict: Vendor
) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR - 30)
    await strict.fault("hang_up_before")
    await app.token(account)
    await app.ahead(HOUR + LATER)
    answer = await app.token(account)
    assert await strict.takes(answer.token)
    assert await strict.reuses() == 0


async def test_a_401_ends_the_patience_with_a_strict_vendor(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR - 30)
    await strict.fault("hang_up_before")
    old = await app.token(account)
    await app.ahead(HOUR - 25)
    answer = await app.token(account, rejected_version=old.version)
    assert answer.version == old.version + 1
    assert await strict.calls() == 2


async def test_where_reuse_costs_other_grants_a_refresh_token_is_never_shown_again(
    app: RefreshApp, strict: Vendor
) -> None:
    account = await app.connect(strict)
    kills = Vendor(strict.server, "strict", kills_siblings=True)
    app.tools.providers._providers[kills.id] = kills.provider  # type: ignore[attr-defined]
    await app.ahead(HOUR + 10)
    await strict.fault("hang_up_before")
    await stuck(app, account)
    await app.ahead(HOUR + LATER)
    assert await stuck(app, account) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "lost_rotation")
    assert await strict.calls() == 1


async def test_outside_the_grace_it_is_as_with_a_strict_vendor(app: RefreshApp, vendors: dict[str, Vendor]) -> None:
    vendor = vendors["grace"]
    account = await app.connect(vendor)
    await app.ahead(HOUR - 200)
    await vendor.fault("hang_up_before")
    await app.token(account, need_seconds=300)
    await app.ahead(HOUR - 200 + 110)  # what is left of the grace is shorter than a call may take
    await app.token(account, need_seconds=300)
    assert await vendor.calls() == 1
    await app.ahead(HOUR + LATER)
    await app.token(account)
    assert await vendor.calls() == 2


@pytest.mark.guarantee("G5")
async def test_a_user_who_removes_us_at_the_vendor_has_to_come_back(app: RefreshApp, vendor: Vendor) -> None:
    account = await app.connect(vendor, "grace@acme.test")
    await vendor.server.control({"revoke_account": "grace@acme.test"})
    await app.ahead(HOUR + 10)
    assert await stuck(app, account) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "revoked")
    row = await app.row(account)
    assert row["access"] is not None, "kept for a week"
    assert row["refresh"] is not None
    assert await app.events(account) == [("connected", ""), ("failed", "permanent"), ("needs_reauth", "revoked")]
    await stuck(app, account)
    assert await vendor.calls() == 1


async def test_shredded_after_a_week(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict, "shredded@acme.test")
    await strict.server.control({"revoke_account": "shredded@acme.test"})
    await app.ahead(HOUR + 10)
    await stuck(app, account)
    await app.ahead(HOUR + 6 * 86_400)
    await app.database.call("SELECT vault.sweep()")
    assert (await app.row(account))["refresh"] is not None
    await app.ahead(HOUR + 8 * 86_400)
    await app.database.call("SELECT vault.sweep()")
    row = await app.row(account)
    assert (row["access"], row["refresh"], row["status"]) == (None, None, "needs_reauth")


async def test_the_vendor_says_when_to_come_again(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    await strict.fault("status", status=503, headers={"Retry-After": "120"})
    answer = await stuck(app, account)
    assert (answer.reason, answer.cause) == (UnavailableReason.VENDOR, "throttled")
    assert 115 < (answer.retry_after or 0) <= 120
    row = await app.row(account)
    assert (row["uncertain"], row["lease_owner"]) == (False, None)
    await stuck(app, account)
    assert await strict.calls() == 1
    await app.ahead(HOUR + 10 + 125)
    await app.token(account)


@pytest.mark.guarantee("G3")
async def test_a_vendor_that_is_away_is_asked_ever_more_rarely(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    away = failed(ErrorClass.NOT_SENT, "connect")
    broker = app.with_endpoint(endpoint := Scripted(*[away] * 30), RefreshTiming())
    tried = 0
    for second in range(0, 900, 5):
        await app.ahead(HOUR + 10 + second)
        await broker.get_access_token(app.tenant.id, account)
        tried = len(endpoint.shown)
    assert 4 <= tried < 25
    row = await app.row(account)
    assert (row["uncertain"], row["presented_at"], row["status"]) == (False, None, "active")


async def test_an_error_of_our_own_counts_as_uncertain(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    answer = await app.with_endpoint(Broken()).get_access_token(app.tenant.id, account)
    assert isinstance(answer, TokenUnavailable)
    assert answer.reason is UnavailableReason.VENDOR
    assert (await app.row(account))["uncertain"]


@pytest.mark.guarantee("G5")
async def test_a_wrong_client_secret_is_nobody_s_fault_but_the_administrator_s(app: RefreshApp, strict: Vendor) -> None:
    accounts = [await app.connect(strict, f"person{number}") for number in range(3)]
    await app.ahead(HOUR + 10)
    client_row = app.clients[strict.id]
    async with app.database.tenant(app.tenant.id) as work:
        await update_client(
            work, app.vault, client_row, OAuthClientConfig(strict.server.client_id, Secret("cs-000002-x"))
        )
    for account in accounts:
        answer = await stuck(app, account)
        assert answer.reason is UnavailableReason.MISCONFIGURED
    assert await strict.calls() == 1, "the breaker holds for all of the client's accounts"
    for account in accounts:
        row = await app.row(account)
        assert (row["status"], row["uncertain"], row["lease_owner"]) == ("active", False, None)
    await app.ahead(HOUR + 10 + LATER)
    for account in accounts:
        assert (await stuck(app, account)).reason is UnavailableReason.MISCONFIGURED
    assert await strict.calls() == 2, "one of them tries whether it works again"
    async with app.database.tenant(app.tenant.id) as work:
        await update_client(work, app.vault, client_row, strict.client)
    for account in accounts:
        await app.token(account)
    row = await app.client_row(strict.id)
    assert (row["state"], row["cause"], row["breaker_failures"]) == ("ok", "", 0)
    assert await strict.reuses() == 0


async def test_a_breaker_closes_by_itself_when_the_vendor_takes_the_client_again(
    app: RefreshApp, strict: Vendor
) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    await strict.fault("status", status=401, body={"error": "invalid_client"})
    assert (await stuck(app, account)).cause == "client_refused"
    await app.ahead(HOUR + 10 + LATER)
    await app.token(account)
    assert (await app.client_row(strict.id))["state"] == "ok"


@pytest.mark.guarantee("G5")
async def test_a_vendor_that_refuses_everybody_costs_nobody_the_account(app: RefreshApp, strict: Vendor) -> None:
    accounts = [await app.connect(strict, f"person{number}") for number in range(10)]
    await app.ahead(HOUR + 10)
    await strict.fault("status", times=1000, status=400, body={"error": "invalid_grant"})
    for round_ in range(3):
        await app.ahead(HOUR + 10 + round_ * LATER)
        for account in accounts:
            await app.fresh(account)
    assert {(await app.row(account))["status"] for account in accounts} == {"active"}
    answer = await stuck(app, accounts[0])
    assert (answer.reason, answer.cause) == (UnavailableReason.VENDOR, "permanent")
    await strict.reset()
    await app.ahead(HOUR + 10 + 4 * LATER)
    assert {type(await app.fresh(account)) for account in accounts} == {AccessToken}


async def test_a_few_who_leave_are_not_a_wave(app: RefreshApp, strict: Vendor) -> None:
    accounts = [await app.connect(strict, f"person{number}") for number in range(8)]
    for number in range(3):
        await strict.server.control({"revoke_account": f"person{number}"})
    await app.ahead(HOUR + 10)
    for account in accounts:
        await app.fresh(account)
    statuses = [(await app.row(account))["status"] for account in accounts]
    assert statuses == ["needs_reauth"] * 3 + ["active"] * 5


async def test_what_is_refused_for_a_day_is_over_even_in_a_wave(app: RefreshApp, strict: Vendor) -> None:
    accounts = [await app.connect(strict, f"person{number}") for number in range(6)]
    await app.ahead(HOUR + 10)
    await strict.fault("status", times=1000, status=400, body={"error": "invalid_grant"})
    for hours in (1, 2, 26):
        await app.ahead(hours * HOUR + 10)
        for account in accounts:
            await app.fresh(account)
    assert {(await app.row(account))["status"] for account in accounts} == {"needs_reauth"}


async def test_no_refresh_token_no_refresh(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.execute("UPDATE vault.accounts SET refresh = NULL, refresh_at = NULL WHERE id = $1", account)
    before = await app.token(account)
    assert await stuck(app, account, rejected_version=before.version) == TokenUnavailable(
        UnavailableReason.NEEDS_REAUTH, "revoked"
    )
    other = await app.connect(strict)
    await app.execute("UPDATE vault.accounts SET refresh = NULL, refresh_at = NULL WHERE id = $1", other)
    await app.ahead(HOUR + 10)
    assert await stuck(app, other) == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "expired")
    assert await strict.calls() == 0


async def test_a_disabled_account_is_left_alone(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.execute("UPDATE vault.accounts SET status = 'disabled', reason = 'by_admin' WHERE id = $1", account)
    assert await stuck(app, account) == TokenUnavailable(UnavailableReason.DISABLED, "by_admin")


async def test_a_token_that_was_replaced_between_look_and_claim_is_not_shown(
    app: RefreshApp, strict: Vendor, tmp_path: Path
) -> None:
    """As when the owner has connected the account again meanwhile: the token in hand belongs to the grant before."""
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    tokens = await strict.grant("ada")
    oauth = strict.provider.oauth
    assert oauth is not None
    grant = AccountGrant(
        strict.id, app.clients[strict.id], CredentialOwner("personal", app.tenant.users[0]), tokens, oauth.refresh
    )
    async with held_at(tmp_path, "before_claim") as held:
        asking = asyncio.create_task(app.token(account))
        await held.reached()
        async with app.database.tenant(app.tenant.id) as work:
            await replace_grant(work, app.vault, account, grant)
        held.go_on()
        assert (await asking).token.reveal() == tokens.access_token.reveal()
    assert await strict.calls() == 0


@pytest.mark.parametrize(
    ("status", "reason", "state"),
    [("disabled", "by_admin", UnavailableReason.DISABLED), ("needs_reauth", "revoked", UnavailableReason.NEEDS_REAUTH)],
)
async def test_an_account_that_ends_between_look_and_claim_is_not_shown_to_the_vendor(
    app: RefreshApp, strict: Vendor, tmp_path: Path, status: str, reason: str, state: UnavailableReason
) -> None:
    """As when somebody disconnects it meanwhile: its refresh token is the vendor's to end, not ours to use."""
    account, other = await app.connect(strict), await app.connect(strict, "bob")
    await app.ahead(HOUR + 10)
    async with held_at(tmp_path, "before_claim") as held:
        asking = asyncio.create_task(stuck(app, account))
        await held.reached()
        await app.execute("UPDATE vault.accounts SET status = $2, reason = $3 WHERE id = $1", account, status, reason)
        held.go_on()
        assert await asking == TokenUnavailable(state, reason)
    assert await strict.calls() == 0
    row = await app.row(account)
    assert (row["lease_owner"], row["attempt_no"], row["uncertain"]) == (None, 0, False)
    await app.token(other)
    assert await strict.calls() == 1, "another account of the same client goes on"
