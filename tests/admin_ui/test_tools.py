"""What a person sees of tools: their own, how their services stand, and where the tenant tells it, the others."""

from typing import Any

import pytest

from broker.vault.credential_store import CredentialOwner
from core.directory.services import set_service
from core.directory.users import assign_role
from core.secret import Secret
from tests.admin_ui.admin_app import ACTOR, AdminApp, Tenant
from tests.admin_ui.test_directory import everything
from tests.support import directory


async def furnish(app: AdminApp, tenant: Tenant, *allowed: str) -> None:
    """Both modules are on, and the tenant's user has its role with these permissions besides ``kg:read``."""
    for module in ("kg", "shop"):
        await set_service(app.console, ACTOR, tenant.id, module, enabled=True)
    for permission in allowed:
        await directory.grant(app.console, ACTOR, tenant.id, f"{tenant.slug}-readers", "allow", permission)
    await assign_role(app.console, ACTOR, tenant.id, tenant.user.id, tenant.role_id)


def names(items: list[Any]) -> list[str]:
    return [f"{one['module']}.{one['name']}" for one in items]


@pytest.mark.guarantee("G9")
async def test_each_person_sees_their_own_tools_of_their_own_tenant(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    await furnish(app, acme, "shop.*")
    await furnish(app, globex)
    async with app.browser(acme.user) as user, app.browser(globex.user) as other, app.browser(acme.admin) as admin:
        shown = await everything(user, "/tools")
        assert names(shown) == ["kg.search", "shop.buy", "shop.look"]
        assert names(await everything(other, "/tools")) == ["kg.search"]
        assert await everything(admin, "/tools") == [], "whoever administers has no tools by that"
    assert shown[0] == {
        "module": "kg",
        "name": "search",
        "title": {"en": "Search", "ja": "Search"},
        "permitted": True,
        "description": "Search the graph for entities. Newest first.",
        "effect": "reads",
        "idempotent": True,
        "open_world": False,
        "kind": "tool",
        "uri": "",
    }
    assert shown[1]["effect"] == "changes"


async def test_a_person_is_told_the_modules_of_their_own_tools(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    await furnish(app, acme, "shop.*")
    async with app.browser(acme.user) as user, app.browser(globex.user) as other, app.browser(acme.admin) as admin:
        assert (await user.get("/me")).json()["modules"] == ["kg", "shop"]
        assert (await other.get("/me")).json()["modules"] == []
        assert (await admin.get("/me")).json()["modules"] == [], "whoever administers has no tools by that"
        await set_service(app.console, ACTOR, acme.id, "shop", enabled=False)
        assert (await user.get("/me")).json()["modules"] == ["kg"]


async def test_a_tool_is_shown_with_its_schemas(app: AdminApp, acme: Tenant) -> None:
    await furnish(app, acme)
    async with app.browser(acme.user) as user:
        tool = (await user.get("/tools/kg/search")).json()
        assert tool["parameters"]["required"] == ["query"]
        assert tool["parameters"]["properties"]["query"]["description"] == "A word"
        assert tool["returns"]["properties"]["found"]["type"] == "string"
        hidden, made_up = await user.get("/tools/kg/delete"), await user.get("/tools/kg/nothing")
        assert (hidden.status_code, made_up.status_code) == (404, 404)
        assert hidden.json()["detail"] == made_up.json()["detail"]
        assert (await user.get("/tools/shop/look")).status_code == 404


async def test_hidden_tools_are_named_where_the_tenant_says_so(app: AdminApp, acme: Tenant) -> None:
    await furnish(app, acme)
    await set_service(app.console, ACTOR, acme.id, "shop", enabled=False)
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        hidden = await everything(user, "/tools", permitted=False)
        assert names(hidden) == ["kg.delete", "kg.write"], "a module that is off does not exist"
        assert hidden[0] == {
            "module": "kg",
            "name": "delete",
            "title": {"en": "Delete", "ja": "Delete"},
            "permitted": False,
            "description": "",
            "effect": None,
            "idempotent": False,
            "open_world": False,
            "kind": "tool",
            "uri": "",
        }
        assert (await user.get("/tool-modules/kg")).json()["hidden_tool_count"] == 2
        async with app.script(acme.user.token) as model:
            assert await everything(model, "/tools", permitted=False) == [], "a token may be a model's"
            assert (await model.get("/tool-modules/kg")).json()["hidden_tool_count"] == 0
            asking = [
                await model.post("/access-requests", json={"module": "kg", "tool": tool}) for tool in ("delete", "no")
            ]
            assert {(one.status_code, one.json()["detail"]) for one in asking} == {(409, asking[0].json()["detail"])}
        assert (await admin.patch("/tenant", json={"shows_hidden_tools": False})).json()["shows_hidden_tools"] is False
        assert await everything(user, "/tools", permitted=False) == []
        assert await everything(admin, "/tools", permitted=False) == []
        assert await everything(admin, "/tool-modules") == []
        assert (await user.get("/tool-modules/kg")).json()["hidden_tool_count"] == 0
        assert (await admin.get("/tool-modules/kg")).status_code == 404
        assert (await user.get("/me")).json()["tenant"]["shows_hidden_tools"] is False


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["kg.search", "shop.buy", "shop.look"]),
        ("ENTITIES", ["kg.search"]),
        ("ｓｈｏｐ", ["shop.buy", "shop.look"]),
        ("something buy", ["shop.buy"]),
        ("delete", []),
        ("nothing at all", []),
    ],
)
async def test_search_folds_width_and_case(app: AdminApp, acme: Tenant, query: str, found: list[str]) -> None:
    await furnish(app, acme, "shop.*")
    async with app.browser(acme.user) as user:
        assert names(await everything(user, "/tools", q=query)) == found
        matching = {
            one["module"]: one["matching_tool_count"] for one in await everything(user, "/tool-modules", q=query)
        }
        assert sum(matching.values()) == len(found)
        assert (await user.get("/tools", params={"q": "x" * 201})).status_code == 400


async def test_the_connection_of_each_module(app: AdminApp, acme: Tenant) -> None:
    """None, that of a role, one's own, a broken one: as calls use them."""
    await furnish(app, acme, "shop.*")

    async def shop() -> dict[str, Any]:
        async with app.browser(acme.user) as user:
            return (await user.get("/tool-modules/shop")).json()["connection"]

    async def having(state: str) -> list[str]:
        async with app.browser(acme.user) as user:
            return [one["module"] for one in await everything(user, "/tool-modules", state=state)]

    missing = await shop()
    assert (missing["state"], missing["kind"], missing["responsible"]) == ("needs_connect", None, "owner")
    assert missing["action_url"] == "https://mcp.test/connect/shop"
    assert (await having("needs_connect"), await having("ready")) == (["shop"], ["kg"])
    put = app.connect.credentials.put
    await put(ACTOR, acme.id, "shop", CredentialOwner("shared", acme.role_id), Secret("key of the role"), "Team")
    shared = await shop()
    assert (shared["state"], shared["kind"], shared["owner"]) == ("connected", "shared", "acme-readers")
    assert (await having("shared"), await having("personal")) == (["shop"], [])
    await put(ACTOR, acme.id, "shop", CredentialOwner("personal", acme.user.id), Secret("key of mine"), "Mine")
    own = await shop()
    assert (own["state"], own["kind"], own["account"]) == ("connected", "personal", "Mine")
    assert (own["token_expires_at"], own["renews"]) == (None, False)
    await app.execute("UPDATE vault.credentials SET state = 'broken', cause = 'revoked' WHERE account = 'Mine'")
    broken = await shop()
    assert (broken["state"], broken["cause"], broken["responsible"]) == ("broken", "revoked", "owner")
    assert broken["message"]["en"].startswith("the vendor no longer accepts")
    assert "取り消され" in broken["message"]["ja"]
    assert await having("broken") == ["shop"]
    async with app.browser(acme.user) as user:
        told = (await user.get("/tool-modules/shop")).text
    assert "key of" not in told
