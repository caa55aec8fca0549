"""What the profile page needs of sessions, connected applications and API tokens."""

from datetime import datetime, timedelta

from tests.admin_ui.admin_app import OWN_CLIENT, AdminApp, Tenant

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"


async def test_a_session_tells_where_it_is_from_and_when_it_ends(app: AdminApp, acme: Tenant) -> None:
    await app.parts.sessions.begin(acme.id, acme.user.id, "google", "203.0.113.9", FIREFOX)
    async with app.browser(acme.user) as browser:
        newest, own = (await browser.get("/sessions")).json()["items"]
    assert (newest["browser"], newest["address"], newest["method"]) == ("Firefox, Windows", "203.0.113.9", "google")
    assert (newest["current"], own["current"], own["browser"]) == (False, True, "a")
    seen, idle, end = (
        datetime.fromisoformat(newest[name]) for name in ("last_seen_at", "idle_expires_at", "expires_at")
    )
    assert idle - seen == timedelta(minutes=30)
    assert end > idle


async def test_idle_time_never_goes_beyond_the_end(app: AdminApp, acme: Tenant) -> None:
    await app.execute("UPDATE auth.sessions SET expires_at = last_seen_at + interval '5 minutes'")
    async with app.browser(acme.user) as browser:
        (own,) = (await browser.get("/sessions")).json()["items"]
    assert own["idle_expires_at"] == own["expires_at"]


async def test_a_token_knows_itself_its_end_and_its_last_use(app: AdminApp, acme: Tenant) -> None:
    async with app.script(acme.user.token) as script, app.browser(acme.user) as browser:
        (token,) = (await script.get("/tokens")).json()["items"]
        assert (token["current"], token["expires_at"]) == (True, None)
        (seen,) = (await browser.get("/tokens")).json()["items"]
        assert (seen["current"], seen["id"]) == (False, token["id"])


async def test_a_grant_knows_itself(app: AdminApp, acme: Tenant) -> None:
    access = app.access_token(acme.user, OWN_CLIENT)
    async with app.script(access) as client, app.browser(acme.user) as browser:
        assert [one["current"] for one in (await client.get("/oauth/grants")).json()["items"]] == [True]
        assert [one["current"] for one in (await browser.get("/oauth/grants")).json()["items"]] == [False]
