"""A key in the place of an account that was connected by OAuth: the new is there before the old one ends."""

from broker.interface import Lease, LeaseRequest
from core.secret import Secret
from tests.broker.connect.connect_app import ConnectApp, provider_document, shown

REFUSE = """CREATE FUNCTION vault.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'no disk'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON vault.credentials FOR EACH ROW EXECUTE FUNCTION vault.refuse()"""


async def with_keys(app: ConnectApp) -> None:
    """Let the vendor's shop be connected by keys, too."""
    key = {
        "scheme": "bearer",
        "check_url": f"{app.shop.url}/me",
        "id": "/name",
        "name": ["/name"],
        "help_url": "https://vendor.test/keys",
    }
    await app.provider(await app.tenant(), "vendor", provider_document(app.vendor, key=key))
    app.shop.tokens["good-key"] = "ada@vendor.test"


async def test_the_key_is_stored_and_then_the_account_ends(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*", "till.*"])
    request = LeaseRequest(Secret(ada.token), "shop", "look")
    await with_keys(app)
    await app.vendor.sign_in_as("ada", email="ada@vendor.test")
    async with app.browser(ada) as browser:
        await browser.connect()
        before = await app.accounts()
        await app.execute(REFUSE)
        assert (await browser.post("/connect/shop/key", key="good-key")).status_code == 500
        assert await app.accounts() == before
        assert (await app.vendor.told())["counters"].get("grant_revoked", 0) == 0
        await app.execute("DROP TRIGGER refuse ON vault.credentials")
        assert "Shop is connected" in shown(await browser.follow("/connect/shop/key", key="good-key"))
    (row,) = await app.rows("SELECT type, account_id FROM vault.credentials")
    assert (row["type"], row["account_id"], await app.accounts()) == ("A", None, [])
    assert (await app.vendor.told())["counters"]["grant_revoked"] == 1
    lease = await app.identity.zone.broker.lease(request)
    assert isinstance(lease, Lease)
    assert lease.access_token.reveal() == "good-key"


async def test_what_else_uses_the_account_keeps_it(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*", "till.*"])
    await with_keys(app)
    await app.vendor.sign_in_as("ada", email="ada@vendor.test")
    async with app.browser(ada) as browser:
        await browser.connect(**{"also.till": "on"})
        assert "Shop is connected" in shown(await browser.follow("/connect/shop/key", key="good-key"))
        assert "Connected as ada@vendor.test" in shown(await browser.get("/connect/till"))
    assert len(await app.accounts()) == 1
    assert (await app.vendor.told())["counters"].get("grant_revoked", 0) == 0


async def test_another_account_s_key_is_asked_about_first(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*"])
    await with_keys(app)
    app.shop.tokens["other-key"] = "eve@vendor.test"
    await app.vendor.sign_in_as("ada", email="ada@vendor.test")
    async with app.browser(ada) as browser:
        await browser.connect()
        assert "That is another account" in shown(await browser.follow("/connect/shop/key", key="other-key"))
        # An account without a name may be anybody's.
        await app.execute("UPDATE vault.accounts SET account = ''")
        await app.execute("UPDATE vault.credentials SET account = ''")
        page = await browser.follow("/connect/shop/key", key="good-key")
        assert "connected so far is an account without a name" in shown(page)
        page = await browser.follow("/connect/shop/key", key="good-key", replace="on")
        assert "Shop is connected" in shown(page)
