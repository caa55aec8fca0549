"""Tenants, roles, the allow list, services and the audit log over the API; pages of each."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from core.api.pagination import encode_cursor
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.directory.audit_trail import Actor, audit_change
from core.directory.services import set_service
from tests.admin_ui.admin_app import OPERATORS, AdminApp, Tenant
from tests.admin_ui.test_route_walk import rows_of


async def everything(client: httpx2.AsyncClient, path: str, **params: Any) -> list[Any]:
    """All items, two at a time."""
    found: list[Any] = []
    params["limit"] = 2
    while True:
        page = (await client.get(path, params=params)).json()
        assert len(page["items"]) <= 2
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        params["cursor"] = page["next_cursor"]


async def test_the_operator_makes_and_changes_tenants(app: AdminApp) -> None:
    operators = await app.tenant(OPERATORS)
    asked = {"slug": "globex", "name": "Globex", "administrator": "boss@globex.example"}
    async with app.browser(operators.admin) as operator:
        assert (await operator.get("/me")).json()["operator"] is True
        made, again = await operator.post("/tenants", json=asked), await operator.post("/tenants", json=asked)
        other = await operator.post("/tenants", json=asked | {"administrator": "thief@globex.example"})
        assert (made.status_code, again.status_code, other.status_code) == (201, 200, 409)
        assert made.json() == again.json()
        path = f"/tenants/{made.json()['id']}"
        changed = await operator.patch(path, json={"status": "suspended", "name": "Gone", "record_arguments": True})
        assert changed.json() == made.json() | {"status": "suspended", "name": "Gone", "record_arguments": True}
        assert (await operator.get(path)).json() == changed.json()
        for number in range(3):
            await operator.post("/tenants", json=asked | {"slug": f"more{number}"})
        slugs = [one["slug"] for one in await everything(operator, "/tenants")]
        assert slugs == ["globex", "more0", "more1", "more2", OPERATORS]
        own = await operator.patch(f"/tenants/{operators.id}", json={"status": "suspended"})
        assert own.status_code == 409
    tenant = made.json()["id"]
    assert (
        await app.value("SELECT count(*) FROM core.users WHERE tenant_id = $1 AND system_role = 'admin'", tenant) == 1
    )
    assert await app.value("SELECT module FROM core.services WHERE tenant_id = $1", tenant) == "kg"
    assert await app.value("SELECT entry FROM core.allow_list WHERE tenant_id = $1", tenant) == "boss@globex.example"


async def test_tenants_are_searched_sorted_and_counted(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        asked = {"slug": "kaisha", "name": "カイシャ", "administrator": "boss@kaisha.example"}
        made = (await operator.post("/tenants", json=asked)).json()
        await operator.patch(f"/tenants/{made['id']}", json={"status": "suspended"})
        for query, expected in (
            ({}, ["acme", "kaisha", OPERATORS]),
            ({"sort": "-slug"}, [OPERATORS, "kaisha", "acme"]),
            ({"sort": "name"}, ["acme", OPERATORS, "kaisha"]),
            ({"q": "かいしゃ"}, ["kaisha"]),
            ({"q": "ＡＣＭＥ name"}, ["acme"]),
            ({"q": "%"}, []),
            ({"status": "suspended"}, ["kaisha"]),
        ):
            assert [one["slug"] for one in await everything(operator, "/tenants", **query)] == expected, query
        counted = (await operator.get(f"/tenants/{acme.id}/contents")).json()
        assert counted == {
            "users": 2,
            "roles": 1,
            "sessions": 2,
            "tokens": 2,
            "grants": 2,
            "accounts": 1,
            "oauth_clients": 1,
            "clients": 1,
        }
        assert (await operator.get(f"/tenants/{uuid4()}/contents")).status_code == 404


async def test_two_operators_change_a_tenant_at_once(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    path = f"/tenants/{acme.id}"
    async with app.browser(operators.admin) as operator:
        read = (await operator.get(path)).headers["etag"]
        renamed = await operator.patch(path, json={"name": "Acme Inc"}, headers={"If-Match": read})
        assert (renamed.status_code, renamed.headers["etag"] == read) == (200, False)
        late = await operator.patch(path, json={"status": "suspended"}, headers={"If-Match": read})
        assert (late.status_code, late.json()["current"]["state"]["name"]) == (412, "Acme Inc")
        assert (await operator.get(path)).json()["status"] == "active"
        again = {"If-Match": late.json()["current"]["etag"]}
        suspended = await operator.patch(path, json={"status": "suspended", "name": "Gone"}, headers=again)
        assert (suspended.json()["status"], suspended.json()["name"]) == ("suspended", "Gone")


async def test_the_operator_removes_a_tenant_with_everything_of_it(app: AdminApp, acme: Tenant) -> None:
    operators, globex = await app.tenant(OPERATORS), await app.tenant("globex")
    await app.seal()
    before = await rows_of(app, globex)
    path = f"/tenants/{acme.id}"
    async with app.browser(operators.admin) as operator, app.browser(acme.admin) as admin, app.caller() as nobody:
        assert (await nobody.delete(path, params={"confirm": "acme"})).status_code == 401
        assert (await admin.delete(path, params={"confirm": "acme"})).json()["code"] == "forbidden"
        for wrong in ({}, {"confirm": "globex"}, {"confirm": "ACME"}):
            assert (await operator.delete(path, params=wrong)).status_code == 400, wrong
        own = await operator.delete(f"/tenants/{operators.id}", params={"confirm": OPERATORS})
        assert own.status_code == 409
        assert (await admin.get("/me")).status_code == 200, "nothing has happened so far"
        assert (await operator.delete(path, params={"confirm": "acme"})).status_code == 200
        again = await operator.delete(path, params={"confirm": "acme"})
        assert (again.status_code, again.json()["code"]) == (404, "not_found")
        assert (await admin.get("/me")).status_code == 401
        await app.seal()
        told = await everything(operator, "/deployment/audit", kind="tenant")
    async with app.script(acme.user.token) as script:
        assert (await script.get("/me")).status_code == 401
    left = {table: rows for table, rows in (await rows_of(app, acme)).items() if rows}
    assert set(left) == {"audit.events", "audit.heads"}
    assert await rows_of(app, globex) == before
    assert [(one["kind"], one["detail"], one["user_id"]) for one in told] == [
        ("tenant.removed", {"tenant": str(acme.id), "slug": "acme"}, str(operators.admin.id))
    ]


async def test_a_large_tenant_goes_some_users_at_a_time(app: AdminApp, acme: Tenant) -> None:
    await app.execute(
        """INSERT INTO core.users (tenant_id, email) SELECT $1, 'n' || n || '@acme.example'
        FROM generate_series(1, 50) n""",
        acme.id,
    )
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        assert (await operator.delete(f"/tenants/{acme.id}", params={"confirm": "acme"})).status_code == 200
    assert await app.value("SELECT count(*) FROM core.users WHERE tenant_id = $1", acme.id) == 0


async def test_the_deployment_s_own_log_is_the_operator_s(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.console.tenant(DEPLOYMENT_CHAIN) as work:
        await audit_change(work, Actor("operator"), AuditEventKind.KEY_ROTATED, purpose="signing", key="k1")
    await app.seal()
    async with app.browser(operators.admin) as operator, app.browser(acme.admin) as admin:
        (event,) = await everything(operator, "/deployment/audit")
        assert (event["kind"], event["actor"], event["detail"]["key"]) == ("key.rotated", "operator", "k1")
        assert await everything(operator, "/deployment/audit", kind="tenant") == []
        assert (await operator.get("/deployment/audit", params={"cursor": "x"})).status_code == 400
        assert (await admin.get("/deployment/audit")).json()["code"] == "forbidden"
        assert not [one for one in await everything(admin, "/audit") if one["kind"] == "key.rotated"]


async def test_whoever_administers_another_tenant_is_no_operator(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    for person in (acme.admin, operators.user):
        async with app.browser(person) as browser:
            assert (await browser.get("/me")).json()["operator"] is False
            assert (await browser.get("/tenants")).json()["code"] == "forbidden"


async def test_a_role_from_making_to_deleting(app: AdminApp, acme: Tenant) -> None:
    asked = {"name": "writers", "priority": 2, "allow": ["kg.*"], "deny": ["kg.delete"]}
    async with app.browser(acme.admin) as admin:
        made, again = await admin.post("/roles", json=asked), await admin.post("/roles", json=asked)
        other = await admin.post("/roles", json=asked | {"allow": ["*"]})
        assert (made.status_code, again.status_code, other.status_code) == (201, 200, 409)
        role = made.json()
        assert role == {**asked, "id": role["id"], "members": 0, "tool_exposure": None}
        path = f"/roles/{role['id']}"
        wanted = {"allow": ["kg.*", "kg:read"], "deny": []}
        assert (await admin.put(f"{path}/permissions", json=wanted)).json() == role | wanted
        changed = await admin.patch(path, json={"name": "Writers", "priority": -1})
        assert changed.json() == role | wanted | {"name": "Writers", "priority": -1}
        assert (await admin.patch(path, json={"name": "acme-readers"})).status_code == 409
        assert (await admin.put(f"/users/{acme.user.id}{path}")).status_code == 204
        assert [one["email"] for one in await everything(admin, f"{path}/users")] == ["user@acme.example"]
        assert [one["name"] for one in (await admin.get(f"/users/{acme.user.id}/roles")).json()["items"]] == ["Writers"]
        assert (await admin.delete(path)).status_code == 200
        assert (await admin.get(f"{path}/users")).status_code == 404


@pytest.mark.parametrize("permission", ["kg", "KG.*", "kg.a.b", "", "kg.*\n", "*" * 300])
async def test_a_permission_has_its_form(app: AdminApp, acme: Tenant, permission: str) -> None:
    async with app.browser(acme.admin) as admin:
        answer = await admin.post("/roles", json={"name": "x", "allow": [permission]})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("permission", "told"),
    [
        ("kgg:read", "no module kgg is installed; did you mean kg?"),
        ("kg.serch", "kg has no tool serch; did you mean search?"),
        ("github.*", "no module github is installed"),
        ("mute:read", "mute has no tool that only reads"),
    ],
)
async def test_a_permission_that_matches_nothing_is_refused(
    app: AdminApp, acme: Tenant, permission: str, told: str
) -> None:
    """Unless that is said to be meant; what a role has already stays, whatever was uninstalled since."""
    async with app.browser(acme.admin) as admin:
        for effect in ("allow", "deny"):
            refused = await admin.post("/roles", json={"name": "x", effect: ["*", permission]})
            assert (refused.status_code, told in refused.json()["detail"]) == (400, True), refused.json()
            assert "allow_unknown" in refused.json()["detail"]
        assert "x" not in [one["name"] for one in await everything(admin, "/roles")]
        made = await admin.post("/roles", json={"name": "x", "allow": [permission], "allow_unknown": True})
        assert (made.status_code, made.json()["allow"]) == (201, [permission])
        path = f"/roles/{made.json()['id']}/permissions"
        kept = await admin.put(path, json={"allow": [permission, "kg:read"], "deny": []})
        assert (kept.status_code, kept.json()["allow"]) == (200, sorted(["kg:read", permission]))
        other = await admin.put(path, json={"allow": [], "deny": [permission]})
        assert other.status_code == 400, "it was allowed, and is denied now: that is new"
        more = await admin.put(path, json={"allow": [permission, "no.such"], "deny": []})
        assert (more.status_code, permission.partition(".")[0] in more.json()["detail"]) == (400, "no" in permission)
        assert (
            await admin.put(path, json={"allow": ["no.such"], "deny": [], "allow_unknown": True})
        ).status_code == 200


async def test_pages_hold_each_item_once(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        for number in range(4):
            await admin.post("/users", json={"email": f"n{number}@acme.example"})
            await admin.post("/roles", json={"name": f"n{number}", "priority": number // 2})
        users = [one["email"] for one in await everything(admin, "/users")]
        roles = [one["name"] for one in await everything(admin, "/roles")]
        entries = [one["entry"] for one in await everything(admin, "/allow-list")]
        found = await everything(admin, "/allow-list", q="Ｎ2 ACME")
    assert users == sorted([f"n{n}@acme.example" for n in range(4)] + ["admin@acme.example", "user@acme.example"])
    assert roles == ["acme-readers", "n2", "n3", "n0", "n1"]
    assert sorted(entries) == sorted([*users, "@acme.example"])
    assert [one["entry"] for one in found] == ["n2@acme.example"]
    assert len(entries) == len(set(entries))


PAGED = [
    "/users",
    "/roles",
    "/allow-list",
    "/audit",
    "/tokens",
    "/oauth/clients",
    "/oauth/issuers",
    "/oauth/grants",
    "/sessions",
    "/identities",
    "/services",
    "/connect-sessions",
]
CURSORS = [
    "",
    "x",
    "!!",
    "A" * 3001,
    encode_cursor("a\x00b"),
    encode_cursor(7),
    encode_cursor(["x"]),
    encode_cursor([2**63, "x"]),
]


@pytest.mark.parametrize("path", PAGED)
async def test_a_made_up_cursor_is_refused(app: AdminApp, acme: Tenant, path: str) -> None:
    async with app.browser(acme.admin) as admin:
        for cursor in CURSORS:
            answer = await admin.get(path, params={"cursor": cursor})
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), cursor
        for limit in (0, 201, "x"):
            assert (await admin.get(path, params={"limit": limit})).status_code == 400


async def test_the_allow_list_keeps_each_entry_once(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        for entry in ("New@Acme.Example", "new@acme.example"):
            assert (await admin.put(f"/allow-list/{entry}")).json() == {"entry": "new@acme.example"}
        assert (await admin.delete("/allow-list/new%40acme.example")).status_code == 204
        assert (await admin.delete("/allow-list/new%40acme.example")).status_code == 404
        assert (await admin.put("/allow-list/neither")).status_code == 400


async def test_services_are_listed(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        listed = (await admin.get("/services")).json()
        for number in range(4):
            await set_service(app.console, Actor("tests"), acme.id, f"n{number}", enabled=number % 2 == 0)
        every = await everything(admin, "/services")
    shown = [(one["module"], one["enabled"], one["installed"], one["settings"]) for one in listed["items"]]
    assert shown == [
        ("kg", False, True, {}),
        ("module_of_acme", True, False, {}),
        ("mute", False, True, {}),
        ("notes", False, True, {}),
    ]
    assert listed["next_cursor"] is None
    assert [one["module"] for one in every] == ["kg", "module_of_acme", "mute", "n0", "n1", "n2", "n3", "notes"]


async def test_an_address_is_lowered_only_where_that_keeps_it_the_same(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        assert (await admin.post("/users", json={"email": "Kate@Acme.Example"})).json()["email"] == "kate@acme.example"
        kelvin = await admin.post("/users", json={"email": "\u212aim@acme.example"})
        assert kelvin.status_code == 400


async def test_every_list_has_pages(app: AdminApp) -> None:
    """Whatever answers `items` takes a limit and a cursor."""
    paths: dict[str, Any] = app.openapi()["paths"]
    lists = {
        path: {one["name"] for one in told["get"].get("parameters", ())}
        for path, told in paths.items()
        if "get" in told and "PageOf" in str(told["get"]["responses"]["200"])
    }
    assert len(lists) >= len(PAGED)
    assert [path for path, asked in lists.items() if not {"limit", "cursor"} <= asked] == []


async def test_the_roles_of_somebody_have_pages(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        for number in range(5):
            role = (await admin.post("/roles", json={"name": f"n{number}", "priority": number // 2})).json()
            assert (await admin.put(f"/users/{acme.user.id}/roles/{role['id']}")).status_code == 204
        found = [one["name"] for one in await everything(admin, f"/users/{acme.user.id}/roles")]
        wrong = await admin.get(f"/users/{acme.user.id}/roles", params={"cursor": "x"})
    assert found == ["n4", "n2", "n3", "n0", "n1"]
    assert wrong.status_code == 400


async def test_people_read_what_they_did_and_administrators_everything(app: AdminApp, acme: Tenant) -> None:
    await app.seal()
    async with app.browser(acme.admin) as admin, app.browser(acme.user) as user:
        everybody = await everything(admin, "/audit")
        own = await everything(user, "/audit")
        same = await everything(user, "/audit", user=str(acme.user.id))
        seen_by_admin = await everything(admin, "/audit", user=str(acme.user.id))
        refused = await user.get("/audit", params={"user": str(acme.admin.id)})
        wrong = await user.get("/audit", params={"since": "2026-01-01T00:00:00"})
        unknown = await user.get("/audit", params={"tenant": str(acme.id)})
    assert {one["user_id"] for one in own} == {str(acme.user.id)}
    assert own == same == seen_by_admin
    assert len(everybody) > len(own)
    assert {one["kind"] for one in everybody} >= {"tenant.created", "user.created", "sign_in", "token.created"}
    assert everybody == sorted(everybody, key=lambda one: (one["occurred_at"], one["seq"]), reverse=True)
    assert (refused.status_code, wrong.status_code, unknown.status_code) == (403, 400, 400)


async def test_a_deleted_user_takes_along_all_that_is_theirs(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        assert (await admin.delete(f"/users/{acme.user.id}")).status_code == 200
    for table in ("auth.sessions", "auth.api_tokens", "auth.grants", "auth.refresh_tokens"):
        assert await app.value(f"SELECT count(*) FROM {table}") == 1, table
    async with app.browser(acme.user) as browser:
        assert (await browser.get("/me")).status_code == 401


async def test_changing_500_permissions_writes_few_events_with_all_names(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    await app.seal()
    before = await rows_of(app, globex)
    allow = [f"{'m' * 60}.{'t' * 50}{n:03}" for n in range(250)]
    deny = [f"kg.tool_{n}" for n in range(250)]
    path = f"/roles/{acme.role_id}/permissions"
    async with app.browser(acme.admin) as admin:
        for granted in ({"allow": allow, "deny": deny}, {"allow": ["kg.one"], "deny": []}):
            assert (await admin.put(path, json={**granted, "allow_unknown": True})).status_code == 200
        await app.seal()
        told = [one["detail"] for one in await everything(admin, "/audit", kind="permission")][::-1]
        other = await app.browser(globex.admin).put(path, json={"allow": allow, "deny": deny, "allow_unknown": True})
    assert other.status_code == 404
    made, was = [one for one in told if "permission" in one], [one for one in told if "count" in one]
    assert [one["permission"] for one in made] == ["kg:read", "kg:read", "kg.one"], "a single permission has no list"
    assert len(was) <= 2 * 7
    named = [name for one in was for key, text in one.items() if key.startswith("permissions") for name in text.split()]
    assert sorted(named) == sorted([*allow, *deny] * 2)
    assert sum(one["count"] for one in was) == 1_000
    assert all(len(text) <= 500 for one in was for text in one.values() if isinstance(text, str))
    await app.seal()
    assert await rows_of(app, globex) == before
