"""Sessions, grants, OAuth clients and one-time links over the API."""

from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from core.secret import Secret
from tests.admin_ui.rig import URL, Rig, Tenant


async def test_one_s_own_sessions_and_which_of_them_asks(rig: Rig, acme: Tenant) -> None:
    await rig.parts.sessions.begin(acme.id, acme.user.id, "other", "192.0.2.9", "another browser")
    async with rig.browser(acme.user) as browser, rig.script(acme.user.token) as script:
        listed = (await browser.get("/sessions")).json()["items"]
        assert sorted((one["method"], one["current"]) for one in listed) == [("other", False), ("test", True)]
        assert [one["current"] for one in (await script.get("/sessions")).json()["items"]] == [False, False]
        (other,) = [one["id"] for one in listed if not one["current"]]
        assert (await browser.delete(f"/sessions/{other}")).status_code == 204
        assert len((await browser.get("/sessions")).json()["items"]) == 1


async def test_sessions_of_others_are_an_administrator_s_matter(rig: Rig, acme: Tenant) -> None:
    async with rig.browser(acme.user) as user, rig.browser(acme.admin) as admin:
        assert (await user.delete(f"/sessions/{acme.admin.session_id}")).status_code == 404
        assert (await admin.delete(f"/sessions/{acme.user.session_id}")).status_code == 204
        assert (await user.get("/me")).status_code == 401


async def test_a_grant_is_listed_and_ended(rig: Rig, acme: Tenant) -> None:
    async with rig.browser(acme.user) as user, rig.browser(acme.admin) as admin:
        (grant,) = (await user.get("/oauth/grants")).json()["items"]
        assert (grant["id"], grant["kind"]) == (str(acme.user.grant_id), "code")
        assert (await user.delete(f"/oauth/grants/{acme.admin.grant_id}")).status_code == 404
        assert (await user.delete(f"/oauth/grants/{grant['id']}")).status_code == 204
        assert (await user.get("/oauth/grants")).json()["items"] == []
        assert (await user.delete(f"/oauth/grants/{grant['id']}")).status_code == 404
        assert len((await admin.get("/oauth/grants")).json()["items"]) == 1


async def test_a_client_from_registering_to_removing(rig: Rig, acme: Tenant) -> None:
    asked = {"name": "Machine", "auth_method": "client_secret_basic", "grant_types": ["client_credentials"]}
    async with rig.browser(acme.admin) as admin:
        made = await admin.post("/oauth/clients", json=asked | {"user_id": str(acme.user.id)})
        assert made.status_code == 201
        assert made.json()["secret"]
        path = f"/oauth/clients/{made.json()['id']}"
        newest, _ = (await admin.get("/oauth/clients")).json()["items"]
        assert (newest["name"], newest["user_email"]) == ("Machine", "user@acme.example")
        assert made.json()["secret"] not in (await admin.get("/oauth/clients")).text
        assert (await admin.patch(path, json={"enabled": False})).status_code == 204
        newest, _ = (await admin.get("/oauth/clients")).json()["items"]
        assert newest["disabled_at"] is not None
        assert (await admin.delete(path)).status_code == 204
        assert (await admin.delete(path)).status_code == 404


async def test_a_client_that_does_not_fit_together_is_told_why(rig: Rig, acme: Tenant) -> None:
    nobody = "3f1c0a7e-0000-4000-8000-000000000000"
    machine = {"auth_method": "client_secret_basic", "grant_types": ["client_credentials"], "user_id": nobody}
    wrong = [
        {},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"auth_method": "private_key_jwt", "redirect_uris": ["https://x.example/"]},
        {"auth_method": "private_key_jwt", "redirect_uris": ["https://x.example/"], "jwks": {"keys": ["\x00"]}},
        machine,
    ]
    async with rig.browser(acme.admin) as admin:
        for asked in wrong:
            answer = await admin.post("/oauth/clients", json={"name": "x"} | asked)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), asked


async def test_pages_of_clients_hold_each_once(rig: Rig, acme: Tenant) -> None:
    async with rig.browser(acme.admin) as admin:
        for number in range(3):
            asked = {"name": f"n{number}", "redirect_uris": ["https://x.example/"]}
            assert (await admin.post("/oauth/clients", json=asked)).status_code == 201
        first = (await admin.get("/oauth/clients", params={"limit": 3})).json()
        second = (await admin.get("/oauth/clients", params={"limit": 3, "cursor": first["next_cursor"]})).json()
    assert [one["name"] for one in first["items"] + second["items"]] == ["n2", "n1", "n0", "Client of acme"]
    assert second["next_cursor"] is None


async def test_a_link_signs_its_user_in(rig: Rig, acme: Tenant) -> None:
    async with rig.browser(acme.admin) as admin:
        made = await admin.post(f"/users/{acme.user.id}/sign-in-link")
    assert made.status_code == 201
    url = urlsplit(made.json()["url"])
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{URL}/sign-in/link"
    life = datetime.fromisoformat(made.json()["expires_at"]) - rig.clock()
    assert timedelta(minutes=14) < life <= timedelta(minutes=15)
    consumed = await rig.parts.links.consume(Secret(parse_qs(url.query)["code"][0]))
    assert consumed is not None
    assert consumed[0].user_id == acme.user.id


async def test_there_is_no_link_for_whoever_is_suspended(rig: Rig, acme: Tenant) -> None:
    async with rig.browser(acme.admin) as admin:
        await admin.patch(f"/users/{acme.user.id}", json={"status": "suspended"})
        answer = await admin.post(f"/users/{acme.user.id}/sign-in-link")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
