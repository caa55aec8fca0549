"""Jobs of one's own, and of the tenant for administrators: shown without contents, cancelled, tried again, told of."""

import asyncio
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest

from core.db import connect
from core.directory.services import set_service
from tests.admin_ui.admin_app import ACTOR, AdminApp, Tenant
from tests.admin_ui.test_directory import everything
from tests.admin_ui.test_events import Live, live
from tests.support.directory import assign_role

__all__ = ["live"]


def shown(jobs: list[dict[str, Any]]) -> list[str]:
    return [job["id"] for job in jobs]


@pytest.mark.guarantee("G9")
async def test_each_person_sees_their_own_and_administrators_the_tenant_s(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    ids = [str(await app.job(acme.user, "running", "reading secret-repository")) for _ in range(3)]
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin, app.browser(globex.admin) as stranger:
        assert shown(await everything(user, "/jobs")) == ids[::-1]
        assert shown(await everything(user, "/jobs", state="failed")) == []
        assert (await user.get("/jobs", params={"all_owners": "true"})).status_code == 403
        assert shown(await everything(admin, "/jobs")) == [str(acme.job_id)]
        assert shown(await everything(admin, "/jobs", all_owners="true")) == [*ids[::-1], str(acme.job_id)]
        assert shown(await everything(admin, "/jobs", user=str(acme.user.id))) == ids[::-1]
        assert shown(await everything(admin, "/jobs", all_owners="true", sort="created_at")) == [str(acme.job_id), *ids]
        own = (await user.get(f"/jobs/{ids[0]}")).json()
        assert (own["message"], own["client"], own["state"]) == ("reading secret-repository", "a client", "running")
        seen = (await admin.get(f"/jobs/{ids[0]}")).json()
        assert (seen["message"], seen["client"], seen["tool"]) == ("", "", "search")
        for path in (f"/jobs/{ids[0]}", f"/jobs/{uuid4()}"):
            assert (await stranger.get(path)).status_code == 404
        assert (await user.get(f"/jobs/{acme.job_id}")).status_code == 404
        assert shown(await everything(stranger, "/jobs", all_owners="true")) == [str(globex.job_id)]


async def test_jobs_are_named_for_people(app: AdminApp, acme: Tenant) -> None:
    """By the address, and by the titles of module and tool; by their names where these are not installed any more."""
    batch = await app.job(acme.admin)
    await app.execute("UPDATE jobs.jobs SET module = '', tool = '', title = 'Batch of 2 steps' WHERE id = $1", batch)
    gone = await app.job(acme.admin)
    await app.execute("UPDATE jobs.jobs SET module = 'gone', tool = 'lost_tool' WHERE id = $1", gone)
    async with app.browser(acme.admin) as admin:
        listed = (await admin.get("/jobs")).json()["items"]
        titles = [(job["module_title"]["en"], job["tool_title"]["ja"]) for job in listed]
        assert titles == [("gone", "lost_tool"), ("", "バッチ"), ("Graph", "Search")]
        assert {job["user_email"] for job in listed} == {acme.admin.email}
        assert shown(await everything(admin, "/jobs", module="gone")) == [str(gone)]
        scheduled = await app.job(acme.user)
        await app.execute("UPDATE jobs.jobs SET schedule_id = $1, title = 'Pay' WHERE id = $1", scheduled)
        assert (await admin.get(f"/jobs/{scheduled}")).json()["title"] == "", "a person's own words"
        for refused in ({"module": "Gone!"}, {"sort": "title"}, {"cursor": "gA"}, {"cursor": "zwAAAAAAAAAB" * 200}):
            assert (await admin.get("/jobs", params=refused)).status_code in (400, 422), refused


@pytest.mark.guarantee("G9")
async def test_who_may_cancel(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    waiting, running = await app.job(acme.user, "queued"), await app.job(acme.user, "running")
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin, app.browser(globex.admin) as stranger:
        for other, job in ((stranger, waiting), (stranger, running), (user, acme.job_id)):
            assert (await other.post(f"/jobs/{job}/cancellation")).status_code == 404
        cancelled = (await user.post(f"/jobs/{waiting}/cancellation")).json()
        assert (cancelled["state"], cancelled["finished_at"] is None) == ("cancelled", False)
        told = (await admin.post(f"/jobs/{running}/cancellation")).json()
        assert (told["state"], told["is_cancel_requested"]) == ("running", True)
        again = (await admin.post(f"/jobs/{running}/cancellation")).json()
        assert again == told
        await app.seal()
        kinds = [one["kind"] for one in (await admin.get("/audit", params={"limit": 3})).json()["items"]]
    assert kinds.count("job.cancelled") == 2


async def test_a_job_is_tried_again_by_its_person_alone(app: AdminApp, acme: Tenant) -> None:
    failed, running = await app.job(acme.user, "failed"), await app.job(acme.user, "running")
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        assert (await admin.post(f"/jobs/{failed}/retry")).status_code == 404
        refused = await user.post(f"/jobs/{failed}/retry")
        assert (refused.status_code, "may not use a tool of this job" in refused.text) == (409, True)
        assert (await user.get(f"/jobs/{failed}")).json()["state"] == "failed"
        await set_service(app.console, ACTOR, acme.id, "kg", enabled=True)
        await assign_role(app.console, ACTOR, acme.id, acme.user.email, "acme-readers")
        assert (await user.post(f"/jobs/{running}/retry")).status_code == 409
        again = await user.post(f"/jobs/{failed}/retry")
        assert (again.status_code, again.json()["state"]) == (200, "queued")
        assert datetime.fromisoformat(again.json()["expires_at"]) > datetime.fromisoformat(again.json()["updated_at"])
        assert (await user.post(f"/jobs/{failed}/retry")).status_code == 409


@pytest.mark.guarantee("G9")
async def test_changes_are_told_as_they_happen(live: Live, acme: Tenant) -> None:
    globex = await live.app.tenant("globex")
    await live.app.seal()
    async with (
        live.stream(acme.admin) as admin,
        live.stream(acme.user) as user,
        live.stream(globex.admin) as stranger,
    ):
        for stream in (admin, user, stranger):
            await stream.until("ready")
        job = await live.app.job(acme.user, "queued")
        for stream in (admin, user):
            told = await stream.next()
            assert told["data"] == {"resource": "jobs", "kind": "job.queued", "object_id": str(job), "request_id": ""}
            assert "id" not in told
        await live.app.job(acme.admin, "queued")
        assert (await admin.next())["data"]["resource"] == "jobs"
        with pytest.raises(TimeoutError):
            await user.next(1)
        with pytest.raises(TimeoutError):
            await stranger.next(1)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Until it is set, nobody listens for changes of jobs."""
    gate = asyncio.Event()

    async def connect_late(*given: Any, **options: Any) -> Any:
        await gate.wait()
        return await connect(*given, **options)

    monkeypatch.setattr("jobs.events.connect", connect_late)
    return gate


async def test_a_stream_is_ready_when_announcements_arrive(live: Live, acme: Tenant, gate: asyncio.Event) -> None:
    await live.app.seal()
    asyncio.get_running_loop().call_later(0.3, gate.set)
    async with live.stream(acme.user) as user:
        await user.until("ready")
        assert gate.is_set()
        job = await live.app.job(acme.user, "queued")
        assert (await user.next())["data"]["object_id"] == str(job)


async def test_what_may_have_been_missed_is_told(
    live: Live, acme: Tenant, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("admin_ui.api.event_streams.LISTEN_SECONDS", 0.01)
    await live.app.seal()
    async with live.stream(acme.user) as user:
        await user.until("ready")
        await live.app.job(acme.user, "queued")
        gate.set()
        told = await user.next()
        assert told["data"] == {"resource": "jobs", "kind": "", "object_id": "", "request_id": ""}
        job = await live.app.job(acme.user, "queued")
        assert (await user.next())["data"]["object_id"] == str(job)
