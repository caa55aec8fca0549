"""A service's OAuth clients: those of its providers, and no other's."""

from tests.admin_ui.admin_app import URL, AdminApp, Tenant

SECRET = "zq-made-up-91"


async def test_a_service_s_client_is_that_of_its_provider(app: AdminApp, acme: Tenant) -> None:
    asked = {"client_id": "made-up", "client_secret": SECRET}
    async with app.browser(acme.admin) as admin:
        made = await admin.put("/services/notion/oauth-client", json=asked)
        assert (made.status_code, made.json()["redirect_uri"]) == (200, f"{URL}/connect/callback/notion")
        role = await admin.put("/services/notion/oauth-client", json=asked | {"role_id": str(acme.role_id)})
        first = (await admin.get("/services/notion/oauth-clients", params={"limit": 1})).json()
        second = (
            await admin.get("/services/notion/oauth-clients", params={"limit": 1, "cursor": first["next_cursor"]})
        ).json()
        shown = [*first["items"], *second["items"]]
        assert [one["id"] for one in shown] == [made.json()["id"], role.json()["id"]]
        assert second["next_cursor"] is None
        assert SECRET not in f"{shown}{made.text}{role.text}"
        assert [one["provider"] for one in (await admin.get("/services/google_calendar/oauth-clients")).json()["items"]]
        assert (await admin.get("/services/made_up/oauth-clients")).status_code == 404


async def test_where_there_are_several_providers_one_has_to_be_named(app: AdminApp, acme: Tenant) -> None:
    asked = {"client_id": "made-up", "client_secret": SECRET}
    async with app.browser(acme.admin) as admin:
        refused = await admin.put("/services/github/oauth-client", json=asked)
        assert (refused.status_code, "github_oauth_app" in refused.text) == (400, True)
        assert (
            await admin.put("/services/github/oauth-client", json=asked | {"provider": "google"})
        ).status_code == 400
        assert (
            await admin.put("/services/github/oauth-client", json=asked | {"provider": "github"})
        ).status_code == 200
