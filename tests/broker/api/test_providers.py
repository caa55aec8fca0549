"""Providers that administrators add, by the admin API: whole documents, no lost update, nothing leads secrets away."""

import json
from typing import Any

import httpx2
import pytest

from broker.providers import custom
from tests.admin_ui.admin_app import URL, AdminApp, Tenant, provider_document

DOCUMENT = {
    "title": "Acme CRM",
    "console_url": "https://acme.example/apps",
    "docs_url": "https://acme.example/docs/oauth",
    "oauth": {
        "authorize_url": "https://id.acme.example/authorize",
        "token_url": "https://id.acme.example/token",
        "base_scopes": ["offline_access"],
        "refresh": {"profile": "grace", "grace_seconds": 30},
        "revoke": {"url": "https://id.acme.example/revoke"},
    },
    "account": {"source": "url", "url": "https://api.acme.example/me", "id": "/id", "name": ["/email"]},
}
CRM = "/providers/acme_crm"


def with_oauth(**changed: Any) -> dict[str, Any]:
    return {**DOCUMENT, "oauth": {**DOCUMENT["oauth"], **changed}}


async def put(admin: httpx2.AsyncClient, document: Any, version: int | None = None, path: str = CRM) -> httpx2.Response:
    body = {"document": document} | ({} if version is None else {"version": version})
    return await admin.put(path, json=body)


async def register(admin: httpx2.AsyncClient, **more: Any) -> httpx2.Response:
    asked = {"provider": "acme_crm", "client_id": "id-at-acme", "client_secret": "c0x-Lq2vN8rWt5zYb7-of-provider-tests"}
    return await admin.put("/oauth-clients", json={**asked, **more})


async def test_a_provider_is_added_read_changed_and_removed(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        made = await put(admin, DOCUMENT)
        assert made.status_code == 201, made.text
        told = made.json()
        assert (told["document"], told["version"], told["origin"]) == (DOCUMENT, 1, "custom")
        assert told["redirect_uri"] == f"{URL}/connect/callback/acme_crm"
        assert told["docs_url"] == DOCUMENT["docs_url"]
        assert told["usage"] == {"clients": 0, "accounts": 0, "credentials": 0}
        assert (await admin.get(CRM)).json() == told
        same = await put(admin, DOCUMENT)
        assert (same.status_code, same.json()) == (200, told)  # asked again, nothing happens
        other = {**DOCUMENT, "title": "Acme"}
        unseen = await put(admin, other)
        assert (unseen.status_code, unseen.json()["code"]) == (409, "conflict")
        assert "version" in unseen.json()["detail"]
        changed = await put(admin, other, 1)
        assert (changed.status_code, changed.json()["version"], changed.json()["title"]) == (200, 2, "Acme")
        late = await put(admin, {**DOCUMENT, "title": "Somebody else's"}, 1)
        assert late.status_code == 409, "an update would be lost"
        assert (await admin.delete(CRM)).status_code == 204
        assert (await admin.delete(CRM)).status_code == 404
        assert (await admin.get(CRM)).status_code == 404
        assert (await put(admin, DOCUMENT, 2)).status_code == 404
        await app.seal()
        kinds = [one["kind"] for one in (await admin.get("/audit", params={"kind": "provider"})).json()["items"]]
    assert kinds == ["provider.removed", "provider.set", "provider.set", "provider.set"]


async def test_the_list_says_where_each_comes_from_and_pages(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    seen: dict[str, Any] = {}
    async with app.browser(acme.admin) as admin, app.browser(globex.admin) as stranger:
        await put(admin, DOCUMENT)
        await app.execute("UPDATE vault.providers SET document = '{\"title\": 7}' WHERE id = 'vendor_of_acme'")
        cursor: str | None = None
        while True:
            page = (await admin.get("/providers", params={"limit": 5, **({"cursor": cursor} if cursor else {})})).json()
            seen |= {one["id"]: one for one in page["items"]}
            if (cursor := page["next_cursor"]) is None:
                break
        whole = (await admin.get("/providers/vendor_of_acme")).json()
        assert (await stranger.get(CRM)).status_code == 404
        assert "acme" not in (await stranger.get("/providers", params={"limit": 200})).text
    assert list(seen) == sorted(seen)
    assert {one for one, told in seen.items() if told["origin"] == "custom"} == {"acme_crm", "vendor_of_acme"}
    broken = seen["vendor_of_acme"]
    assert "vendor_of_acme.title" in broken["problem"]
    assert (broken["oauth"], broken["redirect_uri"]) == (False, None)
    assert (whole["document"], whole["problem"]) == ({"title": 7}, broken["problem"])
    assert all(one["docs_url"] for one in seen.values() if one["origin"] == "built_in" and one["console_url"])


async def test_one_of_mcpists_own_is_read_and_neither_changed_nor_removed(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        whole = (await admin.get("/providers/github")).json()
        assert (whole["origin"], whole["version"]) == ("built_in", None)
        assert whole["document"]["oauth"]["refresh"]["profile"] == "strict"
        copy = {**whole["document"], "modules": {}}
        assert (await put(admin, copy, path="/providers/my_github")).status_code == 201
        for answer in (await put(admin, DOCUMENT, path="/providers/github"), await admin.delete("/providers/github")):
            assert answer.status_code == 400
            assert "github is a built-in provider" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({**DOCUMENT, "made_up": 1}, "acme_crm.made_up: there is no such key"),
        ({"title": "x"}, "give oauth, key, or both"),
        (with_oauth(token_url="http://id.acme.example/token"), "acme_crm.oauth.token_url"),
        (with_oauth(token_url="https://127.0.0.1/token"), "acme_crm.oauth.token_url"),
        (with_oauth(token_url="https://ada:pw@id.acme.example/token"), "acme_crm.oauth.token_url"),
        (with_oauth(registration_url="https://localhost/register"), "acme_crm.oauth.registration_url"),
        (with_oauth(client_documents=True, pkce="none"), "client_documents requires pkce = S256"),
        (with_oauth(token_headers={"X-Api-Key": "x"}), "acme_crm.oauth.token_headers"),
        (with_oauth(code_params={"client_secret": "x"}), "secrets belong to the OAuth client"),
        (with_oauth(client_secret="x"), "acme_crm.oauth.client_secret: there is no such key"),
        ({**DOCUMENT, "modules": {"nowhere": {}}}, "acme_crm.modules.nowhere: there is no module of that name"),
        ({**DOCUMENT, "id": "other"}, "acme_crm.id"),
        (with_oauth(authorize_params={"x": "\0"}), "cannot be stored"),
        (with_oauth(authorize_params={"x": "\ud800"}), "acme_crm.oauth.authorize_params.x"),
        (with_oauth(base_scopes=["s" * 190 + str(n) for n in range(190)]), "at most 32 KiB"),
    ],
)
async def test_what_is_wrong_is_named_and_not_stored(app: AdminApp, acme: Tenant, document: Any, told: str) -> None:
    async with app.browser(acme.admin) as admin:
        headers = {"Content-Type": "application/json"}
        answer = await admin.put(CRM, content=json.dumps({"document": document}), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.text
        assert told in answer.json()["detail"]
        assert (await admin.get(CRM)).status_code == 404


async def test_what_stands_on_a_provider_keeps_it_there_and_at_its_hosts(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        await put(admin, DOCUMENT)
        client = (await register(admin)).json()["id"]
        assert (await admin.get(CRM)).json()["usage"]["clients"] == 1
        refused = await admin.delete(CRM)
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert "1 OAuth client, 0 accounts, 0 credentials" in refused.json()["detail"]
        assert "mcpist oauth-client remove" in refused.json()["detail"]
        for document, key in (
            (with_oauth(token_url="https://evil.example/token"), "acme_crm.oauth.token_url"),
            (with_oauth(revoke={"url": "https://evil.example/r"}), "acme_crm.oauth.revoke.url"),
            (
                {**DOCUMENT, "account": {**DOCUMENT["account"], "url": "https://evil.example/me"}},
                "acme_crm.account.url",
            ),
            (
                with_oauth(token_url="{host}/token")
                | {"settings": {"host": {"title": "x", "kind": "origin", "default": "https://evil.example"}}},
                "acme_crm.settings.host.default",
            ),
        ):
            moved = await put(admin, document, 1)
            assert (moved.status_code, key in moved.json()["detail"]) == (409, True), moved.text
        stays = with_oauth(token_url="https://id.acme.example/v2/token", base_scopes=["offline_access", "email"])
        assert (await put(admin, stays, 1)).status_code == 200
        assert (await admin.delete(f"/oauth-clients/{client}")).status_code == 200
        assert (await put(admin, with_oauth(token_url="https://evil.example/token"), 2)).status_code == 200
        assert (await admin.delete(CRM)).status_code == 204


async def test_a_stored_secret_does_not_follow_a_setting_to_another_host(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        asked = {"provider": "github", "client_id": "Iv1.made-up", "client_secret": "c0x-Lq2vN8rWt5zYb7"}
        assert (await admin.put("/oauth-clients", json=asked)).status_code == 200
        elsewhere = {"provider": "github", "client_id": "Iv1.made-up", "settings": {"base_url": "https://evil.example"}}
        refused = await admin.put("/oauth-clients", json=elsewhere)
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert "github.oauth.token_url would be at another host" in refused.json()["detail"]
        given_anew = {**elsewhere, "client_secret": "r9f-Kp4mD1sXj6hVe3"}
        assert (await admin.put("/oauth-clients", json=given_anew)).status_code == 200


async def test_there_are_not_endlessly_many(app: AdminApp, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom, "MAX_CUSTOM_PROVIDERS", 2)
    async with app.browser(acme.admin) as admin:
        assert (await put(admin, provider_document("second"), path="/providers/second")).status_code == 201
        refused = await put(admin, provider_document("third"), path="/providers/third")
        assert (refused.status_code, "limit of 2 providers" in refused.text) == (409, True)


@pytest.mark.parametrize("url", ["https://127.0.0.1", "https://localhost", "http://example.com", "x", "https://[::1]/"])
async def test_discovery_asks_only_where_it_may(app: AdminApp, acme: Tenant, url: str) -> None:
    async with app.browser(acme.admin) as admin:
        answer = await admin.post("/providers/discover", json={"url": url})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.text


async def test_discovery_has_a_limit_of_its_own(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        codes = [(await admin.post("/providers/discover", json={"url": "x"})).status_code for _ in range(25)]
    assert codes[:20] == [400] * 20
    assert 429 in codes[20:]


async def test_only_administrators_see_or_change_providers(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as user:
        answers = [
            await user.get("/providers"),
            await user.get("/providers/github"),
            await put(user, DOCUMENT),
            await user.delete("/providers/vendor_of_acme"),
            await user.post("/providers/discover", json={"url": "https://acme.example"}),
        ]
    assert [one.status_code for one in answers] == [403] * 5
