"""Two tenants with the same names, and people who ask for what is not theirs."""

from core.directory.roles import find_role
from tests.broker.connect.connect_app import ConnectApp, parameters, provider_document, shown


async def test_a_role_of_another_tenant_is_nobody_s_to_share_with(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    admin = await app.person("admin@acme.test", admin=True)
    foreign = await app.person("admin@evil.test", "evil", admin=True)
    role = await find_role(app.product.console, ada.tenant.id, ada.email)
    async with app.browser(admin) as browser:
        await browser.connect(role=str(role.id))
    for stranger in (foreign, ada):
        async with app.browser(stranger) as browser:
            fields = {"role": str(role.id)}
            assert (await browser.get(f"/connect/shop?role={role.id}")).status_code == 404
            assert (await browser.post("/connect/shop", provider="vendor", **fields)).status_code == 404
            assert (await browser.post("/connect/kiosk/key", key="a-key", **fields)).status_code == 404
            assert (await browser.post("/connect/shop/disconnect", **fields)).status_code == 404
    (account,) = await app.accounts()
    assert (account["role_id"], account["status"]) == (role.id, "active")
    assert (await app.revoked(), app.shop.asked) == (0, [])


async def test_each_tenant_s_own_client_and_provider(app: ConnectApp) -> None:
    """The same provider's name in two tenants: each goes to its own server, with its own client."""
    ada, eve = await app.person("ada@acme.test"), await app.person("eve@evil.test", "evil")
    await app.provider(eve.tenant, "vendor", provider_document(app.other))
    await app.register(eve.tenant, "vendor", app.other.client_id, app.other.client_secret)
    async with app.browser(ada) as mine, app.browser(eve) as hers:
        url, other = await mine.start(), await hers.start()
    assert (url.startswith(app.vendor.issuer), other.startswith(app.other.issuer)) == (True, True)
    assert parameters(url)["client_id"] == app.vendor.client_id
    assert parameters(other)["client_id"] == app.other.client_id


async def test_the_redirect_uri_to_copy_is_shown_to_administrators(app: ConnectApp) -> None:
    ada, admin = await app.person("ada@acme.test"), await app.person("admin@acme.test", admin=True)
    await app.execute("DELETE FROM vault.oauth_clients WHERE tenant_id = $1", ada.tenant.id)
    uri = f"{app.url}/connect/callback/vendor"
    async with app.browser(admin) as browser:
        page = await browser.get("/connect/shop")
        assert f"<code>{uri}</code>" in page.text
        assert "mcpist oauth-client set vendor" in shown(page)
    async with app.browser(ada) as browser:
        page = await browser.get("/connect/shop")
        assert uri not in page.text
        assert "Your administrator has to register an app" in shown(page)
        assert (await browser.post("/connect/shop", provider="vendor")).status_code == 404
