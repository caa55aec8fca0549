"""Notices at the end of a job: where asked, once, to its person alone, and with nothing of its contents."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
import pytest_asyncio

from broker.notifications.dispatcher import NotificationChannel, NotificationDispatcher
from broker.notifications.mail import MailChannel
from broker.notifications.settings import MailSettings, WebhookSettings
from broker.notifications.webhook import WebhookChannel
from core.directory.users import remove_user
from gateway.tasks.module import NO_SUCH_JOB
from tests.broker.notifications.test_teller import SECRET, Hook, always, hook, reaching
from tests.path.conftest import on_shared_product, with_own_people
from tests.path.test_job_retry import HOURLY, RetryApp, app, shared_app
from tests.support.directory import set_status
from tests.support.eventually import within
from tests.support.mail_server import MailServer, mail_server
from tests.support.product import ACTOR

__all__ = ["app", "shared_app"]

OUTCOMES = "SELECT outcome FROM vault.notices WHERE about = 'job' ORDER BY created_at, closed_at"


@dataclass
class Post:
    """What mails and webhooks say of a product's jobs."""

    app: RetryApp
    server: MailServer
    receiver: Hook
    dispatcher: NotificationDispatcher

    async def end_job(self, notify: str, **params: Any) -> str:
        """A job that has ended, for whose end ada has asked to be told; its id."""
        job_id = await self.app.start(**params)
        answer = await self.app.use("notify_when_done", job_id=job_id, when=notify)
        assert not answer.failed, answer.text
        async with self.app.worker():
            await self.app.wait(job_id)
        return job_id

    async def send(self) -> list[dict[str, Any]]:
        """Send what is due; the webhook's events so far."""
        await self.dispatcher.send_due()
        return [orjson.loads(body) for _, body in self.receiver.got]


@contextlib.asynccontextmanager
async def open_post(app: RetryApp) -> AsyncIterator[Post]:
    with mail_server() as server:
        async with hook() as receiver, reaching(receiver.url) as http:
            sender = MailSettings(server="127.0.0.1", port=server.port, security="none", sender="M <m@mcpist.test>")
            webhook = WebhookSettings(url=receiver.url, secret=SECRET)  # type: ignore[arg-type]
            channels: Sequence[NotificationChannel] = (MailChannel(sender), WebhookChannel(webhook, http))
            zone = app.identity.zone
            dispatcher = NotificationDispatcher(
                zone.database, always(*channels), str.title, "https://mcpist.test", clock=zone.clock
            )
            yield Post(app, server, receiver, dispatcher)


@pytest_asyncio.fixture(loop_scope="module")
async def post(app: RetryApp) -> AsyncIterator[Post]:
    async with open_post(app) as post:
        yield post


@on_shared_product
async def test_a_failure_is_told_once_without_contents(post: Post) -> None:
    job_id = await post.end_job("failure")
    (event,) = await post.send()
    (mail,) = post.server.messages
    assert mail["To"] == "ada@acme.test"
    text = f"{mail['Subject']} {mail.get_content()}"
    assert "Workshop: Fail has failed" in text
    assert "失敗しました" in text
    assert "https://mcpist.test/console/jobs" in text
    assert "wet" not in text, "what it has answered stays here"
    data = event["data"]
    assert (event["type"], data["job"], data["state"]) == ("job.ended", job_id, "failed")
    assert (data["title"], data["module"], data["tool"]) == ("Workshop: Fail", "workshop", "fail")
    assert data["recipients"] == ["ada@acme.test"]
    assert "wet" not in str(event)
    await post.app.execute("UPDATE vault.notices SET due_at = now()")
    await post.send()
    assert (len(post.server.messages), len(post.receiver.got)) == (1, 1)
    assert await post.app.fetch(OUTCOMES) == ["told"]


@on_shared_product
async def test_a_receiver_that_was_away_gets_it_later_under_the_same_id(post: Post) -> None:
    await post.end_job("always")
    post.receiver.status = 503
    await post.send()
    post.receiver.status = 200
    await post.app.execute("UPDATE vault.notices SET due_at = now()")
    await post.send()
    assert len(post.server.messages) == 1, "the mail was not sent again"
    first, second = (headers["webhook-id"] for headers, _ in post.receiver.got)
    assert first == second
    assert await post.app.fetch(OUTCOMES) == ["told"]


@on_shared_product
async def test_only_what_was_asked_for_is_told(post: Post) -> None:
    post.app.workshop.is_wet = False
    await post.end_job("failure")
    await post.end_job("never")
    waiting = await post.app.start()
    async with post.app.browser(post.app.ada) as http:
        changed = await http.patch(f"/jobs/{waiting}", json={"notify": "failure"})
        assert (changed.status_code, changed.json()["notify"]) == (200, "failure")
        await http.post(f"/jobs/{waiting}/cancellation")
        assert (await http.patch(f"/jobs/{waiting}", json={"notify": "always"})).status_code == 409
        assert (await http.patch(f"/jobs/{waiting}", json={"notify": "loudly"})).status_code == 400
    late = await post.app.use("notify_when_done", job_id=waiting)
    assert late.text == "this job has ended already: cancelled"
    assert await post.send() == []
    await post.end_job("always")
    assert [event["data"]["state"] for event in await post.send()] == ["succeeded"]


@on_shared_product
@pytest.mark.guarantee("G9")
async def test_nobody_asks_about_another_s_job(post: Post) -> None:
    app = post.app
    job_id = await app.start()
    for person in (app.bob, app.eve):
        answer = await app.node.call(person.token, "jobs", "notify_when_done", {"job_id": job_id})
        assert answer.text == NO_SUCH_JOB
    for person in (app.bob, app.boss, app.eve):
        async with app.browser(person) as http:
            assert (await http.patch(f"/jobs/{job_id}", json={"notify": "always"})).status_code == 404
    assert await app.fetch("SELECT notify FROM jobs.jobs") == ["never"]


@with_own_people
async def test_who_was_suspended_or_removed_gets_none(post: Post) -> None:
    app, tenant = post.app, post.app.ada.tenant.id
    await post.end_job("always")
    await set_status(app.identity.product.console, ACTOR, tenant, app.ada.email, "suspended")
    assert await post.send() == []
    await set_status(app.identity.product.console, ACTOR, tenant, app.ada.email, "active")
    await post.end_job("always")
    await remove_user(app.identity.product.console, ACTOR, tenant, app.ada.id)
    assert await post.send() == []
    assert post.server.messages == []
    assert await app.fetch(OUTCOMES) == ["nobody", "nobody"]


@on_shared_product
async def test_a_retry_is_told_anew_and_what_was_not_told_by_then_is_over(post: Post) -> None:
    job_id = await post.end_job("always")
    async with post.app.browser(post.app.ada) as http:
        post.app.workshop.is_wet = False
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 200
        assert await post.send() == []
        async with post.app.worker():
            await post.app.wait(job_id)
    assert [event["data"]["state"] for event in await post.send()] == ["succeeded"]
    assert await post.app.fetch(OUTCOMES) == ["over", "told"]


@on_shared_product
async def test_nobody_gets_more_than_thirty_an_hour(post: Post) -> None:
    for _ in range(32):
        job_id = await post.app.start("watch")
        await post.app.use("notify_when_done", job_id=job_id)
    async with post.app.browser(post.app.ada) as http:
        for job in (await http.get("/jobs", params={"limit": 50})).json()["items"]:
            await http.post(f"/jobs/{job['id']}/cancellation")
    assert await post.app.fetch("SELECT count(*) FROM vault.notices") == [30]


@on_shared_product
async def test_a_schedule_tells_of_its_runs_and_its_name_to_its_person_alone(post: Post) -> None:
    app = post.app
    await app.use("create_schedule", **HOURLY | {"title": "Buy a surprise", "notify": "failure"})
    mandates = app.identity.zone.mandates
    (waiting,) = await mandates.list_page(app.ada.tenant.id, app.ada.id, None, 10)
    await mandates.consent(ACTOR, app.ada.tenant.id, waiting.id, user_id=app.ada.id)
    await app.execute("UPDATE jobs.schedules SET next_run_at = clock_timestamp()")
    async with app.worker():

        async def has_failed() -> bool:
            return await app.fetch("SELECT state || notify FROM jobs.jobs") == ["failedfailure"]

        await within(15, has_failed)
    (event,) = await post.send()
    assert "Buy a surprise" in post.server.messages[0].get_content()
    assert "surprise" not in str(event)
    assert event["data"]["tool"] == "fail"
