"""Users over the API: made once however often asked, changed, deleted; the last administrator stays."""

import asyncio

import pytest

from tests.admin_ui.admin_app import AdminApp, Tenant


async def test_a_user_from_making_to_deleting(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as browser:
        made = await browser.post("/users", json={"email": "New@Acme.example", "name": "New"})
        assert made.status_code == 201
        user = made.json()
        assert user | {"id": "", "created_at": ""} == {
            "id": "",
            "email": "new@acme.example",
            "name": "New",
            "system_role": "user",
            "status": "active",
            "created_at": "",
            "roles": [],
        }
        assert user["created_at"].endswith("Z")
        path = f"/users/{user['id']}"
        assert (await browser.put(f"{path}/roles/{acme.role_id}")).status_code == 204
        changed = await browser.patch(path, json={"name": "Newer", "system_role": "admin", "status": "suspended"})
        assert changed.json() == user | {
            "name": "Newer",
            "system_role": "admin",
            "status": "suspended",
            "roles": ["acme-readers"],
        }
        assert (await browser.get(path)).json() == changed.json()
        assert (await browser.delete(f"{path}/roles/{acme.role_id}")).status_code == 204
        assert (await browser.get(f"{path}/roles")).json() == {"items": [], "next_cursor": None}
        assert (await browser.delete(path)).status_code == 200
        assert (await browser.get(path)).status_code == 404
    assert not await app.value("SELECT count(*) FROM core.allow_list WHERE entry = 'new@acme.example'")


async def test_asked_twice_a_user_is_made_once(app: AdminApp, acme: Tenant) -> None:
    asked = {"email": "twice@acme.example", "name": "Twice"}
    async with app.browser(acme.admin) as browser:
        first, second = await browser.post("/users", json=asked), await browser.post("/users", json=asked)
        other = await browser.post("/users", json=asked | {"system_role": "admin"})
    assert (first.status_code, second.status_code, other.status_code) == (201, 200, 409)
    assert first.json() == second.json()
    assert other.json()["code"] == "conflict"


@pytest.mark.parametrize("change", [{"status": "suspended"}, {"system_role": "user"}, None])
async def test_the_last_administrator_stays(app: AdminApp, acme: Tenant, change: dict[str, str] | None) -> None:
    path = f"/users/{acme.admin.id}"
    async with app.browser(acme.admin) as browser:
        await browser.patch(f"/users/{acme.user.id}", json={"system_role": "admin", "status": "suspended"})
        answer = await (browser.delete(path) if change is None else browser.patch(path, json=change))
        assert answer.status_code == 409
        assert "last active administrator" in answer.json()["detail"]
        await browser.patch(f"/users/{acme.user.id}", json={"status": "active"})
        answer = await (browser.delete(path) if change is None else browser.patch(path, json=change))
        assert answer.status_code in (200, 204)


async def test_two_administrators_who_demote_each_other_do_not_both_succeed(app: AdminApp, acme: Tenant) -> None:
    async with (
        app.browser(acme.admin) as first,
        app.script(acme.user.token) as nobody,
        app.browser(acme.user) as second,
    ):
        await first.patch(f"/users/{acme.user.id}", json={"system_role": "admin"})
        assert (await nobody.get("/users")).status_code == 403  # its token was made without admin scopes
        demotions = [
            first.patch(f"/users/{acme.user.id}", json={"system_role": "user"}),
            second.patch(f"/users/{acme.admin.id}", json={"system_role": "user"}),
        ]
        answers = sorted(answer.status_code for answer in await asyncio.gather(*demotions))
    assert answers in ([200, 403], [200, 409])
    assert await app.value("SELECT count(*) FROM core.users WHERE system_role = 'admin'") == 1


async def test_suspension_ends_sessions_and_tokens_at_once(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin, app.browser(acme.user) as user, app.script(acme.user.token) as script:
        assert (await user.get("/me")).status_code == 200
        assert (await script.get("/me")).status_code == 200
        await admin.patch(f"/users/{acme.user.id}", json={"status": "suspended"})
        assert (await user.get("/me")).status_code == 401
        assert (await script.get("/me")).status_code == 401


async def test_a_demoted_administrator_has_no_admin_scope_left(app: AdminApp, acme: Tenant) -> None:
    await app.person(acme.id, "second@acme.example", "admin")
    async with app.browser(acme.admin) as browser, app.script(acme.admin.token) as script:
        assert (await script.get("/users")).status_code == 200
        assert (await browser.patch(f"/users/{acme.admin.id}", json={"system_role": "user"})).status_code == 200
        assert (await script.get("/users")).json()["code"] == "forbidden"
        assert (await script.get("/me")).json()["scopes"] == ["mcp:read", "mcp:write"]


async def test_every_change_names_who_made_it(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as browser:
        await browser.patch(f"/users/{acme.user.id}", json={"status": "suspended", "name": "Other"})
        await app.seal()
        items = (await browser.get("/audit", params={"kind": "user", "limit": 3})).json()["items"]
    kinds = {(one["kind"], one["actor"], one["user_id"], one["credential_id"]) for one in items[:2]}
    by = ("admin@acme.example", str(acme.admin.id), str(acme.admin.session_id))
    assert kinds == {("user.suspended", *by), ("user.changed", *by)}
