"""Two administrators who change the same object: nobody overwrites what they have not seen."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from core.directory.services import set_service
from tests.admin_ui.admin_app import ACTOR, AdminApp, Tenant

CHANGES: Mapping[str, Any] = {
    "users": {"name": "Changed"},
    "roles": {"name": "Changed"},
    "permissions": {"add": {"allow": ["kg.search"]}},
    "services": {"settings": {"timeout": 7}},
    "switch": {"enabled": False},
    "tenant": {"name": "Changed"},
    "clients": {"enabled": False},
}


def paths_of(tenant: Tenant, kind: str) -> tuple[str, str]:
    """Where the object is read, and where it is changed."""
    role = f"/roles/{tenant.role_id}"
    read = {
        "users": f"/users/{tenant.user.id}",
        "roles": role,
        "permissions": role,
        "services": "/services/kg",
        "switch": "/services/kg",
        "tenant": "/tenant",
        "clients": f"/oauth/clients/{tenant.client_id}",
    }[kind]
    return read, f"{role}/permissions" if kind == "permissions" else read


@pytest.mark.parametrize("kind", CHANGES)
async def test_a_change_of_an_old_version_is_refused_with_the_present_state(
    app: AdminApp, acme: Tenant, kind: str
) -> None:
    await set_service(app.console, ACTOR, acme.id, "kg", enabled=True)
    second = await app.person(acme.id, "second@acme.example", "admin")
    read, changed = paths_of(acme, kind)
    async with app.browser(acme.admin) as mine, app.browser(second) as theirs:
        seen = await mine.get(read)
        old = {"If-Match": seen.headers["etag"]}
        assert (await theirs.patch(changed, json=CHANGES[kind], headers=old)).status_code in (200, 204)
        now = await theirs.get(read)
        assert now.headers["etag"] != seen.headers["etag"]
        refused = await mine.patch(changed, json=CHANGES[kind], headers=old)
        assert (refused.status_code, refused.json()["code"]) == (412, "version_conflict")
        current = refused.json()["current"]
        assert (current["etag"], current["changed_by"]) == (now.headers["etag"], "second@acme.example")
        assert (current["state"], current["changed_at"] is not None) == (now.json(), True)
        assert (await mine.get(read)).headers["etag"] == now.headers["etag"], "what is refused is no change"
        if kind not in ("services", "switch", "clients"):
            assert (await mine.patch(changed, json=CHANGES[kind])).headers["etag"] == now.headers["etag"]
        fresh = {"If-Match": (await mine.get(read)).headers["etag"]}
        assert (await mine.patch(changed, json=CHANGES[kind], headers=fresh)).status_code in (200, 204)
        assert (await mine.patch(changed, json=CHANGES[kind])).status_code in (200, 204), "scripts may leave it out"
        assert (await mine.patch(changed, json=CHANGES[kind], headers={"If-Match": "*"})).status_code in (200, 204)


async def test_of_changes_at_once_one_succeeds(app: AdminApp, acme: Tenant) -> None:
    path = f"/roles/{acme.role_id}"
    async with app.browser(acme.admin) as admin:
        for turn in range(1, 4):
            etag = (await admin.get(path)).headers["etag"]
            new = range(10 * turn, 10 * turn + 6)
            changes = [admin.patch(path, json={"priority": n}, headers={"If-Match": etag}) for n in new]
            answers = await asyncio.gather(*changes)
            assert sorted(one.status_code for one in answers) == [200, *[412] * 5]
            (won,) = [one.json()["priority"] for one in answers if one.status_code == 200]
            assert (await admin.get(path)).json()["priority"] == won


async def test_permissions_are_changed_without_losing_others(app: AdminApp, acme: Tenant) -> None:
    path = f"/roles/{acme.role_id}/permissions"
    async with app.browser(acme.admin) as admin:

        async def patch(**body: Any) -> httpx2.Response:
            return await admin.patch(path, json=body)

        await asyncio.gather(patch(add={"allow": ["kg.search"]}), patch(add={"deny": ["kg.write"]}))
        role = (await patch(add={"allow": ["kg.delete"]}, remove={"allow": ["kg:read", "kg.nothing"]})).json()
        assert (role["allow"], role["deny"]) == (["kg.delete", "kg.search"], ["kg.write"])
        assert (await patch(add={"allow": ["kg.nothing"]})).status_code == 400
        assert (await patch(add={"allow": ["kg.nothing"]}, allow_unknown=True)).status_code == 200
        assert (await patch(add={"allow": ["not one"]})).status_code == 400
        many = [f"kg.t{n}" for n in range(500)]
        assert (await patch(add={"allow": many}, allow_unknown=True)).json()["code"] == "invalid"
        both = (await patch(add={"deny": ["kg.write"]}, remove={"deny": ["kg.write"]})).json()
        assert both["deny"] == ["kg.write"]
        assert (await patch()).status_code == 200


async def test_assigning_a_role_is_a_change_of_its_user(app: AdminApp, acme: Tenant) -> None:
    path, role = f"/users/{acme.user.id}", f"/users/{acme.user.id}/roles/{acme.role_id}"
    async with app.browser(acme.admin) as admin:
        etags = [(await admin.get(path)).headers["etag"]]
        for method in ("PUT", "PUT", "DELETE", "DELETE"):
            await admin.request(method, role)
            etags.append((await admin.get(path)).headers["etag"])
    assert etags == ['"v1"', '"v2"', '"v2"', '"v3"', '"v3"']


@pytest.mark.guarantee("G9")
async def test_versions_of_another_tenant_do_not_count(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    async with app.browser(acme.admin) as admin, app.browser(globex.admin) as stranger:
        await set_service(app.console, ACTOR, acme.id, "kg", enabled=True)
        assert (await stranger.get("/services/kg")).headers["etag"] == '"v1"'
        refused = await stranger.patch(f"/users/{acme.user.id}", json={"name": "x"}, headers={"If-Match": '"v9"'})
        assert refused.status_code == 404
        assert (await admin.get(f"/users/{acme.user.id}")).headers["etag"] == '"v1"'


@pytest.mark.parametrize("wrong", ["v1", '"1"', 'W/"v1"', '"v1", "v2"', '"v"', '"v-1"', f'"v{"9" * 40}"', "x" * 200])
async def test_a_wrong_if_match_is_refused(app: AdminApp, acme: Tenant, wrong: str) -> None:
    async with app.browser(acme.admin) as admin:
        answer = await admin.patch("/tenant", json={"name": "Changed"}, headers={"If-Match": wrong})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert (await admin.get("/tenant")).json()["name"] == "Name of acme"
