"""All that ends is told to its vendor: disconnected, removed with its user, role, tenant or OAuth client, or left."""

import asyncio
from uuid import UUID

import pytest

from broker.disconnect.bulk_revocation import BulkAccountRevoker, GrantReaper
from broker.vault.credential_store import CredentialOwner
from core.directory.roles import find_role
from core.errors import Conflict, NotFound
from core.secret import Secret
from tests.broker.connect.rig import OPERATORS, Scene, provider_document, shown
from tests.support.directory import delete_role
from tests.support.product import ACTOR, Person
from tests.support.stored_credentials import list_stored

NOWHERE = {"revoke": {"url": "http://127.0.0.1:9/nowhere"}}


async def connected(scene: Scene, person: Person, account: str, **fields: str) -> None:
    """An account of theirs at `vendor`, by that name."""
    await scene.vendor.sign_in_as(account, email=f"{account}@vendor.test")
    async with scene.browser(person) as browser:
        assert "is connected" in shown(await browser.connect(**fields))


async def out_of_reach(scene: Scene, slug: str = "acme") -> None:
    """From now on, nobody can tell `vendor` anything."""
    await scene.provider(scene.tenants[slug], "vendor", provider_document(scene.vendor, oauth=NOWHERE))


async def ended(scene: Scene, slug: str = "acme") -> list[tuple[object, ...]]:
    """What the audit log says of what was ended: whether it was revoked, how that went, and why."""
    events = await scene.product.events(scene.tenants[slug], "account.disconnected")
    details = [event.detail or {} for event in events]
    return [(one["revoked"], one["revocation"], one["cause"]) for one in details]


async def test_who_ends_a_credential_by_the_api(scene: Scene) -> None:
    ada, bob = await scene.person("ada@acme.test"), await scene.person("bob@acme.test")
    admin, foreign = (
        await scene.person("admin@acme.test", admin=True),
        await scene.person("x@evil.test", "evil", admin=True),
    )
    await connected(scene, ada, "ada")
    async with scene.api(ada) as mine:
        (shown_,) = (await mine.get("/credentials")).json()["items"]
    path = f"/credentials/{shown_['id']}"
    for stranger in (bob, foreign):
        async with scene.api(stranger) as api:
            assert (await api.delete(path)).status_code == 404
    assert await scene.revoked() == 0
    async with scene.api(admin) as api:
        told = (await api.delete(path)).json()
        assert (await api.delete(path)).status_code == 404
    assert told == {"modules": ["shop"], "revoked": True, "revocation": "revoked", "manage_url": ""}
    assert await scene.revoked() == 1
    await scene.nothing_stored()
    assert await ended(scene) == [(1, "revoked", "asked")]


async def test_a_user_goes_and_the_vendor_is_told(scene: Scene) -> None:
    ada, bob = await scene.person("ada@acme.test"), await scene.person("bob@acme.test")
    admin, foreign = (
        await scene.person("admin@acme.test", admin=True),
        await scene.person("x@evil.test", "evil", admin=True),
    )
    await connected(scene, ada, "ada")
    await connected(scene, bob, "bob")
    for stranger, status in ((bob, 403), (foreign, 404)):
        async with scene.api(stranger) as api:
            assert (await api.delete(f"/users/{ada.id}")).status_code == status
    assert await scene.revoked() == 0
    async with scene.api(admin) as api:
        assert (await api.delete(f"/users/{admin.id}")).status_code == 409  # the last administrator stays
        assert (await api.delete(f"/users/{ada.id}")).json() == {"accounts": 1, "remaining_accounts": []}
        assert await scene.revoked() == 1
        await out_of_reach(scene)
        gone = (await api.delete(f"/users/{bob.id}")).json()
    assert gone == {
        "accounts": 1,
        "remaining_accounts": [{"provider": "vendor", "account": "bob@vendor.test", "manage_url": ""}],
    }
    await scene.nothing_stored()
    assert await ended(scene) == [(1, "revoked", "owner_removed"), (0, "unreachable", "owner_removed")]


async def test_a_role_goes_with_what_it_shares(scene: Scene) -> None:
    ada, admin = await scene.person("ada@acme.test"), await scene.person("admin@acme.test", admin=True)
    role = await find_role(scene.product.console, ada.tenant.id, ada.email)
    await connected(scene, admin, "team", role=str(role.id))
    async with scene.api(ada) as api:
        assert (await api.delete(f"/roles/{role.id}")).status_code == 403
    async with scene.api(admin) as api:
        assert (await api.delete(f"/roles/{role.id}")).json() == {"accounts": 1, "remaining_accounts": []}
    assert await scene.revoked() == 1
    await scene.nothing_stored()
    with pytest.raises(NotFound):  # the command line's way to the same
        await delete_role(scene.product.console, ACTOR, ada.tenant.id, ada.email, scene.ends.account_revoker)


async def test_a_tenant_goes_and_another_keeps_what_it_has(scene: Scene) -> None:
    ada, eve = await scene.person("ada@acme.test"), await scene.person("eve@evil.test", "evil")
    operator = await scene.person("op@operators.test", OPERATORS, admin=True)
    await connected(scene, ada, "ada")
    await connected(scene, eve, "eve")
    async with scene.api(operator) as api:
        path = f"/tenants/{ada.tenant.id}"
        assert (await api.delete(path, params={"confirm": "wrong"})).status_code == 400
        assert await scene.revoked() == 0
        assert (await api.delete(path, params={"confirm": "acme"})).json() == {"accounts": 1, "remaining_accounts": []}
    assert await scene.revoked() == 1
    (left,) = await scene.accounts()
    assert (left["tenant_id"], left["status"]) == (eve.tenant.id, "active")


async def test_an_oauth_client_goes_with_all_that_it_has_connected(scene: Scene) -> None:
    ada, bob = await scene.person("ada@acme.test"), await scene.person("bob@acme.test")
    admin, foreign = (
        await scene.person("admin@acme.test", admin=True),
        await scene.person("x@evil.test", "evil", admin=True),
    )
    await connected(scene, ada, "ada")
    await connected(scene, bob, "ada")  # the same vendor account: both go, so it is nobody's any more
    async with scene.api(admin) as api:
        items = (await api.get("/oauth-clients")).json()["items"]
        path = f"/oauth-clients/{next(one['id'] for one in items if one['provider'] == 'vendor')}"
        async with scene.api(foreign) as other, scene.api(ada) as user:
            assert (await other.delete(path)).status_code == 404
            assert (await user.delete(path)).status_code == 403
        assert await scene.revoked() == 0
        assert (await api.delete(path)).json() == {"accounts": 2, "remaining_accounts": []}
        assert (await api.delete(path)).status_code == 404
    assert await scene.revoked() >= 1
    await scene.nothing_stored()
    assert {cause for _, _, cause in await ended(scene)} == {"client_removed"}


async def test_a_vendor_that_hangs_holds_up_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded in time: whoever was not told by then is named, and everything is shredded."""
    ada, admin = await scene.person("ada@acme.test"), await scene.person("admin@acme.test", admin=True)
    await connected(scene, ada, "ada")
    ends, never = scene.ends, asyncio.Event()

    async def hang(*_: object, **__: object) -> None:
        await never.wait()

    monkeypatch.setattr(ends.disconnect_service._endpoint, "revoke", hang)
    farewell = BulkAccountRevoker(ends.database, ends.disconnect_service, ends.clients, within=0.5)
    (said,) = await farewell(ACTOR, ada.tenant.id, user_id=ada.id)
    assert (said.still_active, said.account) == (True, "ada@vendor.test")
    await scene.nothing_stored()
    assert await ended(scene) == [(0, "timed_out", "owner_removed")]
    assert await farewell(ACTOR, admin.tenant.id, user_id=admin.id) == []


async def test_what_a_command_removes_or_replaces(scene: Scene) -> None:
    """`mcpist credential remove`, and `set` in the place of an account: never past the vendor."""
    ada = await scene.person("ada@acme.test")
    await connected(scene, ada, "ada")
    ends, owner = scene.ends, CredentialOwner("personal", ada.id)
    with pytest.raises(Conflict):
        await ends.credentials.put(ACTOR, ada.tenant.id, "shop", owner, Secret("pasted-key"))
    with pytest.raises(Conflict):
        await ends.credentials.remove(ACTOR, ada.tenant.id, "shop", owner)
    (held,) = await list_stored(ends.database, ada.tenant.id, "shop", owner)
    gone = await ends.disconnect_service.disconnect(ACTOR, ada.tenant.id, held)
    assert (gone.outcome, gone.modules, await scene.revoked()) == ("revoked", ("shop",), 1)
    with pytest.raises(NotFound):
        await ends.disconnect_service.disconnect(ACTOR, ada.tenant.id, held)
    await ends.credentials.put(ACTOR, ada.tenant.id, "shop", owner, Secret("pasted-key"))
    (held,) = await list_stored(ends.database, ada.tenant.id, "shop", owner)
    gone = await ends.disconnect_service.disconnect(ACTOR, ada.tenant.id, held)
    assert (gone.outcome, gone.still_active) == ("api_key", True)


async def asked_about_a_swap(scene: Scene, person: Person) -> tuple[str, UUID]:
    """A question that waits for its answer; its address, and the new account."""
    await connected(scene, person, "first")
    await scene.vendor.sign_in_as("second", email="second@vendor.test")
    async with scene.browser(person) as browser:
        page = await browser.connect()
        assert "Another account" in shown(page)
    (waiting,) = [one["id"] for one in await scene.accounts() if one["reason"] == "unconfirmed"]
    return str(page.url), waiting


async def test_a_question_that_nobody_answers_gives_the_grant_back(scene: Scene) -> None:
    ada = await scene.person("ada@acme.test")
    _, waiting = await asked_about_a_swap(scene, ada)
    left = GrantReaper(scene.ends.database, scene.ends.disconnect_service)
    assert await left.sweep() == 0  # there is time to answer yet
    assert await scene.revoked() == 0
    await scene.execute("UPDATE vault.accounts SET created_at = created_at - interval '12 minutes'")
    assert await left.sweep() == 1
    assert await scene.revoked() == 1
    (kept,) = await scene.accounts()
    assert (kept["id"] != waiting, kept["status"], kept["vendor_account_id"]) == (True, "active", "first")
    assert await ended(scene) == [(1, "revoked", "unanswered")]
    assert await left.sweep() == 0


async def test_who_answers_first_wins(scene: Scene) -> None:
    """A person who agrees in the last moment keeps the account; one who comes later is told that it is over."""
    ada = await scene.person("ada@acme.test")
    question, waiting = await asked_about_a_swap(scene, ada)
    async with scene.browser(ada) as browser:
        gone = await scene.ends.disconnect_service.end_account(
            ACTOR, ada.tenant.id, waiting, "unanswered", only="ending"
        )
        assert gone is None  # it is not that any more, or not yet
        assert (await browser.get(question)).status_code == 404  # another session of the same person
    assert len(await scene.accounts()) == 2


async def test_an_end_that_was_interrupted_is_taken_up(scene: Scene) -> None:
    """A process that dies while it tells the vendor has used nothing up: the account is marked, and nothing uses it."""
    ada = await scene.person("ada@acme.test")
    await connected(scene, ada, "ada")
    await scene.execute("UPDATE vault.accounts SET status = 'disabled', reason = 'ending'")
    left = GrantReaper(scene.ends.database, scene.ends.disconnect_service)
    assert await left.sweep() == 0  # whoever marked it may be at it
    await scene.execute("UPDATE vault.accounts SET updated_at = updated_at - interval '3 minutes'")
    assert [await left.sweep(), await scene.revoked()] == [1, 1]
    await scene.nothing_stored()
    assert await ended(scene) == [(1, "revoked", "interrupted")]
