"""How tools are shown, as a setting over the API: of tokens, OAuth clients and roles, by whom, and in which form."""

from typing import Any

import pytest

from tests.admin_ui.admin_app import AdminApp, Tenant

TOKEN = {"name": "mine", "scopes": ["mcp:read"]}
CLIENT = {"name": "App", "redirect_uris": ["https://x.example/"]}
ROLE = {"name": "writers"}


async def test_it_is_set_and_cleared(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        for path, asked in (("/tokens", TOKEN), ("/oauth/clients", CLIENT), ("/roles", ROLE)):
            made = await admin.post(path, json=asked | {"tool_exposure": "plain:lab, kg.search,lab"})
            assert made.status_code == 201, made.text

            async def shown(path: str = path, made: Any = made) -> str | None:
                items = (await admin.get(path)).json()["items"]
                return next(one["tool_exposure"] for one in items if one["id"] == made.json()["id"])

            assert await shown() == "plain:lab,kg.search"
            if path == "/tokens":
                continue
            one = f"{path}/{made.json()['id']}"
            for change, expected in (
                ({"name": "x"} if path == "/roles" else {"enabled": True}, "plain:lab,kg.search"),
                ({"tool_exposure": "both"}, "both"),
                ({"tool_exposure": None}, None),
            ):
                assert (await admin.patch(one, json=change)).is_success
                assert await shown() == expected
        again = await admin.post("/roles", json={"name": "x", "tool_exposure": "meta"})
        assert again.status_code == 409, "a role that is there, with another setting"
        await app.seal()
        details = [one["detail"] for one in (await admin.get("/audit")).json()["items"] if one["detail"]]
    told = [one["tool_exposure"] for one in details if "tool_exposure" in one]
    assert told == ["default", "both", "plain:lab,kg.search", "default", "both"]


@pytest.mark.parametrize(
    "wrong", ["", "simple", "plain:", "plain:GitHub", "meta:lab", "plain:" + "x," * 1_000, 5, ["plain"]]
)
async def test_another_form_is_refused(app: AdminApp, acme: Tenant, wrong: Any) -> None:
    async with app.browser(acme.admin) as admin:
        for path, asked in (("/tokens", TOKEN), ("/oauth/clients", CLIENT), ("/roles", ROLE)):
            refused = await admin.post(path, json=asked | {"tool_exposure": wrong})
            assert refused.status_code == 400
            assert "tool_exposure" in refused.text
        refused = await admin.patch(f"/roles/{acme.role_id}", json={"tool_exposure": wrong})
        assert refused.status_code == 400


async def test_nobody_else_sets_it(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    async with app.browser(acme.admin) as admin:
        client = (await admin.post("/oauth/clients", json=CLIENT)).json()["id"]
    for caller, status in ((acme.user, 403), (globex.user, 403), (globex.admin, 404)):
        async with app.browser(caller) as browser:
            for path in (f"/roles/{acme.role_id}", f"/oauth/clients/{client}"):
                answer = await browser.patch(path, json={"tool_exposure": "plain"})
                assert answer.status_code == status, path
    async with app.browser(acme.admin) as admin:
        for path in ("/roles", "/oauth/clients"):
            assert {one["tool_exposure"] for one in (await admin.get(path)).json()["items"]} == {None}
