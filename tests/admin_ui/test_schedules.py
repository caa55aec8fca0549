"""Schedules as the control plane lists them, and whom their changes are told to."""

from uuid import UUID

import pytest

from tests.admin_ui.admin_app import AdminApp, Tenant
from tests.admin_ui.test_directory import everything
from tests.admin_ui.test_events import Live, live
from tests.admin_ui.test_jobs import shown

__all__ = ["live"]


async def test_schedules_are_filtered_and_sorted(app: AdminApp, acme: Tenant) -> None:
    made: list[UUID] = []
    for module in ("kg", "shop", "kg"):
        made.append(await app.schedule(acme.user))
        await app.execute("UPDATE jobs.schedules SET module = $2 WHERE id = $1", made[-1], module)
    async with app.browser(acme.user) as user:
        assert shown(await everything(user, "/schedules")) == [str(one) for one in reversed(made)]
        assert shown(await everything(user, "/schedules", sort="created_at")) == [str(one) for one in made]
        assert shown(await everything(user, "/schedules", module="shop")) == [str(made[1])]
        assert shown(await everything(user, "/schedules", module="kg", state="active")) == []
        assert (await user.get("/schedules", params={"sort": "title"})).status_code == 400


@pytest.mark.guarantee("G9")
async def test_a_change_by_an_administrator_is_told_to_its_person(live: Live, acme: Tenant) -> None:
    globex = await live.app.tenant("globex")
    schedule_id = await live.app.schedule(acme.user)
    await live.app.seal()
    async with (
        live.stream(acme.user) as user,
        live.stream(globex.admin) as stranger,
        live.app.browser(acme.admin) as admin,
    ):
        for stream in (user, stranger):
            await stream.until("ready")
        assert (await admin.post(f"/schedules/{schedule_id}/pause")).status_code == 200
        await live.app.seal()
        told = (await user.next())["data"]
        assert (told["resource"], told["object_id"]) == ("schedules", str(schedule_id))
        with pytest.raises(TimeoutError):
            await stranger.next(1)
