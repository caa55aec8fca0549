"""``/api/v1/schedules`` over HTTP: as checked as the tools are, each person's own, and without contents to others."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import httpx2
import pytest
import pytest_asyncio

from core.audit.event import AuditEventKind
from core.directory.tenants import set_status
from core.directory.users import change_user, remove_user
from core.scopes import ADMIN_SCOPES, ALL_SCOPES
from gateway.tasks.own_schedules import NOT_SCHEDULED, OTHER_REQUEST
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import on_shared_product, with_own_people
from tests.path.task_app import TaskApp
from tests.path.test_schedules import STEPS, agree
from tests.support.eventually import within
from tests.support.identity import Identity, identity_on
from tests.support.product import ACTOR, Person

HOURLY = {"title": "毎時", "module": "workshop", "tool": "make", "params": {"what": "椅子"}, "every_seconds": 3600}
BERLIN = ZoneInfo("Europe/Berlin")


@dataclass
class Desk:
    """The whole product at a port, with a worker when it is wanted."""

    app: TaskApp
    identity: Identity

    async def ask(self, person: Person, method: str, path: str = "", *, headers: Any = None, **options: Any) -> Any:
        bearer = {"Authorization": f"Bearer {person.token}"}
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
            url = f"{self.identity.url}/api/v1/schedules{path}"
            return await http.request(method, url, headers=bearer if headers is None else headers, **options)

    async def create(self, person: Person | None = None, **changes: Any) -> dict[str, Any]:
        answer = await self.ask(person or self.app.ada, "POST", json=HOURLY | changes)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def show(self, schedule: dict[str, Any], person: Person | None = None) -> dict[str, Any]:
        return (await self.ask(person or self.app.ada, "GET", f"/{schedule['id']}")).json()

    async def admin(self) -> Person:
        """An administrator of the tenant of Ada and Bob."""
        boss = await self.app.product.person(self.app.ada.tenant, f"boss-{uuid4()}@acme.test")
        await change_user(self.app.product.console, ACTOR, boss.tenant.id, boss.id, system_role="admin")
        return await self.app.product.with_token(boss, scopes=ALL_SCOPES)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_identity(shared_task_app: TaskApp) -> AsyncIterator[Identity]:
    async with identity_on(shared_task_app.product, providers=False) as identity:
        yield identity


@pytest.fixture
def desk(shared_identity: Identity, task_app: TaskApp) -> Desk:
    return Desk(task_app, shared_identity)


@on_shared_product
async def test_a_schedule_of_a_script_s_runs_when_its_person_has_agreed(desk: Desk) -> None:
    made = await desk.create()
    assert (made["state"], made["title"], made["kind"]) == ("waiting_for_consent", "毎時", "call")
    assert made["consent_url"] == f"{desk.identity.url}/account#mandates"
    assert made["user_email"] == desk.app.ada.email
    early = await desk.ask(desk.app.ada, "POST", f"/{made['id']}/run")
    assert (early.status_code, early.json()["code"]) == (409, "conflict")
    await agree(desk.app, desk.app.ada)
    agreed = await desk.show(made)
    assert (agreed["state"], agreed["consent_url"], agreed["mandate_expires_at"] > agreed["created_at"]) == (
        "active",
        None,
        True,
    )
    async with desk.app.worker():
        run = await desk.ask(desk.app.ada, "POST", f"/{made['id']}/run")
        assert run.status_code == 200

        async def has_run() -> bool:
            return desk.app.workshop.effects == ["椅子"]

        await within(15, has_run)
    shown = await desk.show(made)
    assert (shown["state"], shown["last_job_id"] is None, shown["skipped_runs"]) == ("active", False, 0)
    assert datetime.fromisoformat(shown["next_run_at"]) > datetime.now(UTC) + timedelta(minutes=58)
    for action, state in (("pause", "paused"), ("pause", "paused"), ("resumption", "active"), ("resumption", "active")):
        assert (await desk.ask(desk.app.ada, "POST", f"/{made['id']}/{action}")).json()["state"] == state
    assert (await desk.ask(desk.app.ada, "DELETE", f"/{made['id']}")).status_code == 204
    assert (await desk.ask(desk.app.ada, "DELETE", f"/{made['id']}")).status_code == 404
    async with desk.app.product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM auth.mandates WHERE ended_at IS NULL") == 0
    kinds = [event.kind for event in await desk.app.product.events(desk.app.ada.tenant) if "schedule." in event.kind]
    assert kinds == ["schedule.run", "schedule.paused", "schedule.resumed", "schedule.deleted"]


@on_shared_product
@pytest.mark.guarantee("G9")
async def test_each_person_has_their_own_and_administrators_no_contents(desk: Desk) -> None:
    made = [await desk.create(title=f"秘密 {number}") for number in range(3)]
    await desk.create(desk.app.eve)
    boss = await desk.admin()
    for stranger in (desk.app.bob, desk.app.eve):
        for method, path in (
            ("GET", ""),
            ("DELETE", ""),
            ("POST", "/pause"),
            ("POST", "/resumption"),
            ("POST", "/run"),
        ):
            for named in (made[0]["id"], str(uuid4())):
                assert (await desk.ask(stranger, method, f"/{named}{path}")).status_code == 404
        assert (await desk.ask(stranger, "GET", params={"all_owners": "true"})).status_code == 403
        assert (await desk.ask(stranger, "GET", params={"user": str(desk.app.ada.id)})).status_code == 403
    assert (await desk.ask(desk.app.bob, "GET")).json()["items"] == []
    pages = []
    cursor: str | None = ""
    while cursor is not None:
        asked = {"limit": "2", "all_owners": "true"} | ({"cursor": cursor} if cursor else {})
        page = (await desk.ask(boss, "GET", params=asked)).json()
        pages.append([one["id"] for one in page["items"]])
        cursor = page["next_cursor"]
    assert pages == [[made[2]["id"], made[1]["id"]], [made[0]["id"]]]
    seen = await desk.ask(boss, "GET", f"/{made[0]['id']}")
    assert "秘密" not in seen.text
    assert "椅子" not in seen.text
    assert (seen.json()["title"], seen.json()["consent_url"], seen.json()["tool"]) == ("", None, "make")
    waiting = (await desk.ask(boss, "GET", params={"all_owners": "true", "state": "waiting_for_consent"})).json()
    assert len(waiting["items"]) == 3
    assert (await desk.ask(boss, "GET", params={"all_owners": "true", "state": "active"})).json()["items"] == []
    for own in ("resumption", "run"):
        assert (await desk.ask(boss, "POST", f"/{made[0]['id']}/{own}")).status_code == 404
    assert (await desk.ask(boss, "POST", f"/{made[0]['id']}/pause")).json()["next_run_at"] is None
    assert (await desk.ask(boss, "DELETE", f"/{made[1]['id']}")).status_code == 204
    assert [one["title"] for one in (await desk.ask(desk.app.ada, "GET")).json()["items"]] == ["秘密 2", "秘密 0"]


@on_shared_product
async def test_its_person_changes_all_but_its_call(desk: Desk) -> None:
    made = await desk.create()
    await agree(desk.app, desk.app.ada)
    path = f"/{made['id']}"
    changes = {"title": "朝", "cron": "0  8 * * *", "time_zone": "Asia/Tokyo", "overlap": "wait", "notify": "failure"}
    changed = (await desk.ask(desk.app.ada, "PATCH", path, json=changes)).json()
    shown = {name: changed[name] for name in (*changes, "every_seconds", "state")}
    assert shown == changes | {"cron": "0 8 * * *", "every_seconds": None, "state": "active"}
    assert changed["next_run_at"].endswith("T23:00:00Z")
    zone = (await desk.ask(desk.app.ada, "PATCH", path, json={"time_zone": "UTC"})).json()
    assert (zone["cron"], zone["next_run_at"][-9:]) == ("0 8 * * *", "08:00:00Z")
    assert (await desk.ask(desk.app.ada, "PATCH", path, json={"title": "朝"})).json() == zone
    boss = await desk.admin()
    for stranger in (desk.app.bob, desk.app.eve, boss):
        for named in (path, f"/{uuid4()}"):
            assert (await desk.ask(stranger, "PATCH", named, json={"title": "x"})).status_code == 404
    reader = await desk.app.product.with_token(desk.app.ada, read_only=True)
    assert (await desk.ask(reader, "PATCH", path, json={"title": "x"})).status_code == 403
    wrong: tuple[dict[str, Any], ...] = (
        {"params": {"what": "机"}},
        {"title": "a\nb"},
        {"cron": "bad"},
        {"cron": "* * * * *", "every_seconds": 60},
        {"every_seconds": 59},
        {"at": "2126-01-01T00:00"},
        {"at": f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M}"},
        {"time_zone": "Mars"},
        {"notify": "sometimes"},
    )
    for body in wrong:
        answer = await desk.ask(desk.app.ada, "PATCH", path, json=body)
        assert answer.status_code in (400, 422), (body, answer.text)
    assert await desk.show(made) == zone
    paused = (await desk.ask(desk.app.ada, "POST", f"{path}/pause")).json()
    rested = (await desk.ask(desk.app.ada, "PATCH", path, json={"every_seconds": 7200})).json()
    assert (paused["state"], rested["state"], rested["next_run_at"]) == ("paused", "paused", None)
    resumed = (await desk.ask(desk.app.ada, "POST", f"{path}/resumption")).json()
    assert datetime.fromisoformat(resumed["next_run_at"]) > datetime.now(UTC) + timedelta(minutes=118)
    events = await desk.app.product.events(desk.app.ada.tenant, AuditEventKind.SCHEDULE_CHANGED)
    assert [(event.detail or {})["changed"] for event in events] == ["title rule overlap notify", "rule", "rule"]
    assert {(event.detail or {})["schedule"] for event in events} == {made["id"]}
    async with desk.app.product.database.admin_connection() as admin:
        assert [*await admin.fetchrow("SELECT title, ended_at FROM auth.mandates")] == ["朝", None]
    await desk.ask(desk.app.ada, "DELETE", path)
    assert (await desk.ask(desk.app.ada, "PATCH", path, json={"title": "x"})).status_code == 404


@on_shared_product
async def test_a_single_run_is_moved_within_its_permission(desk: Desk) -> None:
    at = (datetime.now(UTC) + timedelta(days=2)).replace(second=0, microsecond=0)
    made = await desk.create(every_seconds=None, at=f"{at:%Y-%m-%dT%H:%M}")
    path = f"/{made['id']}"
    later = at + timedelta(days=6)
    moved = await desk.ask(desk.app.ada, "PATCH", path, json={"at": f"{later:%Y-%m-%dT%H:%M}"})
    assert datetime.fromisoformat(moved.json()["next_run_at"]) == later
    latest = await desk.ask(desk.app.ada, "PATCH", path, json={"at": f"{at + timedelta(days=7):%Y-%m-%dT%H:%M}"})
    assert (latest.status_code, "permission" in latest.json()["detail"]) == (409, True)
    for body in ({"every_seconds": 60}, {"time_zone": "Asia/Tokyo"}):
        assert (await desk.ask(desk.app.ada, "PATCH", path, json=body)).status_code == 400
    async with desk.app.product.database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.schedules SET state = 'ended', next_run_at = NULL, end_reason = 'completed'")
    ended = await desk.ask(desk.app.ada, "PATCH", path, json={"title": "x"})
    assert (ended.status_code, ended.json()["detail"]) == (409, "this schedule is ended")


@on_shared_product
async def test_it_is_as_checked_as_the_tool(desk: Desk) -> None:
    nobody = await desk.app.product.person(desk.app.ada.tenant, "nobody@acme.test")
    for changes in ({}, {"tool": "no_such_tool"}):
        refused = await desk.ask(nobody, "POST", json=HOURLY | changes)
        assert (refused.status_code, refused.json()["detail"]) == (400, NO_SUCH_TOOL)
    events = await desk.app.product.events(desk.app.ada.tenant, AuditEventKind.DENIED)
    assert [event.tool for event in events] == ["make", "no_such_tool"]
    own = await desk.ask(desk.app.ada, "POST", json=HOURLY | {"module": "jobs", "tool": "list_jobs", "params": {}})
    assert own.json()["detail"] == NOT_SCHEDULED
    wrong = await desk.ask(desk.app.ada, "POST", json=HOURLY | {"params": {"colour": "red"}})
    assert (wrong.status_code, "what" in wrong.json()["detail"]) == (400, True)
    reader = await desk.app.product.with_token(desk.app.ada, read_only=True)
    administrator = await desk.app.product.with_token(await desk.admin(), scopes=ADMIN_SCOPES)
    for credential in (reader, administrator):
        refused = await desk.ask(credential, "POST", json=HOURLY)
        assert (refused.status_code, refused.json()["code"]) == (403, "insufficient_scope")
    cookie = {"Cookie": await desk.identity.session(desk.app.ada), "Origin": desk.identity.url}
    page = await desk.ask(desk.app.ada, "POST", json=HOURLY, headers=cookie)
    assert (page.status_code, "access-token" in page.json()["detail"]) == (409, True)
    assert (await desk.ask(desk.app.ada, "GET", headers=cookie)).json()["items"] == []
    assert (await desk.ask(desk.app.ada, "POST", json=HOURLY, headers={"Authorization": "Bearer x"})).status_code == 401
    async with desk.app.product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM auth.mandates") == 0


@on_shared_product
async def test_a_page_makes_one_with_its_session_s_access_token(desk: Desk) -> None:
    cookie = {"Cookie": await desk.identity.session(desk.app.ada), "Origin": desk.identity.url}
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
        answer = await http.post(f"{desk.identity.url}/api/v1/sessions/current/access-token", headers=cookie)
    bearer = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    assert (await desk.ask(desk.app.ada, "POST", json=HOURLY, headers=bearer)).status_code == 201
    assert len((await desk.ask(desk.app.ada, "GET", headers=cookie)).json()["items"]) == 1


@on_shared_product
async def test_the_same_key_makes_one(desk: Desk) -> None:
    key = {"Authorization": f"Bearer {desk.app.ada.token}", "Idempotency-Key": "nightly"}
    answers = [await desk.ask(desk.app.ada, "POST", json=HOURLY, headers=key) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert answers[0].json() == answers[1].json()
    other = await desk.ask(desk.app.ada, "POST", json=HOURLY | {"title": "other"}, headers=key)
    assert (other.status_code, other.json()["detail"]) == (409, OTHER_REQUEST)
    wrong = await desk.ask(desk.app.ada, "POST", json=HOURLY, headers=key | {"Idempotency-Key": "a b"})
    assert wrong.status_code == 400


@on_shared_product
async def test_a_batch_is_scheduled(desk: Desk) -> None:
    steps = {"module": "", "tool": "", "params": {}, "commands": list(STEPS)}
    made = await desk.create(**steps)
    assert (made["kind"], made["module"], made["tool"]) == ("batch", "", "")
    wrong = await desk.ask(desk.app.ada, "POST", json=HOURLY | steps | {"commands": [STEPS[1]]})
    assert (wrong.status_code, "the batch cannot run" in wrong.json()["detail"]) == (400, True)


def next_change(forward: bool) -> datetime:
    """The day on which clocks go forward or back next in Berlin."""
    day = datetime.now(BERLIN).replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=1)
    while True:
        before = (day - timedelta(days=1)).utcoffset()
        if before != day.utcoffset() and (day.utcoffset() > before) == forward:  # type: ignore[operator]
            return day
        day += timedelta(days=1)


@on_shared_product
@pytest.mark.parametrize(
    ("forward", "cron", "expected"),
    [(True, True, "01:00"), (True, False, "01:30"), (False, True, "00:30"), (False, False, "00:30")],
)
async def test_a_local_hour_that_is_skipped_or_doubled(desk: Desk, forward: bool, cron: bool, expected: str) -> None:
    day = next_change(forward)
    at = f"{day:%Y-%m-%d}T02:30"
    when: dict[str, Any] = {"cron": f"30 2 {day.day} {day.month} *"} if cron else {"at": at}
    made = await desk.create(every_seconds=None, time_zone="Europe/Berlin", **when)
    assert made["next_run_at"] == f"{day:%Y-%m-%d}T{expected}:00Z"
    assert made["at"] == (None if cron else made["next_run_at"])
    if not cron:
        paused = await desk.ask(desk.app.ada, "POST", f"/{made['id']}/pause")
        assert (paused.status_code, paused.json()["detail"]) == (409, "a single run cannot be paused; delete it")
        last = datetime.fromisoformat(made["at"]) + timedelta(days=7)
        assert datetime.fromisoformat(made["mandate_expires_at"]) == last


REFUSED_CHANGES: list[dict[str, Any]] = [
    {"title": ""},
    {"title": "x" * 201},
    {"title": "a\nb"},
    {"module": "x" * 64},
    {"tool": "x" * 129},
    {"cron": "*" * 101, "every_seconds": None},
    {"cron": "1" * 100, "every_seconds": None},
    {"every_seconds": 59},
    {"every_seconds": 31_622_401},
    {"every_seconds": None},
    {"at": "9" * 41, "every_seconds": None},
    {"at": "2001-01-01", "every_seconds": None},
    {"at": "0001-01-01T00:00+23:59", "every_seconds": None},
    {"time_zone": ""},
    {"time_zone": "../../etc/passwd"},
    {"overlap": "both"},
    {"commands": [{}] * 51},
    {"params": {"what": "x" * 70_000}},
    {"params": {"what": "\x00" * 10, "more": 1}},
    {"colour": "red"},
]


@on_shared_product
async def test_every_input_has_a_limit(desk: Desk) -> None:
    for changes in REFUSED_CHANGES:
        answer = await desk.ask(desk.app.ada, "POST", json=HOURLY | changes)
        assert answer.status_code in (400, 413, 422), answer.text
        assert len(answer.text) < 2_000
        assert (await desk.ask(desk.app.ada, "GET")).json()["items"] == []


@with_own_people
async def test_what_becomes_of_them_with_their_person(desk: Desk) -> None:
    console, tenant = desk.app.product.console, desk.app.ada.tenant.id
    boss = await desk.admin()
    made = await desk.create()
    other = await desk.create(desk.app.bob)
    await change_user(console, ACTOR, tenant, desk.app.ada.id, status="suspended")
    assert (await desk.ask(desk.app.ada, "GET")).status_code == 401
    ended = await desk.show(made, boss)
    assert (ended["state"], ended["end_reason"], ended["next_run_at"]) == ("ended", "user_suspended", None)
    await change_user(console, ACTOR, tenant, desk.app.ada.id, status="active")
    assert (await desk.show(made))["state"] == "ended"
    for action in ("pause", "resumption", "run"):
        assert (await desk.ask(desk.app.ada, "POST", f"/{made['id']}/{action}")).status_code == 409
    await remove_user(console, ACTOR, tenant, desk.app.bob.id)
    assert (await desk.ask(boss, "GET", f"/{other['id']}")).status_code == 404
    await set_status(console, ACTOR, tenant, "suspended")
    assert (await desk.ask(boss, "GET")).status_code == 401


ODD_BODIES = [
    b'{"title": "\\ud800", "module": "workshop", "tool": "make", "params": {"what": "x"}, "every_seconds": 60}',
    b'{"title": "x", "module": "workshop", "tool": "make", "params": {"what": "\\ud800"}, "every_seconds": 60}',
    b'{"title": "x", "module": "workshop", "tool": "make", "params": {"\\udfff": 1}, "every_seconds": 60}',
    b'{"title": "x", "module": "workshop", "tool": "make", "params": {"what": 1e999}, "every_seconds": 60}',
    b'{"title": "x", "module": "workshop", "tool": "make", "params": {"what": NaN}, "every_seconds": 60}',
    b'{"title": "x", "module": "workshop", "tool": "make", "params": {"what": '
    + b"9" * 5_000
    + b'}, "every_seconds": 60}',
    b'{"title": "x", "commands": ' + b'[{"a":' * 4_000 + b"1" + b"}]" * 4_000 + b', "every_seconds": 60}',
    b'{"title": "x", "commands": [' + b"{}," * 20_000 + b'{}], "every_seconds": 60}',
    b'{"title": "\xff", "every_seconds": 60}',
    b'{"title": "x", "module": "workshop", "tool": "make", "params": {"what": '
    + b"[" * 300
    + b"]" * 300
    + b'}, "every_seconds": 60}',
    b"(" * 60_000,
    b"",
]


@on_shared_product
async def test_odd_bytes_are_refused(desk: Desk) -> None:
    for body in ODD_BODIES:
        headers = {"Authorization": f"Bearer {desk.app.ada.token}", "Content-Type": "application/json"}
        answer = await desk.ask(desk.app.ada, "POST", content=body, headers=headers)
        assert answer.status_code in (400, 422), answer.text
        assert len(answer.text) < 2_000
