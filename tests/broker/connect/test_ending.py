"""All that ends is told to its vendor: disconnected, removed with its user, role, tenant or OAuth client, or left."""

import asyncio
from uuid import UUID

import pytest

from broker.disconnect.bulk_revocation import BulkAccountRevoker, GrantReaper
from broker.vault.credential_store import CredentialOwner
from core.directory.roles import find_role
from core.errors import Conflict, NotFound
from core.secret import Secret
from tests.broker.connect.connect_app import OPERATORS, ConnectApp, provider_document, shown
from tests.support.directory import delete_role
from tests.support.product import ACTOR, Person
from tests.support.stored_credentials import list_stored

NOWHERE = {"revoke": {"url": "http://127.0.0.1:9/nowhere"}}


async def connected(app: ConnectApp, person: Person, account: str, **fields: str) -> None:
    """An account of theirs at `vendor`, by that name."""
    await app.vendor.sign_in_as(account, email=f"{account}@vendor.test")
    async with app.browser(person) as browser:
        assert "is connected" in shown(await browser.connect(**fields))


async def out_of_reach(app: ConnectApp, slug: str = "acme") -> None:
    """From now on, nobody can tell `vendor` anything."""
    await app.provider(app.tenants[slug], "vendor", provider_document(app.vendor, oauth=NOWHERE))


async def ended(app: ConnectApp, slug: str = "acme") -> list[tuple[object, ...]]:
    """What the audit log says of what was ended: whether it was revoked, how that went, and why."""
    events = await app.product.events(app.tenants[slug], "account.disconnected")
    details = [event.detail or {} for event in events]
    return [(one["revoked"], one["revocation"], one["cause"]) for one in details]


async def test_who_ends_a_credential_by_the_api(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    admin, foreign = (
        await app.person("admin@acme.test", admin=True),
        await app.person("x@evil.test", "evil", admin=True),
    )
    await connected(app, ada, "ada")
    async with app.api(ada) as mine:
        (shown_,) = (await mine.get("/credentials")).json()["items"]
    path = f"/credentials/{shown_['id']}"
    for stranger in (bob, foreign):
        async with app.api(stranger) as api:
            assert (await api.delete(path)).status_code == 404
    assert await app.revoked() == 0
    async with app.api(admin) as api:
        told = (await api.delete(path)).json()
        assert (await api.delete(path)).status_code == 404
    assert told == {"modules": ["shop"], "revoked": True, "revocation": "revoked", "manage_url": ""}
    assert await app.revoked() == 1
    await app.nothing_stored()
    assert await ended(app) == [(1, "revoked", "asked")]


async def test_a_user_goes_and_the_vendor_is_told(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    admin, foreign = (
        await app.person("admin@acme.test", admin=True),
        await app.person("x@evil.test", "evil", admin=True),
    )
    await connected(app, ada, "ada")
    await connected(app, bob, "bob")
    for stranger, status in ((bob, 403), (foreign, 404)):
        async with app.api(stranger) as api:
            assert (await api.delete(f"/users/{ada.id}")).status_code == status
    assert await app.revoked() == 0
    async with app.api(admin) as api:
        assert (await api.delete(f"/users/{admin.id}")).status_code == 409  # the last administrator stays
        assert (await api.delete(f"/users/{ada.id}")).json() == {"accounts": 1, "remaining_accounts": []}
        assert await app.revoked() == 1
        await out_of_reach(app)
        gone = (await api.delete(f"/users/{bob.id}")).json()
    assert gone == {
        "accounts": 1,
        "remaining_accounts": [{"provider": "vendor", "account": "bob@vendor.test", "manage_url": ""}],
    }
    await app.nothing_stored()
    assert await ended(app) == [(1, "revoked", "owner_removed"), (0, "unreachable", "owner_removed")]


async def test_a_role_goes_with_what_it_shares(app: ConnectApp) -> None:
    ada, admin = await app.person("ada@acme.test"), await app.person("admin@acme.test", admin=True)
    role = await find_role(app.product.console, ada.tenant.id, ada.email)
    await connected(app, admin, "team", role=str(role.id))
    async with app.api(ada) as api:
        assert (await api.delete(f"/roles/{role.id}")).status_code == 403
    async with app.api(admin) as api:
        assert (await api.delete(f"/roles/{role.id}")).json() == {"accounts": 1, "remaining_accounts": []}
    assert await app.revoked() == 1
    await app.nothing_stored()
    with pytest.raises(NotFound):  # the command line's way to the same
        await delete_role(app.product.console, ACTOR, ada.tenant.id, ada.email, app.ends.account_revoker)


async def test_a_tenant_goes_and_another_keeps_what_it_has(app: ConnectApp) -> None:
    ada, eve = await app.person("ada@acme.test"), await app.person("eve@evil.test", "evil")
    operator = await app.person("op@operators.test", OPERATORS, admin=True)
    await connected(app, ada, "ada")
    await connected(app, eve, "eve")
    async with app.api(operator) as api:
        path = f"/tenants/{ada.tenant.id}"
        assert (await api.delete(path, params={"confirm": "wrong"})).status_code == 400
        assert await app.revoked() == 0
        assert (await api.delete(path, params={"confirm": "acme"})).json() == {"accounts": 1, "remaining_accounts": []}
    assert await app.revoked() == 1
    (left,) = await app.accounts()
    assert (left["tenant_id"], left["status"]) == (eve.tenant.id, "active")


async def test_an_oauth_client_goes_with_all_that_it_has_connected(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    admin, foreign = (
        await app.person("admin@acme.test", admin=True),
        await app.person("x@evil.test", "evil", admin=True),
    )
    await connected(app, ada, "ada")
    await connected(app, bob, "ada")  # the same vendor account: both go, so it is nobody's any more
    async with app.api(admin) as api:
        items = (await api.get("/oauth-clients")).json()["items"]
        path = f"/oauth-clients/{next(one['id'] for one in items if one['provider'] == 'vendor')}"
        async with app.api(foreign) as other, app.api(ada) as user:
            assert (await other.delete(path)).status_code == 404
            assert (await user.delete(path)).status_code == 403
        assert await app.revoked() == 0
        assert (await api.delete(path)).json() == {"accounts": 2, "remaining_accounts": []}
        assert (await api.delete(path)).status_code == 404
    assert await app.revoked() >= 1
    await app.nothing_stored()
    assert {cause for _, _, cause in await ended(app)} == {"client_removed"}


async def test_a_vendor_that_hangs_holds_up_nothing(app: ConnectApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded in time: whoever was not told by then is named, and everything is shredded."""
    ada, admin = await app.person("ada@acme.test"), await app.person("admin@acme.test", admin=True)
    await connected(app, ada, "ada")
    ends, never = app.ends, asyncio.Event()

    async def hang(*_: object, **__: object) -> None:
        await never.wait()

    monkeypatch.setattr(ends.disconnect_service._endpoint, "revoke", hang)
    farewell = BulkAccountRevoker(ends.database, ends.disconnect_service, ends.clients, within=0.5)
    (said,) = await farewell(ACTOR, ada.tenant.id, user_id=ada.id)
    assert (said.still_active, said.account) == (True, "ada@vendor.test")
    await app.nothing_stored()
    assert await ended(app) == [(0, "timed_out", "owner_removed")]
    assert await farewell(ACTOR, admin.tenant.id, user_id=admin.id) == []


async def test_what_a_command_removes_or_replaces(app: ConnectApp) -> None:
    """`mcpist credential remove`, and `set` in the place of an account: never past the vendor."""
    ada = await app.person("ada@acme.test")
    await connected(app, ada, "ada")
    ends, owner = app.ends, CredentialOwner("personal", ada.id)
    with pytest.raises(Conflict):
        await ends.credentials.put(ACTOR, ada.tenant.id, "shop", owner, Secret("pasted-key"))
    with pytest.raises(Conflict):
        await ends.credentials.remove(ACTOR, ada.tenant.id, "shop", owner)
    (held,) = await list_stored(ends.database, ada.tenant.id, "shop", owner)
    gone = await ends.disconnect_service.disconnect(ACTOR, ada.tenant.id, held)
    assert (gone.outcome, gone.modules, await app.revoked()) == ("revoked", ("shop",), 1)
    with pytest.raises(NotFound):
        await ends.disconnect_service.disconnect(ACTOR, ada.tenant.id, held)
    await ends.credentials.put(ACTOR, ada.tenant.id, "shop", owner, Secret("pasted-key"))
    (held,) = await list_stored(ends.database, ada.tenant.id, "shop", owner)
    gone = await ends.disconnect_service.disconnect(ACTOR, ada.tenant.id, held)
    assert (gone.outcome, gone.still_active) == ("api_key", True)


async def asked_about_a_swap(app: ConnectApp, person: Person) -> tuple[str, UUID]:
    """A question that waits for its answer; its address, and the new account."""
    await connected(app, person, "first")
    await app.vendor.sign_in_as("second", email="second@vendor.test")
    async with app.browser(person) as browser:
        page = await browser.connect()
        assert "Another account" in shown(page)
    (waiting,) = [one["id"] for one in await app.accounts() if one["reason"] == "unconfirmed"]
    return str(page.url), waiting


async def test_a_question_that_nobody_answers_gives_the_grant_back(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    _, waiting = await asked_about_a_swap(app, ada)
    left = GrantReaper(app.ends.database, app.ends.disconnect_service)
    assert await left.sweep() == 0  # there is time to answer yet
    assert await app.revoked() == 0
    await app.execute("UPDATE vault.accounts SET created_at = created_at - interval '12 minutes'")
    assert await left.sweep() == 1
    assert await app.revoked() == 1
    (kept,) = await app.accounts()
    assert (kept["id"] != waiting, kept["status"], kept["vendor_account_id"]) == (True, "active", "first")
    assert await ended(app) == [(1, "revoked", "unanswered")]
    assert await left.sweep() == 0


async def test_who_answers_first_wins(app: ConnectApp) -> None:
    """A person who agrees in the last moment keeps the account; one who comes later is told that it is over."""
    ada = await app.person("ada@acme.test")
    question, waiting = await asked_about_a_swap(app, ada)
    async with app.browser(ada) as browser:
        gone = await app.ends.disconnect_service.end_account(ACTOR, ada.tenant.id, waiting, "unanswered", only="ending")
        assert gone is None  # it is not that any more, or not yet
        assert (await browser.get(question)).status_code == 404  # another session of the same person
    assert len(await app.accounts()) == 2


async def test_an_end_that_was_interrupted_is_taken_up(app: ConnectApp) -> None:
    """A process that dies while it tells the vendor has used nothing up: the account is marked, and nothing uses it."""
    ada = await app.person("ada@acme.test")
    await connected(app, ada, "ada")
    await app.execute("UPDATE vault.accounts SET status = 'disabled', reason = 'ending'")
    left = GrantReaper(app.ends.database, app.ends.disconnect_service)
    assert await left.sweep() == 0  # whoever marked it may be at it
    await app.execute("UPDATE vault.accounts SET updated_at = updated_at - interval '3 minutes'")
    assert [await left.sweep(), await app.revoked()] == [1, 1]
    await app.nothing_stored()
    assert await ended(app) == [(1, "revoked", "interrupted")]
