"""Trusted issuers over the API: who may trust one, and in which tenant it counts."""

from datetime import timedelta
from typing import Any

import pytest

from tests.admin_ui.admin_app import AdminApp, Tenant

IDP = {"issuer": "https://idp.example/tenant", "jwks_uri": "https://idp.example/keys"}
REMOVED = {"issuer": IDP["issuer"]}


async def test_an_issuer_from_trusting_to_removing(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        trusted = await admin.put("/oauth/issuers", json=IDP)
        assert trusted.status_code == 200
        app.clock.ahead = timedelta(minutes=1)
        changed = await admin.put("/oauth/issuers", json=IDP | {"jwks_uri": "https://idp.example/new"})
        assert changed.json() == trusted.json() | {"jwks_uri": "https://idp.example/new"}, "trusted since then"
        assert (await admin.get("/oauth/issuers")).json()["items"] == [changed.json()]
        assert (await admin.delete("/oauth/issuers", params=REMOVED)).status_code == 204
        assert (await admin.delete("/oauth/issuers", params=REMOVED)).status_code == 404
        assert (await admin.get("/oauth/issuers")).json()["items"] == []
        await app.seal()
        events = (await admin.get("/audit", params={"kind": "issuer"})).json()["items"]
    assert {event["actor"] for event in events} == {acme.admin.email}
    assert len(events) == 3


async def test_an_issuer_counts_in_its_own_tenant(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    async with app.browser(acme.admin) as admin, app.browser(globex.admin) as foreign:
        assert (await admin.put("/oauth/issuers", json=IDP)).status_code == 200
        assert (await foreign.get("/oauth/issuers")).json()["items"] == []
        assert (await foreign.delete("/oauth/issuers", params=REMOVED)).status_code == 404
        assert (await foreign.put("/oauth/issuers", json=IDP | {"jwks_uri": "https://evil.example/keys"})).is_success
        (listed,) = (await admin.get("/oauth/issuers")).json()["items"]
    assert listed["jwks_uri"] == IDP["jwks_uri"]


async def test_only_administrators_with_a_recent_sign_in_trust_one(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as user:
        for refused in (
            await user.get("/oauth/issuers"),
            await user.put("/oauth/issuers", json=IDP),
            await user.delete("/oauth/issuers", params=REMOVED),
        ):
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    async with app.script(acme.admin.token) as script, app.browser(acme.admin) as browser:
        assert (await script.put("/oauth/issuers", json=IDP)).json()["code"] == "recent_sign_in_required"
        app.clock.ahead = timedelta(minutes=11)
        assert (await browser.put("/oauth/issuers", json=IDP)).json()["code"] == "recent_sign_in_required"
    assert not await app.value("SELECT count(*) FROM auth.trusted_issuers")


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "idp"},
        {"issuer": ""},
        {"issuer": "https://idp.example/" + "x" * 500},
        {"issuer": "https://idp.example/a\x00"},
        {"issuer": "https://idp.example?x"},
        {"jwks_uri": "http://10.0.0.1/"},
        {"jwks_uri": "https://localhost/keys"},
        {"jwks_uri": ""},
        {"since": "2020-01-01T00:00:00Z"},
    ],
)
async def test_what_cannot_be_trusted(app: AdminApp, acme: Tenant, change: dict[str, Any]) -> None:
    async with app.browser(acme.admin) as admin:
        refused = await admin.put("/oauth/issuers", json=IDP | change)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")


async def test_an_issuer_whose_metadata_cannot_be_read(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        away = await admin.put("/oauth/issuers", json={"issuer": "http://127.0.0.1:9"})
        assert (away.status_code, away.json()["code"]) == (503, "unavailable")
        assert (await admin.delete("/oauth/issuers")).status_code == 400, "the issuer is not named"


async def test_pages_of_issuers_hold_each_once(app: AdminApp, acme: Tenant) -> None:
    names = [f"https://{letter}.example" for letter in "cab"]
    async with app.browser(acme.admin) as admin:
        for name in names:
            assert (await admin.put("/oauth/issuers", json=IDP | {"issuer": name})).status_code == 200
        first = (await admin.get("/oauth/issuers", params={"limit": 2})).json()
        second = (await admin.get("/oauth/issuers", params={"limit": 2, "cursor": first["next_cursor"]})).json()
        wrong = await admin.get("/oauth/issuers", params={"cursor": "x"})
    assert [trusted["issuer"] for trusted in first["items"] + second["items"]] == sorted(names)
    assert second["next_cursor"] is None
    assert wrong.status_code == 400
