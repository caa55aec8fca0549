"""Schedules through `/mcp`: made by their person, agreed to on a page, run in their absence, and nobody else's."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from broker.mandates.mandates import Mandates
from core.audit.event import AuditEventKind
from core.directory.audit_trail import Actor
from core.sealed_records import RecordSealer
from gateway.tasks.own_schedules import NO_CALL, NO_SUCH_SCHEDULE, NOT_SCHEDULED, OTHER_REQUEST
from gateway.tool_runner import NO_SUCH_TOOL
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from tests.path.conftest import on_shared_product
from tests.path.task_app import TaskApp
from tests.path.test_core_tasks import MADE_UP
from tests.support.eventually import within
from tests.support.mcp_client import Answer
from tests.support.product import Person

HOURLY = {"title": "毎時", "module": "workshop", "tool_name": "make", "params": {"what": "椅子"}, "every_seconds": 3600}


@pytest.fixture
def app(task_app: TaskApp) -> TaskApp:
    return task_app


async def ask(app: TaskApp, name: str, person: Person | None = None, **params: Any) -> Answer:
    return await app.other.call((person or app.ada).token, "jobs", name, params)


async def make_due(app: TaskApp) -> None:
    async with app.product.database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.schedules SET next_run_at = clock_timestamp() WHERE state = 'active'")
        await admin.execute("SELECT pg_notify('mcpist_schedule', '')")


async def agree(app: TaskApp, person: Person) -> None:
    """As the page `/account` does."""
    async with open_role_database(app.product.deployment, BROKER_ROLE, max_connections=1) as broker:
        mandates = Mandates(broker, clock=get_utc_now)
        (waiting,) = await mandates.list_page(person.tenant.id, person.id, None, 10)
        assert (waiting.consented_at, waiting.tools) == (None, ("workshop.make",))
        await mandates.consent(Actor(person.email, person.id), person.tenant.id, waiting.id, user_id=person.id)


async def revoke(app: TaskApp, person: Person) -> None:
    async with open_role_database(app.product.deployment, BROKER_ROLE, max_connections=1) as broker:
        mandates = Mandates(broker, clock=get_utc_now)
        (mandate,) = await mandates.list_page(person.tenant.id, person.id, None, 10)
        await mandates.revoke(Actor(person.email, person.id), person.tenant.id, mandate.id, user_id=person.id)


async def list_own(app: TaskApp, person: Person | None = None) -> list[dict[str, Any]]:
    return (await ask(app, "list_schedules", person)).value["schedules"]


@on_shared_product
async def test_a_schedule_runs_after_its_person_has_agreed(app: TaskApp) -> None:
    made = (await ask(app, "create_schedule", **HOURLY)).value
    assert made["consent_url"].endswith("/account#mandates")
    shown = (made["state"], made["every_seconds"], made["overlap"])
    assert shown == ("waiting_for_consent", 3600, "skip")
    async with app.worker():
        await make_due(app)

        async def was_skipped() -> bool:
            return (await list_own(app))[0].get("skipped_runs") == 1

        await within(15, was_skipped)
        assert app.workshop.effects == []
        await agree(app, app.ada)
        await make_due(app)

        async def has_run() -> bool:
            return app.workshop.effects == ["椅子"]

        await within(15, has_run)
        (schedule,) = await list_own(app)
        ended = (await ask(app, "wait_for_job", job_id=schedule["last_job_id"])).value
        assert (ended["state"], ended["title"], ended["result"]["made"]) == ("succeeded", "毎時", "椅子")
        assert ended["result"]["by"] == str(app.ada.id)
        await make_due(app)

        async def has_run_again() -> bool:
            return app.workshop.effects == ["椅子", "椅子"]

        await within(15, has_run_again)  # the end of a job does not end its schedule's mandate
        await revoke(app, app.ada)
        await make_due(app)

        async def has_ended() -> bool:
            return (await list_own(app))[0].get("end_reason") == "revoked"

        await within(15, has_ended)
    assert len(app.workshop.effects) == 2


@on_shared_product
async def test_schedules_are_the_caller_s_own(app: TaskApp) -> None:
    schedule_id = (await ask(app, "create_schedule", **HOURLY)).value["schedule_id"]
    for person in (app.bob, app.eve):
        assert await list_own(app, person) == []
        for tool in ("pause_schedule", "resume_schedule", "delete_schedule"):
            for named in (schedule_id, MADE_UP, "x", schedule_id.upper()):
                assert (await ask(app, tool, person, schedule_id=named)).text == NO_SUCH_SCHEDULE
    await agree(app, app.ada)
    assert (await ask(app, "pause_schedule", schedule_id=schedule_id)).value["state"] == "paused"
    resumed = (await ask(app, "resume_schedule", schedule_id=schedule_id)).value
    assert datetime.fromisoformat(resumed["next_run_at"]) > datetime.now(UTC) + timedelta(minutes=59)
    assert (await ask(app, "delete_schedule", schedule_id=schedule_id)).value["schedule_id"] == schedule_id
    assert await list_own(app) == []
    async with app.product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM auth.mandates WHERE ended_at IS NULL") == 0


@on_shared_product
async def test_what_does_not_exist_for_the_caller_is_not_scheduled(app: TaskApp) -> None:
    nobody = await app.product.person(app.ada.tenant, "nobody@acme.test")
    hidden = await ask(app, "create_schedule", nobody, **HOURLY)
    made_up = await ask(app, "create_schedule", nobody, **HOURLY | {"tool_name": "no_such_tool"})
    assert hidden.text == made_up.text == NO_SUCH_TOOL
    events = await app.product.events(app.ada.tenant, AuditEventKind.DENIED)
    assert [event.tool for event in events] == ["make", "no_such_tool"]
    reader = await app.product.with_token(app.ada, read_only=True)
    assert (await ask(app, "create_schedule", reader, **HOURLY)).text == NO_SUCH_TOOL
    own = await ask(app, "create_schedule", **HOURLY | {"module": "jobs", "tool_name": "list_jobs", "params": {}})
    assert own.text == NOT_SCHEDULED


BAD_INPUT: list[tuple[dict[str, Any], str]] = [
    ({"params": {"colour": "red"}}, "what"),
    ({"every_seconds": 1}, "every_seconds is 60"),
    ({"cron": "* * * * *"}, "exactly one"),
    ({"every_seconds": None, "cron": "bad"}, "five fields"),
    ({"every_seconds": None, "at": "tomorrow"}, "no time such as"),
    ({"every_seconds": None, "at": "2001-01-01T00:00"}, "a time to come"),
    ({"time_zone": "Mars"}, "IANA"),
    ({"title": ""}, "title"),
    ({"title": "x" * 4_000_000}, "title"),
    ({"overlap": "both"}, "overlap"),
    ({"idempotency_key": "with space"}, "idempotency_key"),
    ({"commands": []}, NO_CALL),
    ({"module": "", "tool_name": ""}, NO_CALL),
]


@on_shared_product
async def test_bad_input_is_named(app: TaskApp) -> None:
    for changes, problem in BAD_INPUT:
        answer = await ask(app, "create_schedule", **HOURLY | changes)
        assert answer.failed
        assert problem in answer.text
        assert len(answer.text) < 1_000
        async with app.product.database.admin_connection() as admin:
            assert await admin.fetchval("SELECT count(*) FROM auth.mandates WHERE ended_at IS NULL") == 0


@on_shared_product
async def test_a_single_run_at_a_local_time(app: TaskApp) -> None:
    at = (datetime.now(UTC) + timedelta(days=2)).replace(second=0, microsecond=0)
    local = at + timedelta(hours=9)
    wanted = HOURLY | {
        "every_seconds": None,
        "at": f"{local:%Y-%m-%dT%H:%M}",
        "time_zone": "Asia/Tokyo",
    }
    made = (await ask(app, "create_schedule", **wanted)).value
    assert datetime.fromisoformat(made["next_run_at"]) == at
    paused = await ask(app, "pause_schedule", schedule_id=made["schedule_id"])
    assert paused.text == "a single run cannot be paused; delete it"


def batch(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"title": "まとめて", "commands": list(steps), "every_seconds": 3600}


STEPS = (
    {"id": "a", "module": "workshop", "tool_name": "look", "params": {"at": "椅子"}},
    {"id": "b", "module": "workshop", "tool_name": "make", "params": {"what": "${a.made}"}},
)


@on_shared_product
async def test_a_batch_runs_at_times(app: TaskApp) -> None:
    made = (await ask(app, "create_schedule", **batch(*STEPS))).value
    assert ("module" in made, "tool_name" in made) == (False, False)
    async with app.product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT tools FROM auth.mandates") == ["workshop.look", "workshop.make"]
        await admin.execute("UPDATE auth.mandates SET consented_at = clock_timestamp()")
    async with app.worker():
        await make_due(app)

        async def has_run() -> bool:
            return app.workshop.effects == ["椅子"]

        await within(15, has_run)
        (schedule,) = await list_own(app)
        ended = (await ask(app, "wait_for_job", job_id=schedule["last_job_id"])).value
    assert (ended["state"], [step["status"] for step in ended["result"]["steps"]]) == ("succeeded", ["ok", "ok"])


BAD_BATCHES: list[tuple[Any, str]] = [
    ((STEPS[0], STEPS[1] | {"params": {"colour": "red"}}), "what"),
    ((STEPS[0], STEPS[1] | {"tool_name": "no_such_tool"}), NO_SUCH_TOOL),
    ((STEPS[1],), "the batch cannot run:"),
    (({"id": "a", "module": "jobs", "tool_name": "list_jobs", "params": {}},), NOT_SCHEDULED),
    (("nonsense",), "commands"),
]


@on_shared_product
async def test_a_batch_is_checked_before_it_is_scheduled(app: TaskApp) -> None:
    for steps, problem in BAD_BATCHES:
        answer = await ask(app, "create_schedule", **batch(*steps))
        assert answer.failed
        assert problem in answer.text
        async with app.product.database.admin_connection() as admin:
            assert await admin.fetchval("SELECT count(*) FROM auth.mandates") == 0


@on_shared_product
async def test_arguments_that_fit_no_more_end_the_run_with_what_is_wrong(app: TaskApp) -> None:
    await ask(app, "create_schedule", **HOURLY)
    await agree(app, app.ada)
    sealer = RecordSealer(app.product.deployment.digest_key)
    async with app.product.database.admin_connection() as admin:
        row = await admin.fetchrow("SELECT tenant_id, id, arguments FROM jobs.schedules")
        of = row["tenant_id"], "schedule arguments", row["id"]
        changed = sealer.open(*of, row["arguments"]).replace(b'"what"', b'"colour"')
        await admin.execute("UPDATE jobs.schedules SET arguments = $1", sealer.seal(*of, changed))
    async with app.worker():
        await make_due(app)

        async def has_run() -> bool:
            return "last_job_id" in (await list_own(app))[0]

        await within(15, has_run)
        (schedule,) = await list_own(app)
        ended = (await ask(app, "wait_for_job", job_id=schedule["last_job_id"])).value
    assert (ended["state"], ended["is_error"], schedule["state"]) == ("failed", True, "active")
    assert "what" in ended["text"]
    assert app.workshop.effects == []


@on_shared_product
async def test_what_nobody_agrees_to_ends(app: TaskApp) -> None:
    await ask(app, "create_schedule", **HOURLY)
    async with open_role_database(app.product.deployment, BROKER_ROLE, max_connections=1) as broker:
        assert await Mandates(broker, clock=lambda: get_utc_now() + timedelta(hours=25)).sweep() == 1
    (ended,) = await list_own(app)
    assert (ended["state"], ended["end_reason"]) == ("ended", "no_consent")
    assert "consent_url" not in ended


@on_shared_product
async def test_the_same_key_makes_one_schedule(app: TaskApp) -> None:
    once: dict[str, Any] = {**HOURLY, "idempotency_key": "nightly"}
    first = (await ask(app, "create_schedule", **once)).value
    again = (await ask(app, "create_schedule", **once)).value
    assert (first["schedule_id"], first.get("was_there")) == (again["schedule_id"], None)
    assert again["was_there"] is True
    changes: tuple[dict[str, Any], ...] = (
        {"title": "other"},
        {"params": {"what": "x"}},
        {"every_seconds": 60},
        {"time_zone": "Asia/Tokyo"},
    )
    for changed in changes:
        assert (await ask(app, "create_schedule", **(once | changed))).text.startswith(OTHER_REQUEST)
    another: dict[str, Any] = once | {"idempotency_key": "x"}
    both = await asyncio.gather(*(ask(app, "create_schedule", **another) for _ in range(2)))
    assert len({answer.value["schedule_id"] for answer in both}) == 1
    other = (await ask(app, "create_schedule", app.bob, **once)).value
    assert other["schedule_id"] != first["schedule_id"]
    async with app.product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM auth.mandates WHERE ended_at IS NULL") == 3
