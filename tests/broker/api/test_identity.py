"""Sessions, grants, OAuth clients and one-time links over the API."""

from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from core.secret import Secret
from tests.admin_ui.admin_app import PROOF, URL, AdminApp, Tenant
from tests.admin_ui.test_directory import everything


async def test_one_s_own_sessions_and_which_of_them_asks(app: AdminApp, acme: Tenant) -> None:
    await app.parts.sessions.begin(acme.id, acme.user.id, "other", "192.0.2.9", "another browser")
    async with app.browser(acme.user) as browser, app.script(acme.user.token) as script:
        listed = (await browser.get("/sessions")).json()["items"]
        assert sorted((one["method"], one["current"]) for one in listed) == [("other", False), ("test", True)]
        assert [one["current"] for one in (await script.get("/sessions")).json()["items"]] == [False, False]
        (other,) = [one["id"] for one in listed if not one["current"]]
        assert (await browser.delete(f"/sessions/{other}")).status_code == 204
        assert len((await browser.get("/sessions")).json()["items"]) == 1


async def test_sessions_of_others_are_an_administrator_s_matter(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        assert (await user.delete(f"/sessions/{acme.admin.session_id}")).status_code == 404
        assert (await admin.delete(f"/sessions/{acme.user.session_id}")).status_code == 204
        assert (await user.get("/me")).status_code == 401


async def test_all_sessions_end_at_once(app: AdminApp, acme: Tenant) -> None:
    """One's own, with or without the one that asks; never anybody else's."""
    for number in range(3):
        await app.parts.sessions.begin(acme.id, acme.user.id, f"other{number}")
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        refused = await user.delete("/sessions", params={"user": str(acme.admin.id)})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert len((await user.get("/sessions")).json()["items"]) == 4
        assert (await user.delete("/sessions", params={"keep_current": True})).status_code == 204
        (left,) = (await user.get("/sessions")).json()["items"]
        assert left["current"]
        assert (await user.delete("/sessions")).status_code == 204
        assert (await user.get("/me")).status_code == 401
        assert (await admin.get("/me")).status_code == 200
    async with app.script(acme.user.token) as script:
        assert (await script.get("/me")).status_code == 200, "tokens go on"
        assert (await script.delete("/sessions", params={"keep_current": True})).status_code == 204


async def test_an_administrator_ends_all_sessions_of_a_user_of_their_own_tenant(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    for _ in range(2):
        await app.parts.sessions.begin(acme.id, acme.user.id, "other")
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin, app.browser(globex.admin) as foreign:
        # As for anybody of whom there is none.
        assert (await foreign.delete("/sessions", params={"user": str(acme.user.id)})).status_code == 204
        assert (await user.get("/me")).status_code == 200
        assert (await admin.delete("/sessions", params={"user": str(acme.user.id)})).status_code == 204
        assert (await user.get("/me")).status_code == 401
        assert (await admin.get("/me")).status_code == 200
        await app.seal()
        ended = (await admin.get("/audit", params={"kind": "session"})).json()["items"]
    assert [(one["actor"], one["detail"]["user"]) for one in ended] == [(acme.admin.email, str(acme.user.id))] * 3


async def test_accounts_are_listed_and_untied_but_not_one_s_own_last(app: AdminApp, acme: Tenant) -> None:
    second = await app.account(acme.id, acme.user.id, "more@acme.example")
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        listed = (await user.get("/identities")).json()["items"]
        assert [one["id"] for one in listed] == [str(second), str(acme.user.identity_id)]
        assert (listed[0]["issuer"], listed[0]["email"]) == ("https://idp.example", "more@acme.example")
        of_user = await admin.get("/identities", params={"user": str(acme.user.id)})
        assert of_user.json()["items"] == listed
        assert (await user.get("/identities", params={"user": str(acme.admin.id)})).status_code == 403
        assert (await user.delete(f"/identities/{acme.admin.identity_id}")).status_code == 404
        assert (await user.delete(f"/identities/{second}")).status_code == 204
        assert (await user.delete(f"/identities/{second}")).status_code == 404
        for person, path in ((user, acme.user.identity_id), (admin, acme.admin.identity_id)):
            last = await person.delete(f"/identities/{path}")
            assert (last.status_code, last.json()["code"]) == (409, "conflict")
        assert (await admin.delete(f"/identities/{acme.user.identity_id}")).status_code == 204, "the way back in"
        assert (await user.get("/identities")).json()["items"] == []
        assert (await user.get("/me")).status_code == 200


async def test_untying_takes_a_fresh_sign_in_and_no_token(app: AdminApp, acme: Tenant) -> None:
    second = await app.account(acme.id, acme.user.id, "more@acme.example")
    async with app.script(acme.user.token) as script, app.browser(acme.user) as browser:
        assert (await script.delete(f"/identities/{second}")).json()["code"] == "recent_sign_in_required"
        app.clock.ahead = timedelta(minutes=11)
        assert (await browser.delete(f"/identities/{second}")).json()["code"] == "recent_sign_in_required"
        assert len((await browser.get("/identities")).json()["items"]) == 2


async def test_pages_hold_each_session_grant_and_account_once(app: AdminApp, acme: Tenant) -> None:
    for number in range(4):
        await app.parts.sessions.begin(acme.id, acme.user.id, f"n{number}")
        await app.account(acme.id, acme.user.id, f"n{number}@acme.example")
        code = await app.parts.grants.create_code(app.approval(acme.id, acme.user.id))
        await app.parts.grants.redeem_code(code, PROOF)
    async with app.browser(acme.user) as user:
        sessions = [one["method"] for one in await everything(user, "/sessions")]
        accounts = [one["email"] for one in await everything(user, "/identities")]
        grants = [one["id"] for one in await everything(user, "/oauth/grants")]
    assert sessions == ["n3", "n2", "n1", "n0", "test"]
    assert accounts == [*(f"n{number}@acme.example" for number in (3, 2, 1, 0)), "user@acme.example"]
    assert len(grants) == len(set(grants)) == 5
    assert grants[-1] == str(acme.user.grant_id), "newest first"


async def test_a_grant_is_listed_and_ended(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        (grant,) = (await user.get("/oauth/grants")).json()["items"]
        assert (grant["id"], grant["kind"]) == (str(acme.user.grant_id), "code")
        assert (await user.delete(f"/oauth/grants/{acme.admin.grant_id}")).status_code == 404
        assert (await user.delete(f"/oauth/grants/{grant['id']}")).status_code == 204
        assert (await user.get("/oauth/grants")).json()["items"] == []
        assert (await user.delete(f"/oauth/grants/{grant['id']}")).status_code == 404
        assert len((await admin.get("/oauth/grants")).json()["items"]) == 1


async def test_an_administrator_lists_the_grants_of_everybody(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        assert (await user.get("/oauth/grants", params={"all_owners": True})).status_code == 403
        first = (await admin.get("/oauth/grants", params={"all_owners": True, "limit": 1})).json()
        more = {"all_owners": True, "limit": 1, "cursor": first["next_cursor"]}
        second = (await admin.get("/oauth/grants", params=more)).json()
        assert second["next_cursor"] is None, "those of another tenant are not among them"
        owners = [one["user_email"] for one in (*first["items"], *second["items"])]
        assert sorted(owners) == sorted([acme.admin.email, acme.user.email])


async def test_a_client_from_registering_to_removing(app: AdminApp, acme: Tenant) -> None:
    asked = {"name": "Machine", "auth_method": "client_secret_basic", "grant_types": ["client_credentials"]}
    async with app.browser(acme.admin) as admin:
        made = await admin.post("/oauth/clients", json=asked | {"acts_as_user_id": str(acme.user.id)})
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


async def test_how_large_a_client_s_results_are_can_be_changed(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:

        async def shown() -> tuple[int | None, str | None, bool]:
            newest = (await admin.get("/oauth/clients")).json()["items"][0]
            return newest["result_tokens"], newest["tool_result_format"], newest["disabled_at"] is not None

        asked = {"name": "App", "redirect_uris": ["https://x.example/"], "tool_result_format": "short"}
        made = await admin.post("/oauth/clients", json=asked | {"result_tokens": 4000})
        path = f"/oauth/clients/{made.json()['id']}"
        assert await shown() == (4000, "short", False)
        for change, expected in (
            ({"result_tokens": 20_000}, (20_000, "short", False)),
            ({"enabled": False}, (20_000, "short", True)),
            ({"enabled": True, "result_tokens": None}, (None, "short", False)),
        ):
            assert (await admin.patch(path, json=change)).status_code == 204
            assert await shown() == expected
        for wrong in (0, 199, 50_001, "many"):
            assert (await admin.patch(path, json={"result_tokens": wrong})).status_code == 400, wrong


async def test_what_a_client_is_sent_can_be_changed(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    async with app.browser(acme.admin) as admin:

        async def shown() -> tuple[str | None, bool]:
            newest = (await admin.get("/oauth/clients")).json()["items"][0]
            return newest["tool_result_format"], newest["disabled_at"] is not None

        asked = {"name": "App", "redirect_uris": ["https://x.example/"], "tool_result_format": "short"}
        path = f"/oauth/clients/{(await admin.post('/oauth/clients', json=asked)).json()['id']}"
        assert await shown() == ("short", False)
        for change, expected in (
            ({"tool_result_format": "full"}, ("full", False)),
            ({"enabled": False}, ("full", True)),
            ({"enabled": True, "tool_result_format": None}, (None, False)),
            ({"tool_result_format": "short"}, ("short", False)),
        ):
            assert (await admin.patch(path, json=change)).status_code == 204
            assert await shown() == expected
        for wrong in ({}, {"tool_result_format": "none"}, {"enabled": None}, {"name": "x"}):
            assert (await admin.patch(path, json=wrong)).status_code == 400, wrong
        assert await shown() == ("short", False)
        async with app.browser(globex.admin) as other:
            assert (await other.patch(path, json={"tool_result_format": "full"})).status_code == 404
        async with app.browser(acme.user) as user:
            assert (await user.patch(path, json={"tool_result_format": "full"})).status_code == 403
        assert await shown() == ("short", False)


async def test_a_client_that_does_not_fit_together_is_told_why(app: AdminApp, acme: Tenant) -> None:
    nobody = "3f1c0a7e-0000-4000-8000-000000000000"
    machine = {"auth_method": "client_secret_basic", "grant_types": ["client_credentials"], "acts_as_user_id": nobody}
    wrong = [
        {},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"auth_method": "private_key_jwt", "redirect_uris": ["https://x.example/"]},
        {"auth_method": "private_key_jwt", "redirect_uris": ["https://x.example/"], "jwks": {"keys": ["\x00"]}},
        machine,
    ]
    async with app.browser(acme.admin) as admin:
        for asked in wrong:
            answer = await admin.post("/oauth/clients", json={"name": "x"} | asked)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), asked


async def test_pages_of_clients_hold_each_once(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        for number in range(3):
            asked = {"name": f"n{number}", "redirect_uris": ["https://x.example/"]}
            assert (await admin.post("/oauth/clients", json=asked)).status_code == 201
        first = (await admin.get("/oauth/clients", params={"limit": 3})).json()
        second = (await admin.get("/oauth/clients", params={"limit": 3, "cursor": first["next_cursor"]})).json()
    assert [one["name"] for one in first["items"] + second["items"]] == ["n2", "n1", "n0", "Client of acme"]
    assert second["next_cursor"] is None


async def test_a_link_signs_its_user_in(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        made = await admin.post(f"/users/{acme.user.id}/sign-in-link")
    assert made.status_code == 201
    url = urlsplit(made.json()["url"])
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{URL}/sign-in/link"
    life = datetime.fromisoformat(made.json()["expires_at"]) - app.clock()
    assert timedelta(minutes=14) < life <= timedelta(minutes=15)
    consumed = await app.parts.links.consume(Secret(parse_qs(url.query)["code"][0]))
    assert consumed is not None
    assert consumed[0].user_id == acme.user.id


async def test_there_is_no_link_for_whoever_is_suspended(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        await admin.patch(f"/users/{acme.user.id}", json={"status": "suspended"})
        answer = await admin.post(f"/users/{acme.user.id}/sign-in-link")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
