"""Schedules become jobs when they are due: once each, with the mandate of their person, and nobody else's."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from broker.interface import CredentialRefusal, MandateReference, RefusalReason
from core.errors import Invalid, LimitReached, Unavailable
from jobs.job import Job, JobState
from jobs.schedule_runner import LOOK_SECONDS, SHORTEST_PAUSE_SECONDS, ScheduleRunner
from jobs.schedule_times import ScheduleRule
from jobs.schedules import MAX_SCHEDULES, NewSchedule, Overlap, Schedule, Schedules, ScheduleState
from tests.jobs.harness import Plant
from tests.support.eventually import within
from tests.support.postgres import MadeTenant

MakeTenant = Callable[..., Awaitable[MadeTenant]]
START = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOURLY = ScheduleRule(interval=timedelta(hours=1))
COPY = """INSERT INTO jobs.schedules (tenant_id, id, user_id, title, kind, module, tool, client, mandate_id, arguments,
        retries, lifetime, cron, every, time_zone, overlap, next_run_at)
    SELECT tenant_id, gen_random_uuid(), user_id, title, kind, module, tool, client, gen_random_uuid(), arguments,
        retries, lifetime, cron, every, time_zone, overlap, next_run_at
    FROM jobs.schedules, generate_series(2, $2) WHERE id = $1 RETURNING id"""
DAILY = ScheduleRule(cron="0 9 * * *", time_zone="Asia/Tokyo")


@dataclass(slots=True)
class Office:
    """Schedules, the runner of a worker, the time, and what the broker says of mandates."""

    plant: Plant
    schedules: Schedules
    asked: list[MandateReference] = field(default_factory=list[MandateReference])
    verdict: object = None

    async def verify(self, reference: MandateReference) -> object:
        self.asked.append(reference)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict

    def create_runner(self) -> ScheduleRunner:
        return ScheduleRunner(self.plant.store._database, self.plant.sealer, self.verify)

    async def set_time(self, now: datetime) -> None:
        async with self.plant.database.admin_connection() as admin:
            await admin.execute(
                "CREATE OR REPLACE FUNCTION jobs.clock() RETURNS timestamptz LANGUAGE sql VOLATILE "
                f"RETURN '{now.isoformat()}'::timestamptz"
            )

    async def create(self, tenant: MadeTenant, user: int = 0, **given: Any) -> Schedule:
        made = await self.schedules.create(new_schedule(tenant, user, **given))
        assert made is not None
        return made

    async def fill(self, tenant: MadeTenant) -> set[UUID]:
        """Give the first person as many schedules as they may have; their ids. One is created; the others are copies,
        whose arguments cannot be opened."""
        one = await self.create(tenant)
        async with self.plant.database.admin_connection() as admin:
            rows = await admin.fetch(COPY, one.id, MAX_SCHEDULES)
        return {one.id, *(row["id"] for row in rows)}

    async def find(self, schedule: Schedule) -> Schedule:
        found = await self.schedules.find(schedule.tenant_id, schedule.user_id, schedule.id)
        assert found is not None
        return found

    async def jobs(self, schedule: Schedule) -> list[Job]:
        return list(await self.plant.queue.list_jobs(schedule.tenant_id, schedule.user_id))[::-1]


def new_schedule(tenant: MadeTenant, user: int = 0, **given: Any) -> NewSchedule:
    values: dict[str, Any] = {
        "id": uuid4(),
        "title": "朝の報告",
        "kind": "call",
        "module": "toys",
        "tool": "wind_up",
        "client": "token:abc",
        "mandate_id": uuid4(),
        "arguments": b"some arguments",
        "max_attempts": 1,
        "lifetime": timedelta(hours=1),
        "rule": HOURLY,
        "overlap": Overlap.SKIP,
        "next_run_at": START + timedelta(hours=1),
    }
    return NewSchedule(tenant_id=tenant.id, user_id=tenant.users[user], **(values | given))


@pytest.fixture
async def office(plant: Plant) -> Office:
    office = Office(plant, Schedules(plant.queue._database, plant.sealer))
    await office.set_time(START)
    return office


async def test_what_is_due_becomes_a_job_with_its_mandate(office: Office, make_tenant: MakeTenant) -> None:
    schedule = await office.create(await make_tenant())
    runner = office.create_runner()
    assert await runner.take_turn() == LOOK_SECONDS
    assert await office.jobs(schedule) == []
    await office.set_time(START + timedelta(hours=1, seconds=2))
    await runner.take_turn()
    (job,) = await office.jobs(schedule)
    assert (job.title, job.mandate_id, job.schedule_id) == (schedule.title, schedule.mandate_id, schedule.id)
    assert office.asked == [MandateReference(schedule.mandate_id, schedule.id)]
    current = await office.find(schedule)
    assert (current.next_run_at, current.last_job_id) == (START + timedelta(hours=2), job.id), "the beat is kept"
    async with office.plant.run_worker():
        await office.plant.wait_for(job, JobState.SUCCEEDED)
    assert await office.plant.queue.load_result(job.tenant_id, job.user_id, job.id) == b"result of some arguments"


async def test_of_many_workers_one_makes_the_job(office: Office, make_tenant: MakeTenant) -> None:
    schedule = await office.create(await make_tenant())
    await office.set_time(START + timedelta(hours=1))
    await asyncio.gather(*(office.create_runner().take_turn() for _ in range(8)))
    assert len(await office.jobs(schedule)) == 1


async def test_after_a_pause_one_run_and_not_many(office: Office, make_tenant: MakeTenant) -> None:
    schedule = await office.create(await make_tenant(), rule=DAILY)
    now = datetime(2026, 7, 1, 3, 30, tzinfo=UTC)
    await office.set_time(now)
    runner = office.create_runner()
    for _ in range(3):
        await runner.take_turn()
    assert len(await office.jobs(schedule)) == 1
    assert (await office.find(schedule)).next_run_at == datetime(2026, 7, 2, 0, tzinfo=UTC)


@pytest.mark.parametrize("overlap", Overlap)
async def test_a_run_that_is_due_while_the_last_one_works(
    office: Office, make_tenant: MakeTenant, overlap: Overlap
) -> None:
    schedule = await office.create(await make_tenant(), overlap=overlap)
    runner = office.create_runner()
    for hour in (1, 2):
        await office.set_time(START + timedelta(hours=hour))
        pause = await runner.take_turn()
    (job,) = await office.jobs(schedule)
    current = await office.find(schedule)
    async with office.plant.run_worker():
        await office.plant.wait_for(job, JobState.SUCCEEDED)
    await runner.take_turn()
    if overlap is Overlap.SKIP:
        assert (current.skipped, current.next_run_at) == (1, START + timedelta(hours=3))
        assert len(await office.jobs(schedule)) == 1
    else:
        assert (current.skipped, current.next_run_at, pause) == (0, START + timedelta(hours=2), SHORTEST_PAUSE_SECONDS)
        assert len(await office.jobs(schedule)) == 2


async def test_a_single_run(office: Office, make_tenant: MakeTenant) -> None:
    at = START + timedelta(minutes=5)
    schedule = await office.create(await make_tenant(), rule=ScheduleRule(at=at), next_run_at=at)
    await office.schedules.pause(schedule)
    assert (await office.find(schedule)).state is ScheduleState.ACTIVE
    await office.set_time(at)
    await office.create_runner().take_turn()
    assert len(await office.jobs(schedule)) == 1
    current = await office.find(schedule)
    assert (current.state, current.end_reason, current.next_run_at) == (ScheduleState.ENDED, "completed", None)


async def test_without_consent_nothing_runs_and_without_a_mandate_it_ends(
    office: Office, make_tenant: MakeTenant
) -> None:
    schedule = await office.create(await make_tenant())
    runner = office.create_runner()
    await office.set_time(START + timedelta(hours=1))
    office.verdict = CredentialRefusal(RefusalReason.NO_CONSENT)
    await runner.take_turn()
    assert (await office.find(schedule)).next_run_at == START + timedelta(hours=2)
    await office.set_time(START + timedelta(hours=2))
    office.verdict = Unavailable()
    with pytest.raises(Unavailable):
        await runner.take_turn()
    assert (await office.find(schedule)).state is ScheduleState.ACTIVE
    office.verdict = CredentialRefusal(RefusalReason.REVOKED)
    await runner.take_turn()
    current = await office.find(schedule)
    assert (current.state, current.end_reason) == (ScheduleState.ENDED, "revoked")
    assert await office.jobs(schedule) == []


async def test_one_that_cannot_be_run_stops_no_other(office: Office, make_tenant: MakeTenant) -> None:
    broken = await office.create(await make_tenant(), rule=DAILY)
    schedule = await office.create(await make_tenant(), next_run_at=START + timedelta(hours=1, seconds=1))
    async with office.plant.database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.schedules SET time_zone = 'Mars/Olympus' WHERE id = $1", broken.id)
    await office.set_time(START + timedelta(hours=2))
    await office.create_runner().take_turn()
    current = await office.find(broken)
    assert (current.state, current.end_reason) == (ScheduleState.ENDED, "internal")
    assert len(await office.jobs(schedule)) == 1


async def test_a_pause_and_what_comes_after(office: Office, make_tenant: MakeTenant) -> None:
    schedule = await office.create(await make_tenant())
    await office.schedules.pause(schedule)
    await office.set_time(START + timedelta(hours=5))
    await office.create_runner().take_turn()
    assert (await office.find(schedule)).state is ScheduleState.PAUSED
    await office.schedules.resume(schedule, START + timedelta(hours=6))
    await office.create_runner().take_turn()
    assert await office.jobs(schedule) == []
    await office.set_time(START + timedelta(hours=6))
    await office.create_runner().take_turn()
    assert len(await office.jobs(schedule)) == 1


async def test_a_schedule_that_was_moved_on_meanwhile_makes_no_job(office: Office, make_tenant: MakeTenant) -> None:
    schedule = await office.create(await make_tenant())
    await office.set_time(START + timedelta(hours=1))

    async def delete(reference: MandateReference) -> object:
        await office.schedules.delete(schedule)
        return None

    runner = ScheduleRunner(office.plant.store._database, office.plant.sealer, delete)
    await runner.take_turn()
    assert await office.jobs(schedule) == []


async def test_a_schedule_that_is_made_wakes_the_runner(office: Office, make_tenant: MakeTenant) -> None:
    tenant, runner = await make_tenant(), office.create_runner()
    async with office.plant.run_worker(wake_schedules=runner.wake) as worker:
        running = asyncio.create_task(runner.run())
        while not worker.is_connected:
            await asyncio.sleep(0)
        schedule = await office.create(tenant, next_run_at=START)
        await within(10, lambda: _has_ended_job(office, schedule))  # one that runs makes the next run skipped
        await office.schedules.pause(schedule)
        await office.set_time(START + timedelta(minutes=30))
        await office.schedules.resume(schedule, START + timedelta(minutes=30))
        await within(10, lambda: _has_jobs(office, schedule, 2))
        running.cancel()


async def test_nobody_else_sees_or_changes_it(office: Office, make_tenant: MakeTenant) -> None:
    tenant, other = await make_tenant(users=2), await make_tenant()
    schedule = await office.create(tenant)
    for tenant_id, user_id in ((tenant.id, tenant.users[1]), (other.id, other.users[0]), (other.id, tenant.users[0])):
        foreign = _as(schedule, tenant_id, user_id)
        assert await office.schedules.find(tenant_id, user_id, schedule.id) is None
        assert await office.schedules.list_schedules(tenant_id, user_id) == []
        await office.schedules.pause(foreign)
        await office.schedules.delete(foreign)
    assert await office.find(schedule) == schedule


async def test_a_worker_that_begins_to_listen_wakes_the_runner(office: Office) -> None:
    """What was announced while nobody listened is found by looking: at the start, and after a lost connection."""
    woken = asyncio.Event()

    async def is_woken() -> bool:
        return woken.is_set()

    async with office.plant.run_worker(wake_schedules=woken.set) as worker:
        await within(10, is_woken)
        woken.clear()
        worker._connection.terminate()
        await within(10, is_woken)


async def test_a_gateway_runs_no_schedule(office: Office, make_tenant: MakeTenant) -> None:
    schedule = await office.create(await make_tenant())
    gateway = office.plant.queue._database
    for call in (
        "jobs.due_schedules(5)",
        "jobs.seconds_until_schedule()",
        f"jobs.end_schedule('{schedule.tenant_id}', '{schedule.id}', '')",
        f"jobs.run_schedule('{schedule.tenant_id}', '{schedule.id}', now(), now(), '{uuid4()}', '')",
        f"jobs.skip_schedule('{schedule.tenant_id}', '{schedule.id}', now(), now())",
        f"jobs.delete_schedule('{schedule.user_id}', '{schedule.id}')",
        "jobs.prune_schedules(1)",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await gateway.call(f"SELECT {call}")  # type: ignore[arg-type]


async def test_limits_of_a_schedule(office: Office, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant(users=2)
    wrong: list[dict[str, Any]] = [
        {"title": ""},
        {"title": "x" * 201},
        {"title": "a\0b"},
        {"arguments": b"x" * (4 << 20) + b"x"},
    ]
    for given in wrong:
        with pytest.raises(Invalid):
            await office.create(tenant, **given)
    for _ in range(MAX_SCHEDULES):
        await office.create(tenant)
    with pytest.raises(LimitReached):
        await office.create(tenant)
    await office.create(tenant, user=1)
    await office.set_time(START + timedelta(hours=1))
    runner = office.create_runner()
    assert [await runner.take_turn() for _ in range(3)] == [0, 0, LOOK_SECONDS]
    assert len(await office.plant.queue.list_jobs(tenant.id, tenant.users[0])) == MAX_SCHEDULES


async def test_those_that_have_ended_do_not_count_and_are_forgotten(office: Office, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant(users=2)
    await office.fill(tenant)
    async with office.plant.database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.schedules SET state = 'ended', next_run_at = NULL, end_reason = 'revoked'")
    newest = await office.fill(tenant)
    with pytest.raises(LimitReached):
        await office.create(tenant)
    assert len(await office.schedules.list_schedules(tenant.id, tenant.users[0])) == 2 * MAX_SCHEDULES
    async with office.plant.database.admin_connection() as admin:
        await admin.execute(
            "UPDATE jobs.schedules SET state = 'ended', next_run_at = NULL, updated_at = $1 WHERE state = 'active'",
            START + timedelta(hours=1),
        )
    last = await office.create(tenant)
    kept = {one.id for one in await office.schedules.list_schedules(tenant.id, tenant.users[0])}
    assert kept == {last.id, *newest}, "a person keeps the newest hundred of those that have ended"
    runner = office.create_runner()
    await office.set_time(START + timedelta(days=30))
    assert await runner.prune() == 0
    await office.set_time(START + timedelta(days=30, hours=1, seconds=1))
    assert await runner.prune() == MAX_SCHEDULES
    assert (await office.find(last)).state is ScheduleState.ACTIVE


async def test_a_suspended_tenant_s_schedules_go_on_afterwards(office: Office, make_tenant: MakeTenant) -> None:
    schedule = await office.create(await make_tenant())
    await office.set_time(START + timedelta(hours=1))
    office.verdict = CredentialRefusal(RefusalReason.TENANT_SUSPENDED)
    runner = office.create_runner()
    await runner.take_turn()
    current = await office.find(schedule)
    assert (current.state, current.skipped) == (ScheduleState.ACTIVE, 1)
    office.verdict = None
    await office.set_time(START + timedelta(hours=2))
    await runner.take_turn()
    assert len(await office.jobs(schedule)) == 1


async def test_an_id_that_is_taken_makes_no_second_one(office: Office, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    schedule = await office.create(tenant)
    assert await office.schedules.create(new_schedule(tenant, id=schedule.id, title="another")) is None
    assert await office.find(schedule) == schedule
    assert await office.schedules.load_arguments(schedule) == b"some arguments"


async def _has_jobs(office: Office, schedule: Schedule, number: int = 1) -> bool:
    return len(await office.jobs(schedule)) == number


async def _has_ended_job(office: Office, schedule: Schedule) -> bool:
    return [job.state.is_final for job in await office.jobs(schedule)] == [True]


def _as(schedule: Schedule, tenant_id: UUID, user_id: UUID) -> Schedule:
    return replace(schedule, tenant_id=tenant_id, user_id=user_id)
