"""The connection doctor over real refreshes: each failure gets its state, its cause, who can mend it, and a history."""

from uuid import UUID

import pytest

from broker.connections.connection_status import HealthState, ResponsibleParty
from broker.connections.stored_credentials import StoredCredential, list_account_events, list_credentials
from broker.vault.origin_policy import OriginPolicy
from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import HOUR, Vendor
from tests.support.postgres import add_tenant

ORIGINS = OriginPolicy({})


async def credential(app: RefreshApp, account: UUID) -> UUID:
    """A module's way to the account, as a connect flow makes it."""
    user = (await app.row(account))["user_id"]
    await app.execute(
        "INSERT INTO vault.credentials (tenant_id, id, module, user_id, type, account_id, version, created_at, "
        "updated_at) VALUES ($1, gen_random_uuid(), 'github', $2, 'B', $3, 1, now(), now())",
        app.tenant.id, user, account,
    )  # fmt: skip
    async with app.scratch.admin_connection() as admin:
        return await admin.fetchval("SELECT id FROM vault.credentials WHERE account_id = $1", account)


async def standing(app: RefreshApp) -> StoredCredential:
    async with app.database.tenant(app.tenant.id) as work:
        (one,) = await list_credentials(work, ORIGINS, everyone=True)
    return one


async def test_a_good_account_is_connected_and_its_history_tells_of_refreshes(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    found = await credential(app, account)
    await app.ahead(HOUR + 10)
    await app.token(account)
    one = await standing(app)
    assert (one.state, one.cause, one.responsible, one.provider) == (
        HealthState.CONNECTED,
        "",
        ResponsibleParty.NOBODY,
        strict.id,
    )
    async with app.database.tenant(app.tenant.id) as work:
        happened = await list_account_events(work, found)
    assert [one.kind for one in happened] == ["refreshed", "connected"]


async def test_a_revoked_account_is_its_owner_s_to_connect_again(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    found = await credential(app, account)
    await strict.server.control({"revoke_account": "ada"})
    await app.ahead(HOUR + 10)
    await app.fresh(account)
    one = await standing(app)
    assert (one.state, one.cause, one.responsible) == (HealthState.NEEDS_RECONNECT, "revoked", ResponsibleParty.OWNER)
    assert one.link == "/connect/github"
    async with app.database.tenant(app.tenant.id) as work:
        (marked, failed, _) = await list_account_events(work, found)
    assert (marked.kind, failed.kind, failed.error_class) == ("needs_reauth", "failed", "permanent")
    assert failed.exchange["status"] == 400
    assert failed.exchange.keys() <= {"host", "path", "grant", "seconds", "status", "class", "vendor_error", "reason"}


@pytest.mark.reuse("nothing is left to lose: the rule of recovery shows the token once more")
async def test_an_answer_that_we_lost_is_called_so(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await credential(app, account)
    await app.ahead(HOUR - 30)
    await strict.fault("hang_up_after")
    await app.token(account)
    one = await standing(app)
    assert (one.state, one.cause) == (HealthState.REFRESHING, "cut_off"), "one answer is no outage"
    await app.ahead(HOUR + 400)
    await app.fresh(account)
    one = await standing(app)
    assert (one.state, one.cause) == (HealthState.NEEDS_RECONNECT, "lost_rotation")
    assert "answer was lost" in one.message


async def test_a_vendor_that_is_down_passes_by_itself(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await credential(app, account)
    await strict.fault("status", status=503, headers={"Retry-After": "120"}, body="")
    await app.ahead(HOUR + 10)
    await app.fresh(account)
    one = await standing(app)
    assert (one.state, one.cause, one.responsible) == (HealthState.VENDOR_DOWN, "unavailable", ResponsibleParty.NOBODY)
    assert one.next_retry_at is not None


async def test_a_refused_client_is_the_administrator_s_and_no_account_s(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await credential(app, account)
    await strict.fault("status", status=401, headers={}, body='{"error": "invalid_client"}')
    await app.ahead(HOUR + 10)
    await app.fresh(account)
    one = await standing(app)
    assert (one.state, one.cause, one.responsible) == (
        HealthState.SERVICE_MISCONFIGURED,
        "client_refused",
        ResponsibleParty.ADMINISTRATOR,
    )
    assert (await app.row(account))["status"] == "active"


async def test_while_another_process_refreshes_it_says_so(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await credential(app, account)
    await app.execute(
        "UPDATE vault.accounts SET lease_owner = gen_random_uuid(), lease_until = now() + interval '30 seconds'"
    )
    assert (await standing(app)).state is HealthState.REFRESHING


async def test_another_tenant_s_credentials_are_not_seen(app: RefreshApp, strict: Vendor) -> None:
    found = await credential(app, await app.connect(strict))
    other = await add_tenant(app.scratch, users=1)
    async with app.database.tenant(other.id) as work:
        assert await list_credentials(work, ORIGINS, everyone=True) == []
        assert await list_credentials(work, ORIGINS, everyone=True, credential_id=found) == []
        assert await list_account_events(work, found) == []
