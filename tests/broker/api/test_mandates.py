"""What works in somebody's absence, as they and their administrators see and end it."""

from datetime import datetime, timedelta

from tests.admin_ui.admin_app import AdminApp, Tenant


async def test_a_person_sees_and_revokes_their_own(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as browser:
        (one,) = (await browser.get("/mandates")).json()["items"]
        assert (one["id"], one["user_email"]) == (str(acme.user.mandate_id), acme.user.email)
        assert (one["purpose"], one["title"], one["tools"], one["client"]) == (
            "job",
            "Count stars",
            ["kg.search"],
            "Claude",
        )
        made, ends = datetime.fromisoformat(one["created_at"]), datetime.fromisoformat(one["expires_at"])
        assert (one["last_used_at"], one["consented_at"], ends - made) == (None, one["created_at"], timedelta(days=1))
        assert (await browser.delete(f"/mandates/{acme.admin.mandate_id}")).status_code == 404
        assert (await browser.delete(f"/mandates/{acme.user.mandate_id}")).status_code == 204
        assert (await browser.delete(f"/mandates/{acme.user.mandate_id}")).status_code == 404
        assert (await browser.get("/mandates")).json()["items"] == []
        for query in ({"user": str(acme.admin.id)}, {"all_owners": "true"}):
            assert (await browser.get("/mandates", params=query)).status_code == 403
    end = await app.value("SELECT end_reason FROM auth.mandates WHERE id = $1", acme.user.mandate_id)
    assert end == "revoked"


async def test_administrators_see_and_revoke_those_of_their_tenant(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    async with app.browser(acme.admin) as browser:
        of_user = (await browser.get("/mandates", params={"user": str(acme.user.id)})).json()["items"]
        assert [one["id"] for one in of_user] == [str(acme.user.mandate_id)]
        everybodys = (await browser.get("/mandates", params={"all_owners": "true"})).json()["items"]
        assert {one["id"] for one in everybodys} == {str(acme.user.mandate_id), str(acme.admin.mandate_id)}
        assert (await browser.delete(f"/mandates/{acme.user.mandate_id}")).status_code == 204
        assert (await browser.delete(f"/mandates/{globex.user.mandate_id}")).status_code == 404


async def test_many_come_in_pages(app: AdminApp, acme: Tenant) -> None:
    more = [await app.mandate(acme.id, acme.user.id) for _ in range(4)]
    async with app.script(acme.user.token) as script:
        seen: list[str] = []
        cursor: str | None = None
        while True:
            query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
            page = (await script.get("/mandates", params=query)).json()
            seen += [one["id"] for one in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
    assert sorted(seen) == sorted(str(one) for one in [acme.user.mandate_id, *more])
    assert seen[-1] == str(acme.user.mandate_id)
