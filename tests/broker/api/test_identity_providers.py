"""Identity providers over the API: for the operator alone, write-only secrets, those of the file read-only."""

from datetime import timedelta
from typing import Any

from tests.admin_ui.admin_app import OPERATORS, URL, AdminApp, Tenant

PATH = "/deployment/identity-providers"
SECRET = "a-client-secret-of-the-tests"
ACME: dict[str, Any] = {
    "kind": "oidc",
    "issuer": "https://localhost",
    "client_id": "mcpist",
    "client_secret": SECRET,
    "despite_failures": True,
}


async def test_a_provider_from_stored_to_removed(app: AdminApp) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        refused = await operator.put(f"{PATH}/acme", json=ACME | {"despite_failures": False})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
        assert "metadata: its address may not be reached" in refused.json()["detail"]
        saved = (await operator.put(f"{PATH}/acme", json=ACME)).json()
        assert saved["provider"]["redirect_uri"] == f"{URL}/sign-in/callback/acme"
        assert [check["outcome"] for check in saved["checks"]] == ["failed"]
        kept = await operator.put(f"{PATH}/acme", json=ACME | {"client_secret": None, "label": "Acme"})
        assert kept.json()["provider"]["label"] == "Acme"
        listed = await operator.get(PATH)
        assert [(one["id"], one["source"]) for one in listed.json()["items"]] == [
            ("of-the-file", "file"),
            ("acme", "database"),
        ]
        paged = [(await operator.get(PATH, params={"limit": 1})).json()]
        paged.append((await operator.get(PATH, params={"limit": 1, "cursor": paged[0]["next_cursor"]})).json())
        assert [page["items"][0]["id"] for page in paged] == ["of-the-file", "acme"]
        assert paged[1]["next_cursor"] is None
        assert (await operator.delete(f"{PATH}/acme")).status_code == 204
        assert (await operator.delete(f"{PATH}/acme")).status_code == 404
        await app.seal()
        events = await operator.get("/deployment/audit")
    assert "identity_provider.set" in events.text
    for answer in (refused, kept, listed, events):
        assert SECRET not in answer.text


async def test_providers_are_searched(app: AdminApp) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        for words, count in (("github IV1", 1), ("OF-THE-FILE", 1), ("company", 0)):
            found = await operator.get("/deployment/identity-providers", params={"q": words})
            assert len(found.json()["items"]) == count, words


async def test_what_the_file_has_is_changed_there(app: AdminApp) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        for answer in (
            await operator.put(f"{PATH}/of-the-file", json=ACME),
            await operator.delete(f"{PATH}/of-the-file"),
        ):
            assert (answer.status_code, "identity.toml" in answer.json()["detail"]) == (409, True)


async def test_bad_settings_are_named_and_never_repeated(app: AdminApp) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        for change, named in (
            ({"issuer": ""}, "issuer is missing"),
            ({"issuer": "http://login.acme.example"}, "issuer"),
            ({"issuer": "", "kind": "microsoft", "tenant": "common"}, "one directory"),
            ({"client_secret": None}, "client_secret is missing"),
            ({"client_secret": "blank "}, "client_secret"),
            ({"kind": "github"}, "issuer is not a key of kind github"),
            ({"client_secret": "s" * 2001}, "client_secret"),
        ):
            for path, method, body in (
                (f"{PATH}/test", "POST", {"id": "new", **ACME, **change}),
                (f"{PATH}/new", "PUT", {**ACME, **change}),
            ):
                body = {name: value for name, value in body.items() if name != "despite_failures" or method == "PUT"}
                answer = await operator.request(method, path, json=body)
                assert answer.status_code == 400, answer.text
                assert named in answer.text
                assert SECRET not in answer.text
    assert not await app.value("SELECT count(*) FROM auth.deployment_settings")


async def test_nobody_but_the_operator_and_only_with_a_recent_sign_in(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(acme.admin) as admin:
        for answer in (await admin.get(PATH), await admin.put(f"{PATH}/acme", json=ACME)):
            assert answer.status_code == 403
    async with app.browser(operators.admin) as operator:
        app.clock.ahead = timedelta(minutes=11)
        assert (await operator.put(f"{PATH}/acme", json=ACME)).json()["code"] == "recent_sign_in_required"
        assert (await operator.get(PATH)).status_code == 200


async def test_two_operators_store_a_provider_at_once(app: AdminApp) -> None:
    operators = await app.tenant(OPERATORS)
    new = {"If-Match": '"v0"'}
    async with app.browser(operators.admin) as operator:
        first = await operator.put(f"{PATH}/acme", json=ACME, headers=new)
        assert (first.status_code, first.headers["etag"]) == (200, '"v1"')
        assert (await operator.put(f"{PATH}/acme", json=ACME, headers=new)).status_code == 412
        read = await operator.get(f"{PATH}/acme")
        assert (read.headers["etag"], read.json()) == ('"v1"', first.json()["provider"])
        await operator.put(f"{PATH}/acme", json=ACME | {"label": "Theirs"}, headers={"If-Match": '"v1"'})
        late = await operator.put(f"{PATH}/acme", json=ACME | {"label": "Mine"}, headers={"If-Match": '"v1"'})
        assert (late.status_code, late.json()["current"]["etag"]) == (412, '"v2"')
        assert late.json()["current"]["state"]["label"] == "Theirs"
        of_file = await operator.get(f"{PATH}/of-the-file")
        assert (of_file.json()["source"], "etag" in of_file.headers) == ("file", False)
        assert (await operator.get(f"{PATH}/nobody")).status_code == 404
        wrong = await operator.put(f"{PATH}/acme", json=ACME | {"issuer": "http://login.acme.example"})
        assert [one["field"] for one in wrong.json()["errors"]] == ["issuer"]
        assert wrong.json()["detail"].startswith("issuer: give a URL"), "and not by the name of a validator"


async def test_administrators_learn_names_and_no_more(app: AdminApp, acme: Tenant) -> None:
    """To map groups of a provider to roles they need its identifier; what is set for it is the operator's."""
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        assert (await operator.put(f"{PATH}/acme", json=ACME | {"label": "Acme sign-in"})).is_success
    async with app.browser(acme.admin) as admin, app.browser(acme.user) as user:
        listed = await admin.get("/identity-providers")
        assert listed.json()["items"] == [
            {"id": "acme", "label": "Acme sign-in"},
            {"id": "of-the-file", "label": "GitHub"},
        ]
        first = (await admin.get("/identity-providers", params={"limit": 1})).json()
        second = (await admin.get("/identity-providers", params={"limit": 1, "cursor": first["next_cursor"]})).json()
        assert [one["id"] for page in (first, second) for one in page["items"]] == ["acme", "of-the-file"]
        assert (await user.get("/identity-providers")).status_code == 403
