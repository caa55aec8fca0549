"""Resources and prompts in the control plane: in lists, in the permissions of roles, in what is seen as a role, in
access requests and in the audit log."""

from typing import Any

import pytest

from core.directory.services import set_service
from core.directory.users import assign_role
from tests.admin_ui.admin_app import ACTOR, AdminApp, Tenant
from tests.admin_ui.test_audit_api import denied, record
from tests.admin_ui.test_directory import everything


@pytest.fixture
async def noted(app: AdminApp, acme: Tenant) -> Tenant:
    """A tenant whose user has a role that reads `kg`; both modules are on."""
    for module in ("kg", "notes"):
        await set_service(app.console, ACTOR, acme.id, module, enabled=True)
    await assign_role(app.console, ACTOR, acme.id, acme.user.id, acme.role_id)
    await app.execute("DELETE FROM core.access_requests")
    return acme


def kinds(items: list[Any]) -> list[tuple[str, str, str, str]]:
    return [(one["module"], one["name"], one["kind"], one["uri"]) for one in items]


NOTE = ("notes", "note", "resource", "resource://notes/{topic}")
SUM_UP = ("notes", "sum_up", "prompt", "")


async def test_permissions_name_resources_and_prompts(app: AdminApp, noted: Tenant) -> None:
    path = f"/roles/{noted.role_id}"
    async with app.browser(noted.user) as user, app.browser(noted.admin) as admin:
        assert kinds(await everything(user, "/tools", module="notes")) == []
        refused = await admin.patch(f"{path}/permissions", json={"add": {"allow": ["notes.nothing"]}})
        assert (refused.status_code, "notes has no tool nothing" in refused.text) == (400, True)
        for allow, seen in ((["notes.note"], [NOTE]), (["notes:read"], [NOTE, SUM_UP]), (["notes.sum_up"], [SUM_UP])):
            answer = await admin.put(f"{path}/permissions", json={"allow": allow, "deny": []})
            assert answer.status_code == 200, answer.json()
            assert kinds(await everything(user, "/tools")) == seen
            view = (await admin.get(f"{path}/model-view")).json()
            assert (view["tool_count"], view["modules"]) == (0, [])
            assert [(one["module"], one["name"], "resource", one["uri"]) for one in view["resources"]] == seen[
                : NOTE in seen
            ]
            assert [(one["module"], one["name"]) for one in view["prompts"]] == [SUM_UP[:2]] * (SUM_UP in seen)
        (module,) = [one for one in (await user.get("/tool-modules")).json()["items"] if one["module"] == "notes"]
        assert (module["tool_count"], module["hidden_tool_count"]) == (1, 1)


async def test_they_are_listed_by_kind(app: AdminApp, noted: Tenant) -> None:
    async with app.browser(noted.admin) as admin, app.browser(noted.user) as user:
        for kind, found in (("resource", [NOTE]), ("prompt", [SUM_UP])):
            assert kinds(await everything(admin, "/service-tools", kind=kind)) == found
            assert kinds(await everything(user, "/tools", kind=kind)) == []
        tools = await everything(admin, "/service-tools", kind="tool")
        assert {(one["kind"], one["plain_view_problem"]) for one in tools} == {("tool", "")}
        assert {one["effect"] for one in await everything(admin, "/service-tools", module="notes")} == {"reads"}
        assert (await admin.get("/service-tools", params={"kind": "thing"})).status_code == 400
        hidden = [one for one in await everything(user, "/tools", permitted=False) if one["module"] == "notes"]
        assert kinds(hidden) == [("notes", "note", "resource", ""), SUM_UP], "a URI says more than a name"


async def test_one_is_shown_with_its_arguments(app: AdminApp, noted: Tenant) -> None:
    async with app.browser(noted.admin) as admin, app.browser(noted.user) as user:
        hidden, made_up = await user.get("/tools/notes/note"), await user.get("/tools/notes/nothing")
        assert (hidden.status_code, hidden.json()["detail"]) == (404, made_up.json()["detail"])
        await admin.patch(f"/roles/{noted.role_id}/permissions", json={"add": {"allow": ["notes:read"]}})
        for name, description in (("note", "A note about a topic."), ("sum_up", "Sum up the notes about a topic.")):
            shown = (await user.get(f"/tools/notes/{name}")).json()
            assert (shown["description"], shown["returns"]) == (description, {})
            assert shown["parameters"]["required"] == ["topic"]


async def test_one_is_asked_for(app: AdminApp, noted: Tenant) -> None:
    async with app.browser(noted.user) as user, app.browser(noted.admin) as admin:
        made = await user.post("/access-requests", json={"module": "notes", "tool": "note"})
        assert made.status_code == 201, made.json()
        body = {"role_id": str(noted.role_id), "allow": True}
        approved = await admin.post(f"/access-requests/{made.json()['id']}/approval", json=body)
        assert approved.status_code == 200, approved.json()
        assert kinds(await everything(user, "/tools", module="notes")) == [NOTE]
        assert (await user.post("/access-requests", json={"module": "notes", "tool": "note"})).status_code == 409


async def test_a_denied_read_stands_out_where_there_is_such_a_resource(app: AdminApp, noted: Tenant) -> None:
    await record(
        app,
        denied(noted, "resource", "resource://notes/x"),
        denied(noted, "resource", "resource://notes/{topic}"),
        denied(noted, "resource", "resource://made-up/x"),
        denied(noted, "prompt", "sum_up"),
        denied(noted, "prompt", "made_up"),
    )
    async with app.browser(noted.admin) as admin, app.browser(noted.user) as user:
        params = {"until": "2026-11-21T00:00:00Z"}
        items = (await admin.get("/audit", params=params)).json()["items"]
        found = {one["tool"]: one["denial"] for one in items}
        assert found == {
            "resource://notes/x": "hidden_tool",
            "resource://notes/{topic}": "hidden_tool",
            "resource://made-up/x": "unknown_tool",
            "sum_up": "hidden_tool",
            "made_up": "unknown_tool",
        }
        assert {one["denial"] for one in (await user.get("/audit", params=params)).json()["items"]} == {"tool"}
