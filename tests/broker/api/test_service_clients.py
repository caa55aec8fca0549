"""A service's OAuth clients: those of its providers, and no other's."""

import pytest

from tests.admin_ui.admin_app import URL, AdminApp, Tenant
from tests.support.certificates import make_client_certificate

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
        of_role = (await admin.get("/oauth-clients", params={"role": str(acme.role_id)})).json()["items"]
        assert [one["id"] for one in of_role] == [role.json()["id"]]
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


async def test_two_administrators_store_a_client_at_once(app: AdminApp, acme: Tenant) -> None:
    asked, new = {"client_id": "made-up", "client_secret": SECRET}, {"If-Match": '"v0"'}
    async with app.browser(acme.admin) as admin:
        made = await admin.put("/services/notion/oauth-client", json=asked, headers=new)
        path = f"/oauth-clients/{made.json()['id']}"
        read = await admin.get(path)
        assert read.json()["client_id"] == "made-up"
        late = await admin.put("/services/notion/oauth-client", json=asked, headers=new)
        assert (late.status_code, late.json()["current"]["state"]) == (412, read.json())
        seen = {"If-Match": read.headers["etag"]}
        assert (await admin.put("/services/notion/oauth-client", json=asked, headers=seen)).status_code == 200
        other = await admin.put("/oauth-clients", json=asked | {"provider": "notion"}, headers=seen)
        assert other.status_code == 412
        assert (await admin.delete(path)).status_code == 200
        assert (await admin.get(path)).status_code == 404
        gone = await admin.put("/services/notion/oauth-client", json=asked, headers=seen)
        assert gone.status_code == 404


PEM, _ = make_client_certificate()
ENDED, _ = make_client_certificate(days=-1)
PRIVATE = "".join(PEM.split("-----")[2].split())


def by_certificate(pem: str | None = PEM, method: str = "private_key_jwt", **more: str) -> dict[str, object]:
    asked: dict[str, object] = {"client_id": "made-up", "auth_method": method, "settings": {"tenant": "acme"}, **more}
    return asked if pem is None else {**asked, "client_secret": pem}


async def test_a_certificate_is_stored_and_never_shown(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        made = await admin.put("/services/microsoft_todo/oauth-client", json=by_certificate())
        assert made.status_code == 200, made.text
        again = await admin.put("/services/microsoft_todo/oauth-client", json=by_certificate(None))
        shown = await admin.get("/services/microsoft_todo/oauth-clients")
        [client] = shown.json()["items"]
        assert (client["auth_method"], client["has_secret"]) == ("private_key_jwt", True)
        told = f"{made.text}{again.text}{shown.text}{(await admin.get('/audit')).text}"
        assert not any(PRIVATE[place : place + 40] in told for place in range(0, len(PRIVATE) - 40, 40))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (by_certificate("a-secret"), "give a private key"),
        (by_certificate(ENDED), "the certificate has ended"),
        (by_certificate(None), "wants a private key with its certificate"),
        (by_certificate(PEM, "post"), "a client secret is one line"),
        (by_certificate("x" * 16_385), "client_secret"),
        (by_certificate(PEM, "tls_client_auth"), "auth_method"),
    ],
)
async def test_what_is_no_certificate_is_refused(
    app: AdminApp, acme: Tenant, body: dict[str, object], told: str
) -> None:
    async with app.browser(acme.admin) as admin:
        refused = await admin.put("/services/microsoft_todo/oauth-client", json=body)
        assert (refused.status_code, told in refused.text) == (400, True), refused.text
        assert "BEGIN" not in refused.text
        assert (await admin.get("/services/microsoft_todo/oauth-clients")).json()["items"] == []


async def test_a_stored_key_does_not_become_a_secret(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        await admin.put("/services/microsoft_todo/oauth-client", json=by_certificate())
        for method in ("post", "basic", ""):
            refused = await admin.put("/services/microsoft_todo/oauth-client", json=by_certificate(None, method))
            assert (refused.status_code, "a client secret is one line" in refused.text) == (400, True)
