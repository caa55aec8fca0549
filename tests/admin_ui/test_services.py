"""Services, keys and the doctor over the API: who may see and change what."""

import pytest

from core.directory.services import list_services, set_service
from tests.admin_ui.admin_app import ACTOR, OPERATORS, SETTINGS_SCHEMA, AdminApp, Tenant


async def test_a_service_is_switched_and_set(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        before = (await admin.get("/services/kg")).json()
        assert (before["enabled"], before["settings"], before["installed"], before["tool_count"]) == (
            False,
            {},
            True,
            3,
        )
        assert before.pop("settings_schema") == SETTINGS_SCHEMA
        changed = await admin.patch("/services/kg", json={"enabled": True, "settings": {"timeout": 5}})
        assert changed.json() == before | {"enabled": True, "settings": {"timeout": 5}}
        refused = await admin.patch("/services/kg", json={"settings": {"made_up": 1}})
        assert (refused.status_code, refused.json()["detail"]) == (400, "made_up: there is no such setting")
        assert refused.json()["errors"] == [{"field": "body.settings.made_up", "problem": "there is no such setting"}]
        assert (await admin.get("/services/kg")).json() == changed.json() | {"settings_schema": SETTINGS_SCHEMA}
        assert (await admin.patch("/services/kg", json={"settings": {"timeout": None}})).json()["settings"] == {}
        assert (await admin.patch("/services/kg", json={})).json()["enabled"] is True
        assert (await admin.patch("/services/kg", json={"enabled": False})).json() == before
        nothing = await admin.patch("/services/mute", json={"settings": {"timeout": 5}})
        assert (nothing.status_code, nothing.json()["detail"]) == (400, "mute has nothing to set")
        await app.seal()
        told = [
            (one["kind"], one["detail"].get("module"))
            for one in (await admin.get("/audit?kind=service")).json()["items"]
        ]
        assert [kind for kind, module in told if module == "kg"] == [
            "service.disabled",
            "service.changed",
            "service.enabled",
            "service.changed",
        ]


async def test_what_is_not_installed_is_shown_and_not_changed(app: AdminApp, acme: Tenant) -> None:
    await app.tenant("globex")
    async with app.browser(acme.admin) as admin:
        listed = (await admin.get("/services")).json()["items"]
        assert [(one["module"], one["enabled"], one["installed"]) for one in listed] == [
            ("kg", False, True),
            ("module_of_acme", True, False),
            ("mute", False, True),
            ("notes", False, True),
        ]
        assert (await admin.get("/services/module_of_acme")).json()["description"] == "not installed"
        assert (await admin.get("/services/module_of_globex")).status_code == 404
        assert (await admin.patch("/services/module_of_acme", json={"enabled": False})).status_code == 404
    assert [one.enabled for one in await list_services(app.console, acme.id)] == [True]


@pytest.mark.parametrize("body", [{"settings": {"x" * 64: 1}}, {"settings": {"a\x00": 1}}, {"secret": 1}, []])
async def test_the_form_of_a_change(app: AdminApp, acme: Tenant, body: object) -> None:
    async with app.browser(acme.admin) as admin:
        assert (await admin.patch("/services/kg", json=body)).status_code == 400


async def test_the_keys_are_the_operator_s(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator, app.browser(acme.admin) as admin:
        assert (await operator.get("/keys")).json()["keys"][0]["kek_id"] == "k1"
        assert (await admin.get("/keys")).status_code == 403


async def test_the_doctor_tells_each_what_they_may_know(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    await set_service(app.console, ACTOR, acme.id, "kg", enabled=True)
    found = []
    for person in (operators.admin, acme.admin, acme.user):
        async with app.browser(person) as browser:
            told = (await browser.get("/doctor")).json()
            found.append((told["healthy"], [one["check"] for one in told["checks"]]))
    assert found == [(False, ["clock", "credential"]), (True, ["credential"]), (True, ["credential"])]
    assert app.checks.asked == [(operators.id, None), (acme.id, None), (acme.id, acme.user.id)]
