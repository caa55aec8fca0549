"""People ask for tools; administrators approve into a role, or decline with a reason."""

import asyncio
from typing import Any

import httpx2
import pytest

from core.directory.access_requests import MAX_OPEN_REQUESTS
from core.directory.services import set_service
from tests.admin_ui.admin_app import ACTOR, AdminApp, Tenant
from tests.admin_ui.test_directory import everything

ASKED = {"module": "kg", "tool": "search", "message": "for the report"}


@pytest.fixture
async def shop(app: AdminApp, acme: Tenant) -> Tenant:
    """A tenant whose user has no role."""
    for module in ("kg", "shop"):
        await set_service(app.console, ACTOR, acme.id, module, enabled=True)
    await app.execute("DELETE FROM core.access_requests")
    return acme


async def ask(client: httpx2.AsyncClient, **more: Any) -> httpx2.Response:
    return await client.post("/access-requests", json=ASKED | more)


async def test_a_request_is_approved_into_a_role(app: AdminApp, shop: Tenant) -> None:
    async with app.browser(shop.user) as user, app.browser(shop.admin) as admin:
        made, again = await ask(user), await ask(user, message="once more")
        assert (made.status_code, again.status_code) == (201, 200)
        assert made.json() == again.json()
        path = f"/access-requests/{made.json()['id']}"
        (listed,) = await everything(admin, "/access-requests", all_owners=True, state="open")
        assert (listed["email"], listed["message"]) == ("user@acme.example", "for the report")
        (role,) = await everything(admin, f"{path}/roles")
        assert role["name"] == "acme-readers"
        approved = await admin.post(f"{path}/approval", json={"role_id": role["id"]})
        told = (await user.get(path)).json()
        assert approved.json() == told
        assert (told["state"], told["decided_by"], told["role"]) == ("approved", "admin@acme.example", "acme-readers")
        assert [one["name"] for one in await everything(user, "/tools", module="kg")] == ["search"]
        assert (await ask(user)).status_code == 409
        for later in ("approval", "refusal"):
            body = {"role_id": role["id"]} if later == "approval" else {}
            assert (await admin.post(f"{path}/{later}", json=body)).status_code == 409
        assert (await user.delete(path)).status_code == 409
        await app.seal()
        kinds = [one["kind"] for one in (await admin.get("/audit", params={"limit": 3})).json()["items"]]
    assert kinds == ["access_request.approved", "role.assigned", "access_request.created"]


async def test_they_are_searched_and_sorted(app: AdminApp, shop: Tenant) -> None:
    async with app.browser(shop.user) as user, app.browser(shop.admin) as admin:
        for tool in ("search", "write", "delete"):
            await ask(user, tool=tool)
        newest = await everything(admin, "/access-requests", all_owners=True)
        oldest = await everything(admin, "/access-requests", all_owners=True, sort="created_at")
        assert oldest == newest[::-1]
        for words, count in (("ＵＳＥＲ@acme", len(newest)), ("kg search", 1), ("nobody", 0), ("100%", 0)):
            assert len(await everything(admin, "/access-requests", all_owners=True, q=words)) == count, words
        assert len(await everything(user, "/access-requests", q="search")) == 1
        assert (await admin.get("/access-requests", params={"sort": "email"})).status_code == 400


async def test_a_role_is_changed_only_if_the_administrator_says_so(app: AdminApp, shop: Tenant) -> None:
    async with app.browser(shop.user) as user, app.browser(shop.admin) as admin:
        path = f"/access-requests/{(await ask(user, tool='delete')).json()['id']}"
        assert await everything(admin, f"{path}/roles") == []
        body = {"role_id": str(shop.role_id)}
        refused = await admin.post(f"{path}/approval", json=body)
        assert (refused.status_code, "does not permit" in refused.json()["detail"]) == (409, True)
        assert (await user.get("/tools")).json()["items"] == [], "nothing was done by half"
        assert (await admin.post(f"{path}/approval", json=body | {"allow": True})).status_code == 200
        assert (await admin.get(f"/roles/{shop.role_id}")).json()["allow"] == ["kg.delete", "kg:read"]
        whole = (await ask(user, module="shop", tool="")).json()
        await admin.post(f"/access-requests/{whole['id']}/approval", json=body | {"allow": True})
        assert [one["name"] for one in await everything(user, "/tools", module="shop")] == ["buy", "look"]


async def test_a_role_that_denies_it_is_no_way(app: AdminApp, shop: Tenant) -> None:
    async with app.browser(shop.user) as user, app.browser(shop.admin) as admin:
        denying = await admin.post("/roles", json={"name": "denying", "allow": ["kg.*"], "deny": ["kg.search"]})
        path = f"/access-requests/{(await ask(user)).json()['id']}"
        body = {"role_id": denying.json()["id"], "allow": True}
        assert (await admin.post(f"{path}/approval", json=body)).status_code == 409
        assert (await admin.get(f"/roles/{body['role_id']}")).json() == denying.json()


async def test_it_is_declined_with_a_reason_or_withdrawn(app: AdminApp, shop: Tenant) -> None:
    async with app.browser(shop.user) as user, app.browser(shop.admin) as admin:
        first = (await ask(user)).json()
        assert (await user.post(f"/access-requests/{first['id']}/refusal", json={})).status_code == 403
        await admin.post(f"/access-requests/{first['id']}/refusal", json={"reason": "Ask Ann\nfirst"})
        told = (await user.get(f"/access-requests/{first['id']}")).json()
        assert (told["state"], told["reason"]) == ("declined", "Ask Ann\nfirst")
        second = await ask(user)
        assert second.status_code == 201, "one may ask again"
        path = f"/access-requests/{second.json()['id']}"
        assert (await admin.delete(path)).status_code == 404, "it is the user's own to withdraw"
        assert (await user.delete(path)).status_code == 204
        states = [one["state"] for one in await everything(user, "/access-requests")]
    assert states == ["withdrawn", "declined"]


async def test_a_decision_is_taken_back(app: AdminApp, shop: Tenant) -> None:
    globex = await app.tenant("globex")
    async with (
        app.browser(shop.user) as user,
        app.browser(shop.admin) as admin,
        app.browser(globex.admin) as stranger,
    ):
        asked = (await ask(user)).json()
        path = f"/access-requests/{asked['id']}/reopening"
        assert (await admin.post(path)).status_code == 409, "it is open"
        await admin.post(f"/access-requests/{asked['id']}/refusal", json={"reason": "no"})
        assert (await user.post(path)).status_code == 403
        assert (await stranger.post(path)).status_code == 404
        answer = await admin.post(path)
        assert answer.status_code == 200
        assert answer.json() == asked
        await app.seal()
        newest = (await admin.get("/audit", params={"limit": 1})).json()["items"][0]
        assert newest["kind"] == "access_request.reopened"
        await admin.post(f"/access-requests/{asked['id']}/refusal", json={})
        again = (await ask(user)).json()
        refused = await admin.post(path)
        assert (refused.status_code, "asked for the same again" in refused.text) == (409, True)
        await user.delete(f"/access-requests/{again['id']}")
        assert (await admin.post(f"/access-requests/{again['id']}/reopening")).status_code == 409


@pytest.mark.guarantee("G9")
async def test_another_tenant_and_other_people_learn_nothing(app: AdminApp, shop: Tenant) -> None:
    globex = await app.tenant("globex")
    other = await app.person(shop.id, "other@acme.example", "user")
    async with (
        app.browser(shop.user) as user,
        app.browser(other) as colleague,
        app.browser(globex.admin) as stranger,
        app.browser(globex.user) as foreigner,
    ):
        made = (await ask(user)).json()
        path = f"/access-requests/{made['id']}"
        for client in (colleague, stranger, foreigner):
            assert (await client.get(path)).status_code == 404
            assert (await client.delete(path)).status_code == 404
        assert await everything(colleague, "/access-requests") == []
        assert (await colleague.get("/access-requests", params={"all_owners": True})).status_code == 403
        assert "acme" not in (await stranger.get("/access-requests", params={"all_owners": True})).text
        body = {"role_id": str(globex.role_id)}
        assert (await stranger.post(f"{path}/approval", json=body)).status_code == 404
        async with app.browser(shop.admin) as admin:
            assert (await admin.post(f"{path}/approval", json=body | {"allow": True})).status_code == 404
        assert (await user.get(path)).json() == made


async def test_what_does_not_exist_cannot_be_asked_for(app: AdminApp, shop: Tenant) -> None:
    await set_service(app.console, ACTOR, shop.id, "shop", enabled=False)
    async with app.browser(shop.user) as user:
        answers = [
            await ask(user, tool="nothing"),
            await ask(user, module="none"),
            await ask(user, module="shop", tool="look"),
        ]
        assert {(one.status_code, one.json()["detail"]) for one in answers} == {(404, answers[0].json()["detail"])}
        for wrong in ({"tool": "Not a name"}, {"tool": "x" * 64}, {"message": "x" * 501}, {"message": "a\x00b"}):
            assert (await ask(user, **wrong)).status_code == 400, wrong


@pytest.mark.parametrize("switch", ["accepts_access_requests", "shows_hidden_tools"])
async def test_the_tenant_may_switch_them_off(app: AdminApp, shop: Tenant, switch: str) -> None:
    """Where hidden tools are not shown, an answer must not tell what there is either."""
    async with app.browser(shop.user) as user, app.browser(shop.admin) as admin:
        await admin.patch("/tenant", json={switch: False})
        answers = [await ask(user), await ask(user, tool="nothing")]
        assert {(one.status_code, one.json()["detail"]) for one in answers} == {(403, answers[0].json()["detail"])}


async def test_open_requests_are_limited_also_at_once(app: AdminApp, shop: Tenant) -> None:
    async with app.browser(shop.user) as user:
        answers = await asyncio.gather(*(ask(user) for _ in range(5)))
        assert sorted(one.status_code for one in answers) == [200, 200, 200, 200, 201]
        await app.execute(
            """INSERT INTO core.access_requests (tenant_id, user_id, module, tool)
            SELECT $1, $2, 'kg', 't' || n FROM generate_series(2, $3::int) n""",
            shop.id,
            shop.user.id,
            MAX_OPEN_REQUESTS,
        )
        full = await ask(user, tool="write")
        assert (full.status_code, "open requests" in full.json()["detail"]) == (409, True)


async def test_decided_requests_do_not_pile_up(app: AdminApp, shop: Tenant) -> None:
    await app.execute(
        """INSERT INTO core.access_requests (tenant_id, user_id, module, tool, state, decided_at)
        SELECT $1, $2, 'kg', 't' || n, 'withdrawn', now() FROM generate_series(1, 300) n""",
        shop.id,
        shop.user.id,
    )
    async with app.browser(shop.user) as user:
        await ask(user)
        assert len(await everything(user, "/access-requests")) == 200
