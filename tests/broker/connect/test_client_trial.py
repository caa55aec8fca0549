"""The test of an OAuth client at its provider, through the admin API and a real token endpoint."""

from tests.broker.connect.connect_app import ConnectApp

WRONG = "none-of-theirs-77"


async def test_a_client_is_tested_without_a_person(app: ConnectApp) -> None:
    tenant, admin = await app.tenant(), await app.person("ada@acme.test", admin=True)
    user, foreign = await app.person("ben@acme.test"), await app.person("eve@umbrella.test", "umbrella", admin=True)
    client = await app.register(tenant, "vendor", app.vendor.client_id, app.vendor.client_secret)
    path = f"/oauth-clients/{client}/test"
    async with app.api(admin) as api, app.api(user) as users, app.api(foreign) as theirs:
        works = await api.post(path)
        assert (works.status_code, works.json()["outcome"], works.json()["cause"]) == (200, "ok", "")
        await app.register(tenant, "vendor", app.vendor.client_id, WRONG)
        refused = await api.post(path)
        assert (refused.json()["outcome"], refused.json()["cause"]) == ("failed", "client_refused")
        assert "refuses the client ID or its secret" in refused.json()["message"]
        assert WRONG not in refused.text
        [listed] = [one for one in (await api.get("/oauth-clients")).json()["items"] if one["provider"] == "vendor"]
        assert (listed["state"], listed["cause"]) == ("misconfigured", "client_refused")
        await app.register(tenant, "vendor", app.vendor.client_id, app.vendor.client_secret)
        assert (await api.post(path)).json()["outcome"] == "ok"
        [listed] = [one for one in (await api.get("/oauth-clients")).json()["items"] if one["provider"] == "vendor"]
        assert listed["state"] == "ok", "an accepted client is used again"
        assert (await users.post(path)).status_code == 403
        assert (await theirs.post(path)).status_code == 404
    await app.nothing_stored()


async def test_a_tenant_cannot_make_us_ask_without_end(app: ConnectApp) -> None:
    tenant, admin = await app.tenant(), await app.person("ada@acme.test", admin=True)
    client = await app.register(tenant, "vendor", app.vendor.client_id, app.vendor.client_secret)
    async with app.api(admin) as api:
        answers = [(await api.post(f"/oauth-clients/{client}/test")).status_code for _ in range(22)]
    assert answers[0] == 200
    assert answers[-1] == 429
