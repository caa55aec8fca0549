"""Notification settings over the API: administrators for the tenant, everybody for themselves."""

from tests.admin_ui.admin_app import AdminApp, Tenant


async def test_settings_are_the_administrators_and_choices_everybody_s_own(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    async with app.browser(acme.admin) as admin, app.browser(acme.user) as user, app.browser(globex.admin) as other:
        shown = (await admin.get("/notification-settings")).json()["alerts"]
        assert {one["alert"] for one in shown} == {"account", "account_end", "credential", "oauth_client"}
        body = {"alert": "account", "mail": False, "addresses": ["ops@acme.example"]}
        assert (await admin.put("/notification-settings", json=body)).json()["addresses"] == ["ops@acme.example"]
        for refused in (
            await user.get("/notification-settings"),
            await user.put("/notification-settings", json=body),
            await user.put(
                "/notification-preferences",
                json={"alert": "account", "mail": False},
                params={"user": str(acme.admin.id)},
            ),
        ):
            assert refused.status_code == 403
        assert (await admin.put("/notification-settings", json=body | {"alert": "made_up"})).status_code == 400
        assert (
            await user.put("/notification-preferences", json={"alert": "account", "mail": False})
        ).status_code == 204
        own = (await admin.get("/notification-preferences", params={"user": str(acme.user.id)})).json()["alerts"]
        assert [one["mail"] for one in own if one["alert"] == "account"] == [False]
        assert all(one["mail"] for one in (await admin.get("/notification-preferences")).json()["alerts"])
        assert all(one["mail"] for one in (await other.get("/notification-settings")).json()["alerts"])
        foreign = {"user": str(acme.user.id)}
        answer = await other.put("/notification-preferences", json={"alert": "account", "mail": False}, params=foreign)
        assert answer.status_code == 404


async def test_two_administrators_set_alerts_at_once(app: AdminApp, acme: Tenant) -> None:
    body = {"alert": "account", "mail": False}
    async with app.browser(acme.admin) as admin:
        read = {"If-Match": (await admin.get("/notification-settings")).headers["etag"]}
        first = await admin.put("/notification-settings", json=body, headers=read)
        assert first.status_code == 200
        late = await admin.put("/notification-settings", json=body | {"alert": "credential"}, headers=read)
        assert late.status_code == 412
        current = late.json()["current"]
        assert (current["etag"], current["changed_by"]) == (first.headers["etag"], acme.admin.email)
        assert [one["mail"] for one in current["state"]["alerts"] if one["alert"] == "account"] == [False]
        again = await admin.put("/notification-settings", json=body, headers={"If-Match": current["etag"]})
        assert again.status_code == 200
