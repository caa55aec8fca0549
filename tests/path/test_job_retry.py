"""Running a job once more: through HTTP, in its person's presence, with a mandate made anew, and by nobody else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
import pytest_asyncio

from broker.interface import (
    CredentialRefusal,
    JobToRetry,
    MandatePurpose,
    MandateReference,
    MandateRequest,
    RefusalReason,
)
from broker.mandates.mandate_service import MandateService
from core.audit.event import AuditEventKind
from core.caller import Credential
from core.directory.users import create_user
from core.errors import Conflict
from core.observability.metrics import Metrics
from core.scopes import MCP_SCOPES
from core.secret import Secret
from gateway.catalogue import build_catalogue, load_installed_modules
from jobs.directory import JobDirectory
from jobs.job import MANDATE_LIFETIME
from server.deployment_figures import DeploymentFigures
from tests.path.conftest import has_own_people, on_shared_product, with_own_people
from tests.path.task_app import FORGET, Workshop, call_of
from tests.support.directory import assign_role, grant, revoke, set_status, unassign_role
from tests.support.eventually import within
from tests.support.identity import Identity, identity_on
from tests.support.job_worker import run_jobs
from tests.support.mcp_client import NEWEST, Answer
from tests.support.postgres import DatabaseServer, ScratchDatabase
from tests.support.product import ACTOR, Node, Person, Product, product_on

LIVE = "SELECT credential_kind FROM auth.mandates WHERE ended_at IS NULL"
HOURLY = {"title": "Hourly", "module": "workshop", "tool_name": "fail", "params": {}, "every_seconds": 3600}


@dataclass
class RetryApp:
    """A whole product at one address; a test starts its worker."""

    identity: Identity
    workshop: Workshop
    node: Node
    ada: Person
    bob: Person
    boss: Person
    """Administrator of their tenant."""
    eve: Person
    """Of another tenant."""

    @contextlib.asynccontextmanager
    async def worker(self) -> AsyncIterator[None]:
        async with run_jobs(self.identity.product, self.node):
            yield

    async def start(self, tool: str = "fail", **params: Any) -> str:
        """Start a job of ada's; its id."""
        return await self.start_call(call_of(tool, **params))

    async def start_call(self, call: dict[str, Any]) -> str:
        answer = await self.node.post(self.ada.token, "tools/call", call | {"task": {}}, revision=NEWEST)
        return answer.result["task"]["taskId"]

    async def use(self, tool: str, **params: Any) -> Answer:
        """Use a tool of the module `jobs` as ada."""
        return await self.node.call(self.ada.token, "jobs", tool, params)

    async def wait(self, job_id: str) -> dict[str, Any]:
        return (await self.use("wait_for_job", job_id=job_id)).value

    @contextlib.asynccontextmanager
    async def browser(self, person: Person) -> AsyncIterator[httpx2.AsyncClient]:
        """The admin API as a page of ours asks it for a person who has signed in."""
        headers = {"Cookie": await self.identity.session(person), "Origin": self.identity.url}
        async with self.client(headers) as http:
            yield http

    def client(self, headers: dict[str, str]) -> httpx2.AsyncClient:
        url = f"{self.identity.url}/api/v1"
        return httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=30)

    async def fetch(self, query: str, *values: object) -> list[Any]:
        """Rows' first values, seen by nobody's role."""
        async with self.identity.product.database.admin_connection() as admin:
            return [row[0] for row in await admin.fetch(query, *values)]

    async def execute(self, query: str, *values: object) -> None:
        async with self.identity.product.database.admin_connection() as admin:
            await admin.execute(query, *values)


@contextlib.asynccontextmanager
async def open_retry_app(database: ScratchDatabase, folder: Path) -> AsyncIterator[RetryApp]:
    workshop = Workshop()
    catalogue = build_catalogue([*load_installed_modules().modules, workshop.module()])
    async with (
        product_on(database, folder / "home", catalogue=catalogue) as product,
        identity_on(product, providers=False) as identity,
    ):
        yield RetryApp(identity, workshop, Node(identity.gateway), *await add_people(product, "acme", "globex"))


async def add_people(product: Product, *slugs: str) -> tuple[Person, Person, Person, Person]:
    """Create ada, bob and an administrator of one tenant, and eve of another."""
    acme, globex = [await product.tenant(slug) for slug in slugs]
    email = f"boss@{acme.slug}.test"
    boss = await create_user(product.console, ACTOR, acme.id, email, system_role="admin")
    return (
        await product.person(acme, f"ada@{acme.slug}.test", allow=["*"]),
        await product.person(acme, f"bob@{acme.slug}.test", allow=["*"]),
        Person(acme, boss, email),
        await product.person(globex, f"eve@{globex.slug}.test", allow=["*"]),
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_app(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RetryApp]:
    async with (
        database_server.database() as database,
        open_retry_app(database, tmp_path_factory.mktemp("retries")) as app,
    ):
        yield app


@pytest_asyncio.fixture(loop_scope="module")
async def app(request: pytest.FixtureRequest, shared_app: RetryApp) -> RetryApp:
    """The same without what earlier tests have left, and with people of the test's own where it asks for them."""
    shared_app.workshop.renew()
    await shared_app.execute(FORGET)
    if not has_own_people(request):
        return shared_app
    slugs = [f"{name}-{uuid4().hex[:12]}" for name in ("acme", "globex")]
    ada, bob, boss, eve = await add_people(shared_app.identity.product, *slugs)
    return replace(shared_app, ada=ada, bob=bob, boss=boss, eve=eve)


async def show(http: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    return (await http.get(f"/jobs/{job_id}")).json()


@on_shared_product
@pytest.mark.guarantee("G10")
@pytest.mark.parametrize("by", ["session", "api_token"])
async def test_it_fails_and_succeeds_when_its_person_tries_again(app: RetryApp, by: str) -> None:
    token = {"Authorization": f"Bearer {app.ada.token}"}
    async with app.worker(), app.browser(app.ada) if by == "session" else app.client(token) as http:
        job_id = await app.start()
        failed = await app.wait(job_id)
        assert (failed["state"], failed["is_error"], failed["text"]) == ("failed", True, "the wood is wet")
        assert await app.fetch(LIVE) == []
        app.workshop.is_wet = False
        answer = await http.post(f"/jobs/{job_id}/retry")
        assert answer.status_code == 200, answer.text
        ended = await app.wait(job_id)
        assert (ended["state"], ended["result"]) == ("succeeded", {"made": "shelf", "number": 0, "by": ""})
        assert (await show(http, job_id))["attempt"] == 2
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 409
    assert await app.fetch("SELECT credential_kind FROM auth.mandates ORDER BY created_at") == ["api_token", by]
    assert await app.fetch(LIVE) == []
    await app.identity.zone.mandates.sweep()
    events = await app.identity.product.events(app.ada.tenant)
    kinds = [event.kind for event in events]
    assert [kinds.count(kind) for kind in ("mandate.created", "mandate.ended", "job.retried")] == [2, 2, 1]


@on_shared_product
async def test_a_batch_is_run_once_more_with_all_of_its_tools(app: RetryApp) -> None:
    steps = [{"id": tool, "module": "workshop", "tool_name": tool, "params": {}} for tool in ("watch", "fail")]
    app.workshop.is_wet = False
    async with app.browser(app.ada) as http:
        job_id = await app.start_call({"name": "batch", "arguments": {"commands": steps}})
        await http.post(f"/jobs/{job_id}/cancellation")
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 200
        assert await app.fetch("SELECT tools FROM auth.mandates WHERE ended_at IS NULL") == [
            ["workshop.fail", "workshop.watch"]
        ]
        async with app.worker():
            assert [step["status"] for step in (await app.wait(job_id))["result"]["steps"]] == ["ok", "ok"]
        await app.execute("UPDATE jobs.jobs SET state = 'failed', tools = '{}'")
        refused = await http.post(f"/jobs/{job_id}/retry")
        assert (refused.status_code, "earlier version of MCPist made this job" in refused.text) == (409, True)
    assert await app.fetch(LIVE) == []


@on_shared_product
@pytest.mark.guarantee("G9")
async def test_nobody_else_tries_it_again(app: RetryApp) -> None:
    async with app.worker():
        job_id = await app.start()
        await app.wait(job_id)
        for person in (app.bob, app.boss, app.eve):
            async with app.browser(person) as http:
                refused = await http.post(f"/jobs/{job_id}/retry")
                assert refused.status_code == 404, person.email
        async with app.client({"Origin": app.identity.url}) as nobody:
            assert (await nobody.post(f"/jobs/{job_id}/retry")).status_code == 401
    assert await app.fetch("SELECT attempt || state FROM jobs.jobs") == ["1failed"]
    assert await app.fetch(LIVE) == []


@with_own_people
@pytest.mark.guarantee("G10")
async def test_who_was_suspended_or_may_no_more_is_refused_and_the_job_stays(app: RetryApp) -> None:
    product, tenant = app.identity.product, app.ada.tenant.id
    async with app.worker(), app.browser(app.ada) as http:
        job_id = await app.start()
        await app.wait(job_id)
        before = await show(http, job_id)
        await grant(product.console, ACTOR, tenant, app.ada.email, "deny", "workshop.fail")
        refused = await http.post(f"/jobs/{job_id}/retry")
        assert refused.status_code == 409
        assert "may not use a tool of this job any more" in refused.text
        assert await show(http, job_id) == before
        (denied,) = await product.events(app.ada.tenant, AuditEventKind.DENIED)
        assert (denied.tool, (denied.detail or {})["by"]) == ("fail", "broker")
        await revoke(product.console, ACTOR, tenant, app.ada.email, "workshop.fail")
        await set_status(product.console, ACTOR, tenant, app.ada.email, "suspended")
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 401
        assert await app.fetch(LIVE) == []
        await set_status(product.console, ACTOR, tenant, app.ada.email, "active")
    async with app.browser(app.ada) as http:
        assert await show(http, job_id) == before
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 200
        await unassign_role(product.console, ACTOR, tenant, app.ada.email, app.ada.email)
        async with app.worker():  # what is taken away between the retry and the run counts, too
            ended = await within_end(app, job_id)
        assert ended == "failed"
        await assign_role(product.console, ACTOR, tenant, app.ada.email, app.ada.email)


async def within_end(app: RetryApp, job_id: str) -> str:
    """The state of a job once it has ended, as the database has it."""
    query = "SELECT state FROM jobs.jobs WHERE id = $1 AND state NOT IN ('queued', 'running')"

    async def has_ended() -> bool:
        return bool(await app.fetch(query, UUID(job_id)))

    await within(15, has_ended)
    return (await app.fetch(query, UUID(job_id)))[0]


@on_shared_product
async def test_what_is_cancelled_while_it_waits_loses_its_mandate_at_once(app: RetryApp) -> None:
    async with app.browser(app.ada) as http, app.browser(app.boss) as boss:
        by = [
            lambda job_id: http.post(f"/jobs/{job_id}/cancellation"),
            lambda job_id: boss.post(f"/jobs/{job_id}/cancellation"),
            lambda job_id: app.use("cancel_job", job_id=job_id),
            lambda job_id: app.node.post(app.ada.token, "tasks/cancel", {"taskId": job_id}, revision=NEWEST),
        ]
        kept = await app.start()
        for cancel in by:
            job_id = await app.start()
            assert len(await app.fetch(LIVE)) == 2
            await cancel(job_id)
            assert (await show(http, job_id))["state"] == "cancelled"
            assert len(await app.fetch(LIVE)) == 1, "the other job's"
        app.workshop.is_wet = False
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 200
        async with app.worker():
            assert [(await app.wait(one))["state"] for one in (job_id, kept)] == ["succeeded"] * 2
    assert await app.fetch(LIVE) == []


@on_shared_product
async def test_of_two_who_try_at_once_one_does(app: RetryApp) -> None:
    async with app.browser(app.ada) as http:
        async with app.worker():
            job_id = await app.start()
            await app.wait(job_id)
        app.workshop.is_wet = False
        answers = await asyncio.gather(*(http.post(f"/jobs/{job_id}/retry") for _ in range(6)))
        assert sorted(answer.status_code for answer in answers) == [200, *[409] * 5]
        assert len(await app.fetch(LIVE)) == 1, "that of the job which waits"
        async with app.worker():
            assert (await app.wait(job_id))["state"] == "succeeded"
    assert await app.fetch("SELECT attempt FROM jobs.jobs") == [2]


async def permit(app: RetryApp, person: Person, job_id: str, schedule: MandateReference | None = None) -> Any:
    """What a broker answers whom a control plane asks for this job, in a person's presence."""
    credential = Credential("a session", "session", person.tenant.id, person.id, MCP_SCOPES)
    job = JobToRetry(UUID(job_id), "Fail", (("workshop", "fail"),), MANDATE_LIFETIME, schedule)
    return await app.identity.zone.mandate_service.permit_retry(credential, job)


@on_shared_product
@pytest.mark.guarantee("G10")
async def test_a_job_is_not_queued_with_a_dead_mandate_nor_another_s(app: RetryApp) -> None:
    """Whatever a control plane says."""
    async with app.worker():
        job_id = await app.start()
        await app.wait(job_id)
    dead = (await app.fetch("SELECT mandate_id FROM jobs.jobs"))[0]
    of_bob, of_other_work = await permit(app, app.bob, job_id), await permit(app, app.ada, str(uuid4()))
    directory = JobDirectory(app.identity.product.console)
    for mandate in (dead, of_bob, of_other_work, uuid4()):

        async def give(_job: JobToRetry, mandate: UUID = mandate) -> UUID:
            return mandate

        with pytest.raises(Conflict, match="taken away"):
            await directory.retry_job(ACTOR, app.ada.tenant.id, app.ada.id, UUID(job_id), give)
    assert await app.fetch("SELECT attempt || state FROM jobs.jobs") == ["1failed"]
    live = "SELECT id FROM auth.mandates WHERE ended_at IS NULL"
    assert {*await app.fetch(live)} == {of_bob, of_other_work}, "those of others are left alone"


@on_shared_product
async def test_a_mandate_without_its_job_is_no_use_and_ends(app: RetryApp) -> None:
    """The control plane is killed between the two steps."""
    async with app.worker(), app.browser(app.ada) as http:
        job_id = await app.start()
        await app.wait(job_id)
        assert isinstance(await permit(app, app.ada, job_id), UUID)
        app.workshop.is_wet = False
        assert (await show(http, job_id))["state"] == "failed"
        assert await app.fetch("SELECT count(*) FROM jobs.jobs j JOIN auth.mandates m ON m.id = j.mandate_id "
                               "WHERE m.ended_at IS NULL") == [0], "no worker learns it"  # fmt: skip
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 200
        assert (await app.wait(job_id))["state"] == "succeeded"
        assert await app.fetch(LIVE) == []
        app.workshop.is_wet = True
        pruned = await app.start()
        await app.wait(pruned)
        assert isinstance(await permit(app, app.ada, pruned), UUID)
        await app.execute("UPDATE jobs.jobs SET expires_at = now() - interval '1 s'")
        await app.execute("SELECT jobs.prune(10)")
    assert await app.fetch("SELECT count(*) FROM jobs.jobs") == [0]
    assert await app.fetch(LIVE) == []


@on_shared_product
async def test_an_old_mandate_that_nobody_noticed_the_end_of_is_no_hindrance(app: RetryApp) -> None:
    async with app.worker(), app.browser(app.ada) as http:
        job_id = await app.start()
        await app.wait(job_id)
        assert isinstance(await permit(app, app.ada, job_id), UUID)
        app.workshop.is_wet = False
        past = app.identity.product.clock() - timedelta(minutes=1)
        await app.execute("UPDATE auth.mandates SET expires_at = $1 WHERE ended_at IS NULL", past)
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 200
        assert (await app.wait(job_id))["state"] == "succeeded"


@on_shared_product
async def test_who_has_too_many_waiting_is_told_and_nothing_is_left(app: RetryApp) -> None:
    async with app.worker(), app.browser(app.ada) as http:
        job_id = await app.start()
        await app.wait(job_id)
    await app.execute(
        """INSERT INTO jobs.jobs (tenant_id, id, user_id, kind, module, tool, title, client, arguments, is_repeatable,
        retries_left, lifetime, expires_at) SELECT $1, gen_random_uuid(), $2, 'call', 'x', 'y', 'z', '', '', true, 0,
        interval '1 hour', now() + interval '1 hour' FROM generate_series(1, 1000)""",
        app.ada.tenant.id,
        app.ada.id,
    )
    async with app.browser(app.ada) as http:
        refused = await http.post(f"/jobs/{job_id}/retry")
        assert (refused.status_code, "Too many jobs wait" in refused.text) == (429, True)
        assert (await show(http, job_id))["state"] == "failed"
    assert await app.fetch(LIVE) == []


@on_shared_product
async def test_a_run_of_a_schedule_has_its_mandate_while_that_lives(app: RetryApp) -> None:
    mandates = app.identity.zone.mandates
    await app.use("create_schedule", **HOURLY)
    (waiting,) = await mandates.list_page(app.ada.tenant.id, app.ada.id, None, 10)
    await mandates.consent(ACTOR, app.ada.tenant.id, waiting.id, user_id=app.ada.id)
    await app.execute("UPDATE jobs.schedules SET next_run_at = clock_timestamp()")
    async with app.worker(), app.browser(app.ada) as http:

        async def has_failed() -> bool:
            return await app.fetch("SELECT state FROM jobs.jobs") == ["failed"]

        await within(15, has_failed)
        job_id = str((await app.fetch("SELECT id FROM jobs.jobs"))[0])
        assert (await http.post(f"/jobs/{job_id}/retry")).status_code == 200
        assert (await app.wait(job_id))["text"] == "the wood is wet"
        assert len(await app.fetch(LIVE)) == 1, "the schedule goes on"
        reference = MandateReference(waiting.id, (await app.fetch("SELECT id FROM jobs.schedules"))[0])
        assert await permit(app, app.ada, job_id, reference) == waiting.id
        for stranger in (app.bob, app.eve):
            refusal = await permit(app, stranger, job_id, reference)
            assert refusal.reason is RefusalReason.UNKNOWN, "it is ada's"
        await mandates.revoke(ACTOR, app.ada.tenant.id, waiting.id)
        before = await show(http, job_id)
        refused = await http.post(f"/jobs/{job_id}/retry")
        assert (refused.status_code, "schedule of this job may not act" in refused.text) == (409, True)
        assert await show(http, job_id) == before


@on_shared_product
async def test_metrics_count_mandates(app: RetryApp) -> None:
    """How many live, how many were made, and why others were not."""
    zone, metrics = app.identity.zone, Metrics()
    tools = {("workshop", "fail"): True}
    service = MandateService(zone.broker, zone.database, tools, clock=app.identity.product.clock, metrics=metrics)
    until = app.identity.product.clock() + timedelta(hours=1)
    for names in (("workshop", "fail"), ("workshop", "made_up")):
        wanted = MandateRequest(Secret(app.ada.token), MandatePurpose.JOB, uuid4(), "Work", (names,), until)
        made = await service.create_mandate(wanted)
    assert isinstance(made, CredentialRefusal)
    await service.verify_mandate(MandateReference(uuid4(), uuid4()))
    assert metrics.counters["mandates"] == {"job": 1, "schedule": 0, "sync": 0}
    refused = metrics.counters["mandates_refused"]
    assert (refused["forbidden"], refused["unknown"], refused["expired"]) == (1, 1, 0)
    figures = DeploymentFigures(zone.database)
    await figures.load()
    assert figures.get_mandates() == {"job": 1, "schedule": 0, "sync": 0}
