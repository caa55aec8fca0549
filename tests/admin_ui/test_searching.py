"""Lists of people, roles and tools: found by words, sorted, a page at a time, of one's own tenant."""

from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from broker.authorization_server.registered_clients import NewClient
from core.directory import roles, users
from tests.admin_ui.admin_app import ACTOR, AdminApp, Tenant
from tests.support import directory

PEOPLE = [("zoe@acme.example", "Àda Ｚoe"), ("a_b@acme.example", "ヤマダ たろう"), ("c%d@acme.example", "山田 花子")]


async def _invite(app: AdminApp, tenant: Tenant) -> None:
    for email, name in PEOPLE:
        await users.create_user(app.console, ACTOR, tenant.id, email, name=name)


async def _find(app: AdminApp, tenant: Tenant, path: str, **query: Any) -> list[Any]:
    async with app.browser(tenant.admin) as admin:
        answer = await admin.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]


async def _list_all(caller: httpx2.AsyncClient, path: str, **query: Any) -> list[Any]:
    """The items of all pages."""
    items: list[Any] = []
    while True:
        answer = await caller.get(path, params=query)
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        query["cursor"] = answer.json()["next_cursor"]
        if query["cursor"] is None:
            return items


async def _create_crew(app: AdminApp, tenant: Tenant) -> roles.RoleRecord:
    await directory.create_role(app.console, ACTOR, tenant.id, "crew", 1)
    return await roles.find_role(app.console, tenant.id, "crew")


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("ZOE", ["zoe@acme.example"]),
        ("やまだ", ["a_b@acme.example"]),
        ("タロウ ﾔﾏﾀﾞ", ["a_b@acme.example"]),
        ("山田", ["c%d@acme.example"]),
        ("%", ["c%d@acme.example"]),
        ("_", ["a_b@acme.example"]),
        ("zoe acme", ["zoe@acme.example"]),
        ("zoe globex", []),
        ("'; DROP TABLE core.users; --", []),
    ],
)
async def test_people_are_found_by_words(app: AdminApp, acme: Tenant, q: str, found: Sequence[str]) -> None:
    await _invite(app, acme)
    globex = await app.tenant("globex")
    await users.create_user(app.console, ACTOR, globex.id, "zoe@globex.example", name="山田 やまだ 100% _")
    assert [one["email"] for one in await _find(app, acme, "/users", q=q)] == found


@pytest.mark.parametrize("key", ["email", "name", "created_at"])
async def test_people_are_sorted_over_all_pages(app: AdminApp, acme: Tenant, key: str) -> None:
    await _invite(app, acme)
    async with app.browser(acme.admin) as admin:
        up = await _list_all(admin, "/users", sort=key, limit=2)
        down = await _list_all(admin, "/users", sort=f"-{key}", limit=2)
    assert len({one["id"] for one in up}) == len(up) == len(PEOPLE) + 2
    assert up == down[::-1]
    if key != "created_at":  # as PostgreSQL orders texts
        assert [one[key] for one in up] == sorted(one[key] for one in up)


async def test_people_are_filtered(app: AdminApp, acme: Tenant) -> None:
    await users.change_user(app.console, ACTOR, acme.id, acme.user.id, status="suspended")
    assert [one["email"] for one in await _find(app, acme, "/users", status="suspended")] == [acme.user.email]
    assert [one["email"] for one in await _find(app, acme, "/users", system_role="admin")] == [acme.admin.email]
    assert await _find(app, acme, "/users", system_role="admin", status="suspended") == []


async def test_a_cursor_belongs_to_its_order(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        cursor = (await admin.get("/users?sort=created_at&limit=1")).json()["next_cursor"]
        assert (await admin.get("/roles", params={"cursor": cursor})).status_code == 400
        assert (await admin.get("/users", params={"sort": "size"})).status_code == 400


async def test_roles_are_found_and_sorted(app: AdminApp, acme: Tenant) -> None:
    for name, priority in (("Vertrieb", 3), ("営業", 7), ("セールス", 0)):
        await directory.create_role(app.console, ACTOR, acme.id, name, priority)
    assert [one["name"] for one in await _find(app, acme, "/roles", q="せーるす")] == ["セールス"]
    async with app.browser(acme.admin) as admin:
        shown = await _list_all(admin, "/roles", limit=1)
        assert [one["name"] for one in shown] == ["acme-readers", "営業", "Vertrieb", "セールス"]
        upwards = await _list_all(admin, "/roles", sort="priority", limit=1)
        assert [one["name"] for one in upwards] == ["セールス", "Vertrieb", "acme-readers", "営業"]
        by_name = await _list_all(admin, "/roles", sort="-name", limit=1)
        assert [one["name"] for one in by_name] == sorted((one["name"] for one in shown), reverse=True)


async def test_members_of_a_role_are_found_and_sorted(app: AdminApp, acme: Tenant) -> None:
    await _invite(app, acme)
    role = await _create_crew(app, acme)
    for email, _ in PEOPLE:
        await directory.assign_role(app.console, ACTOR, acme.id, email, "crew")
    path = f"/roles/{role.id}/users"
    async with app.browser(acme.admin) as admin:
        shown = await _list_all(admin, path, sort="-email", limit=1)
        assert [one["email"] for one in shown] == ["zoe@acme.example", "c%d@acme.example", "a_b@acme.example"]
        assert [one["email"] for one in await _list_all(admin, path, q="やまだ")] == ["a_b@acme.example"]
    globex = await app.tenant("globex")
    async with app.browser(globex.admin) as stranger:
        assert (await stranger.get(path)).status_code == 404


async def test_entries_of_the_allow_list_are_sorted(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        for entry in ("@zeta.example", "@beta.example", "@gamma.example"):
            assert (await admin.put(f"/allow-list/{entry}")).status_code == 200
        newest = await _list_all(admin, "/allow-list", sort="-created_at", q="a.example", limit=1)
        assert [one["entry"] for one in newest] == ["@gamma.example", "@beta.example", "@zeta.example"]
        letters = await _list_all(admin, "/allow-list", sort="-entry", q="a.example", limit=1)
        assert [one["entry"] for one in letters] == ["@zeta.example", "@gamma.example", "@beta.example"]


async def test_mappings_are_found_and_sorted(app: AdminApp, acme: Tenant) -> None:
    role = await _create_crew(app, acme)
    async with app.browser(acme.admin) as admin:
        for value in ("zeta.example", "beta.example", "gamma.example"):
            body = {"kind": "domain", "value": value, "role_id": str(role.id)}
            assert (await admin.post("/role-mappings", json=body)).status_code == 201
        for query, expected in (
            ({}, ["zeta.example", "beta.example", "gamma.example"]),
            ({"sort": "-created_at"}, ["gamma.example", "beta.example", "zeta.example"]),
            ({"sort": "value"}, ["beta.example", "gamma.example", "zeta.example"]),
            ({"q": "CREW ＢＥＴＡ"}, ["beta.example"]),
        ):
            found = await _list_all(admin, "/role-mappings", limit=1, **{"q": "crew"} | query)
            assert [one["value"] for one in found] == expected, query


async def test_tokens_are_found_and_sorted(app: AdminApp, acme: Tenant) -> None:
    for name in ("zeta", "beta", "gamma"):
        await app.parts.tokens.create(ACTOR, acme.id, acme.user.id, f"key {name}")
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        for query, expected in (
            ({}, ["gamma", "beta", "zeta"]),
            ({"sort": "created_at"}, ["zeta", "beta", "gamma"]),
            ({"sort": "name"}, ["beta", "gamma", "zeta"]),
            ({"q": "ＢＥＴＡ key"}, ["beta"]),
        ):
            found = await _list_all(user, "/tokens", limit=1, **{"q": "key"} | query)
            assert [one["name"].removeprefix("key ") for one in found] == expected, query
        assert await _list_all(admin, "/tokens", q="beta") == [], "another's are not the caller's own"
        assert len(await _list_all(admin, "/tokens", q="user@ beta", all_owners=True)) == 1


async def test_modules_of_tools_are_sorted(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as user:
        upwards = await _list_all(user, "/tool-modules", sort="tool_count", limit=1)
        downwards = await _list_all(user, "/tool-modules", sort="-tool_count", limit=1)
    assert upwards == downwards[::-1]
    assert [one["tool_count"] for one in upwards] == sorted(one["tool_count"] for one in upwards)


async def test_the_tools_of_services_are_listed_for_administrators(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin, app.browser(acme.user) as user:
        shown = await _list_all(admin, "/service-tools", limit=2)
        assert [(one["module"], one["name"], one["effect"]) for one in shown][:3] == [
            ("kg", "delete", "destroys"),
            ("kg", "search", "reads"),
            ("kg", "write", "changes"),
        ]
        assert {one["module"] for one in shown if one["enabled"]} <= {"kg"}
        assert {one["module"] for one in (await admin.get("/service-tools?module=shop")).json()["items"]} == {"shop"}
        assert (await user.get("/service-tools")).status_code == 403


async def test_services_providers_clients_issuers_and_grants_are_searched_and_sorted(
    app: AdminApp, acme: Tenant
) -> None:
    await app.tenant("globex")
    made = [
        await app.parts.clients.create(ACTOR, acme.id, NewClient(name=name, redirect_uris=("https://c.example/",)))
        for name in ("Zeta", "ﾔﾏﾀﾞ")
    ]
    for host in ("b", "a"):
        jwks = f"https://{host}.example/keys"
        await app.parts.issuers.trust(ACTOR, acme.id, f"https://{host}.example", jwks)
    name, own = "Client of acme", {"limit": 1}
    wide = own | {"all_owners": True}
    async with app.browser(acme.admin) as admin:
        for path, field, query, expected in (
            ("/services", "module", {"q": "GRAPH"}, ["kg"]),
            ("/services", "module", {"sort": "-title"}, ["notes", "mute", "module_of_acme", "kg"]),
            ("/services", "module", {"sort": "enabled"}, ["kg", "mute", "notes", "module_of_acme"]),
            ("/providers", "id", {"q": "vendor_of"}, ["vendor_of_acme"]),
            ("/oauth/clients", "name", {}, ["ﾔﾏﾀﾞ", "Zeta", name]),
            ("/oauth/clients", "name", {"sort": "name"}, [name, "Zeta", "ﾔﾏﾀﾞ"]),
            ("/oauth/clients", "name", {"q": "やまだ"}, ["ﾔﾏﾀﾞ"]),
            ("/oauth/clients", "name", {"q": made[0][0].id}, ["Zeta"]),
            ("/oauth/issuers", "issuer", {"sort": "-issuer"}, ["https://b.example", "https://a.example"]),
            ("/oauth/issuers", "issuer", {"q": "A.EXAMPLE"}, ["https://a.example"]),
            ("/oauth/grants", "user_email", wide, [acme.user.email, acme.admin.email]),
            ("/oauth/grants", "user_email", wide | {"sort": "created_at"}, [acme.admin.email, acme.user.email]),
            ("/oauth/grants", "user_email", wide | {"sort": "last_used_at", "q": "USER@ client"}, [acme.user.email]),
            ("/oauth/grants", "user_email", wide | {"q": "globex"}, []),
            ("/oauth/grants", "user_email", own | {"q": "user@acme"}, []),
        ):
            found = await _list_all(admin, path, **own | query)
            assert [one[field] for one in found] == expected, (path, query)
        titles = [one["title"] for one in await _list_all(admin, "/providers", sort="-title", limit=3)]
        assert titles == sorted(titles, key=str.casefold, reverse=True)
        assert len(titles) > 5
        for path in ("/services", "/providers", "/oauth/clients", "/oauth/issuers", "/oauth/grants"):
            for query in ({"sort": "made_up"}, {"q": "x" * 201}, {"cursor": "x"}):
                assert (await admin.get(path, params=query)).status_code == 400, (path, query)
