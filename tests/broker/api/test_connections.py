"""Providers, OAuth clients and credentials by the admin API: paged, everybody's own, and never a secret."""

from broker.vault.credential_store import CredentialOwner
from core.secret import Secret
from tests.admin_ui.admin_app import ACTOR, URL, AdminApp

SECRET = "made-up-client-secret"


async def test_an_oauth_client_is_set_listed_and_removed_and_its_secret_never_shown(app: AdminApp) -> None:
    acme = await app.tenant("acme")
    async with app.browser(acme.admin) as admin:
        asked = {"provider": "github", "client_id": "Iv1.made-up", "client_secret": SECRET}
        made = await admin.put("/oauth-clients", json=asked)
        assert made.status_code == 200, made.text
        assert made.json()["redirect_uri"] == f"{URL}/connect/callback/github"
        again = await admin.put("/oauth-clients", json={"provider": "github", "client_id": "Iv1.made-up"})
        assert again.json() == made.json()  # the secret stays
        listed = await admin.get("/oauth-clients", params={"limit": 1})
        assert [one["provider"] for one in listed.json()["items"]] == ["github"]
        rest = await admin.get("/oauth-clients", params={"limit": 1, "cursor": listed.json()["next_cursor"]})
        assert [one["provider"] for one in rest.json()["items"]] == ["google"]
        assert rest.json()["next_cursor"] is None
        assert all(one["has_secret"] for one in (*listed.json()["items"], *rest.json()["items"]))
        for answer in (made, again, listed):
            assert SECRET not in answer.text
        wrong = await admin.put("/oauth-clients", json={"provider": "github", "client_id": "other"})
        assert wrong.status_code == 400  # another client id needs its own secret
        role = await admin.put("/oauth-clients", json={**asked, "role_id": str(acme.role_id)})
        assert role.json()["id"] != made.json()["id"]
        assert (await admin.delete(f"/oauth-clients/{made.json()['id']}")).json() == {
            "accounts": 0,
            "remaining_accounts": [],
        }
        await app.seal()
        audit = await admin.get("/audit")
        assert "oauth_client.set" in audit.text
        assert SECRET not in audit.text


async def test_providers_are_listed_with_what_to_register(app: AdminApp) -> None:
    acme = await app.tenant("acme")
    async with app.browser(acme.admin) as admin:
        seen, cursor = [], None
        while True:
            page = (await admin.get("/providers", params={"limit": 3, **({"cursor": cursor} if cursor else {})})).json()
            seen += page["items"]
            if (cursor := page["next_cursor"]) is None:
                break
    ids = [one["id"] for one in seen]
    assert ids == sorted(set(ids))
    assert {"google", "github", "notion", "atlassian"} <= set(ids)
    assert next(one for one in seen if one["id"] == "google")["redirect_uri"] == f"{URL}/connect/callback/google"


async def test_people_see_their_own_credentials_and_those_of_their_roles(app: AdminApp) -> None:
    acme = await app.tenant("acme")
    owner = CredentialOwner("personal", acme.user.id)
    await app.connect.credentials.put(ACTOR, acme.id, "kg", owner, Secret("key-of-user"), "User's account")
    shared = CredentialOwner("shared", acme.role_id)
    await app.connect.credentials.put(ACTOR, acme.id, "shop", shared, Secret("key-of-role"), "Role's account")
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        mine = (await user.get("/credentials")).json()["items"]
        assert [(one["module"], one["kind"], one["account"]) for one in mine] == [("kg", "personal", "User's account")]
        await app.execute(
            "INSERT INTO core.role_assignments (tenant_id, user_id, role_id) VALUES ($1, $2, $3)",
            acme.id,
            acme.user.id,
            acme.role_id,
        )
        mine = (await user.get("/credentials")).json()["items"]
        assert [one["kind"] for one in mine] == ["personal", "shared"]
        assert (await user.get("/credentials", params={"all_owners": True})).status_code == 403
        assert (await user.delete(f"/credentials/{mine[1]['id']}")).status_code == 404  # shared with them, not theirs
        first = (await admin.get("/credentials", params={"all_owners": True, "limit": 2})).json()
        query = {"all_owners": True, "limit": 2, "cursor": first["next_cursor"]}
        rest = (await admin.get("/credentials", params=query)).json()
        found = [(one["module"], one["owner"]) for one in (*first["items"], *rest["items"])]
        assert found == [("kg", acme.admin.email), ("kg", acme.user.email), ("shop", "acme-readers")]
        of_role = await admin.get("/credentials", params={"role": str(acme.role_id)})
        assert [(one["module"], one["owner"]) for one in of_role.json()["items"]] == [("shop", "acme-readers")]
        assert (await user.get("/credentials", params={"role": str(acme.role_id)})).status_code == 403
        stranger = await app.tenant("globex")
        async with app.browser(stranger.admin) as other:
            found = await other.get("/credentials", params={"role": str(acme.role_id)})
            assert found.json()["items"] == []
        assert "key-of" not in str(first) + str(rest) + of_role.text
        ended = await user.delete(f"/credentials/{mine[0]['id']}")
        assert ended.json() == {"modules": ["kg"], "revoked": False, "revocation": "api_key", "manage_url": ""}
        assert (await user.delete(f"/credentials/{mine[0]['id']}")).status_code == 404
