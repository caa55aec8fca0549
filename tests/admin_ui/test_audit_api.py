"""The audit log for the console: kinds of denials, exports, verification."""

import asyncio
import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from core.audit.event import AuditEvent, AuditEventKind, build_outcome_event
from core.audit.writer import append_events
from core.directory.services import set_service
from tests.admin_ui.admin_app import ACTOR, OPERATORS, AdminApp, Tenant

NOON = int(datetime(2026, 11, 20, 12, 0, tzinfo=UTC).timestamp() * 1e9)
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", '"=1', "名前,\n=1")


def denied(tenant: Tenant, module: str, tool: str) -> AuditEvent:
    return AuditEvent(
        at=NOON,
        kind=AuditEventKind.DENIED,
        tenant_id=tenant.id,
        user_id=tenant.user.id,
        module=module,
        tool=tool,
        outcome="denied",
    )


async def record(app: AdminApp, *events: AuditEvent) -> None:
    await append_events(app.console, list(events))
    await app.seal()


def call(tenant: Tenant, number: int = 0, outcome: str = "ok", **more: Any) -> list[AuditEvent]:
    intent = AuditEvent(
        at=NOON + number,
        kind=AuditEventKind.CALL_INTENT,
        tenant_id=tenant.id,
        user_id=tenant.user.id,
        module="kg",
        tool="search",
        **more,
    )
    return [intent, build_outcome_event(intent, outcome, 5)]


async def test_denials_at_hidden_tools_stand_out_for_administrators_alone(app: AdminApp, acme: Tenant) -> None:
    await set_service(app.console, ACTOR, acme.id, "kg", enabled=True)
    await record(
        app,
        denied(acme, "kg", "delete"),
        denied(acme, "kg", "made_up"),
        denied(acme, "made_up", "delete"),
        denied(acme, "kg", ""),
        *call(acme, outcome="denied"),
        *call(acme),
    )
    shown: dict[str, list[str]] = {}
    for name, client in (("admin", app.browser(acme.admin)), ("user", app.browser(acme.user))):
        items = (await client.get("/audit", params={"until": "2026-11-21T00:00:00Z"})).json()["items"]
        shown[name] = sorted(one["denial"] for one in items)
        await client.aclose()
    assert shown["admin"] == ["", "hidden_tool", "hidden_tool", "scope", "unknown_tool", "unknown_tool"]
    assert shown["user"] == ["", "scope", "tool", "tool", "tool", "tool"], "a model may read with this person's token"


async def test_an_export_as_csv_computes_nothing(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    await record(
        app, *[event for n, text in enumerate(FORMULAS) for event in call(acme, n, client=text)], *call(globex)
    )
    params = {"kind": "call", "until": "2026-11-21T00:00:00Z"}
    async with app.browser(acme.admin) as admin:
        listed = (await admin.get("/audit", params=params)).json()["items"]
        answer = await admin.get("/audit/export", params=params)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="audit.csv"'
    text = answer.content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["seq"] for row in rows] == [str(one["seq"]) for one in listed]
    assert list(rows[0]) == list(listed[0])
    assert not [
        cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝"))
    ]
    assert {row["client"].lstrip("'") for row in rows} == {one["client"] for one in listed}
    assert len(rows) == len(FORMULAS), "nothing of another tenant"


async def test_an_export_as_json_lines_is_what_the_list_says(app: AdminApp, acme: Tenant) -> None:
    await record(app, *[event for n in range(1_200) for event in call(acme, n)])
    async with app.browser(acme.admin) as admin:
        whole = await admin.get("/audit/export", params={"form": "jsonl", "kind": "call"})
        one = (await admin.get("/audit", params={"kind": "call", "limit": 1})).json()["items"][0]
        assert one["actor"] == "user@acme.example", "a call is recorded by the id of its person alone"
        empty = await admin.get("/audit/export", params={"module": "nothing"})
        await app.seal()
        (told, _) = (await admin.get("/audit", params={"kind": "audit.exported"})).json()["items"]
    lines = [json.loads(line) for line in whole.text.splitlines()]
    assert (len(lines), lines[0]) == (1_200, one)
    assert len(list(csv.reader(io.StringIO(empty.text)))) == 1, "the names of the columns"
    assert (told["actor"], told["detail"]) == ("admin@acme.example", {"form": "csv"})


async def test_an_export_is_for_administrators_and_bounded(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        assert (await user.get("/audit/export")).status_code == 403
        for wrong in ({"form": "xlsx"}, {"since": "yesterday"}, {"cursor": "x"}):
            assert (await admin.get("/audit/export", params=wrong)).status_code == 400
        answers = await asyncio.gather(*(admin.get("/audit/export") for _ in range(20)))
        assert {one.status_code for one in answers} <= {200, 429}
        assert (await admin.get("/audit/export")).status_code == 200, "places are given back"


SORTS = ["occurred_at", "-occurred_at"]


async def pages_of(client: httpx2.AsyncClient, **params: Any) -> list[list[int]]:
    """The numbers of the entries of each page."""
    pages: list[list[int]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await client.get("/audit", params=params | cursor)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        pages.append([one["seq"] for one in page["items"]])
        if page["next_cursor"] is None:
            return pages
        cursor = {"cursor": page["next_cursor"]}


@pytest.mark.parametrize("sort", SORTS)
async def test_the_log_is_sorted_by_time_either_way_and_paged(app: AdminApp, acme: Tenant, sort: str) -> None:
    globex = await app.tenant("globex")
    calls = [event for n in range(5) for event in call(acme, n // 2, outcome="error" if n == 4 else "ok")]
    await record(app, *calls, *call(globex, 1), denied(acme, "kg", "delete"))
    until = {"until": "2026-11-21T00:00:00Z"}
    async with app.browser(acme.admin) as admin, app.browser(globex.admin) as other, app.browser(acme.user) as user:
        (newest_first,) = await pages_of(admin, **until)
        expected = newest_first if sort.startswith("-") else newest_first[::-1]
        for limit in (1, 2, 3, 6, 200):
            pages = await pages_of(admin, **until, sort=sort, limit=limit)
            assert [seq for page in pages for seq in page] == expected, "two at one time stand on two pages, too"
            assert {len(page) for page in pages[:-1]} <= {limit}
        assert await pages_of(user, **until, sort=sort) == [expected], "all of it is this person's own"
        assert len((await pages_of(other, **until, sort=sort))[0]) == 1, "another tenant's call alone"
        for filter, count in (
            ({"kind": "call"}, 5),
            ({"outcome": "error"}, 1),
            ({"module": "kg"}, 6),
            ({"tool": "search"}, 5),
            ({"user": str(acme.admin.id)}, 0),
            ({"since": "2026-11-20T12:00:00.000001Z"}, 0),
        ):
            (found,) = await pages_of(admin, **until, **filter, sort=sort)
            assert found == [seq for seq in expected if seq in found]
            assert len(found) == count, filter
        assert (await admin.get("/audit", params={"sort": "seq"})).status_code == 400


async def test_the_log_of_the_deployment_is_sorted_by_time(app: AdminApp, acme: Tenant) -> None:
    await append_events(app.console, [AuditEvent(at=NOON + n * 10**9, kind="key.rotated") for n in range(3)])
    await app.seal()
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator, app.browser(acme.admin) as admin:
        found: list[list[str]] = []
        for sort in SORTS:
            answer = await operator.get("/deployment/audit", params={"kind": "key.rotated", "sort": sort})
            found.append([one["occurred_at"] for one in answer.json()["items"]])
        assert (await admin.get("/deployment/audit", params={"sort": SORTS[0]})).status_code == 403
    assert found == [sorted(found[0]), sorted(found[0], reverse=True)]
    assert len(found[0]) == 3


async def verified(client: httpx2.AsyncClient, **position: Any) -> Any:
    answer = await client.post("/audit/verification", json=position)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_chain_is_verified_step_by_step(app: AdminApp, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    await record(app, *[event for n in range(1_100) for event in call(acme, n)])
    newest = await app.value("SELECT max(seq) FROM audit.events WHERE tenant_id = $1", acme.id)
    monkeypatch.setattr("admin_ui.api.audit.MAX_VERIFIED_EVENTS", 1_000)
    async with app.browser(acme.admin) as admin:
        first = await verified(admin)
        assert (first["ok"], first["complete"]) == (True, False)
        assert 1_000 <= first["checked"] < newest
        assert first["head"]["seq"] == newest
        rest, found = first["checked"], first
        while not found["complete"]:
            found = await verified(admin, **found["position"])
            rest += found["checked"]
        assert (found["ok"], rest, found["position"]) == (True, newest, first["head"])
        assert (await verified(admin, **found["position"]))["complete"] is True
        wrong = await verified(admin, seq=first["position"]["seq"], hash="00" * 32)
        assert (wrong["ok"], wrong["first_bad"]) == (False, first["position"]["seq"] + 1)
        await app.execute(
            "UPDATE audit.events SET tool = 'other' WHERE tenant_id = $1 AND seq = $2", acme.id, newest - 5
        )
        broken = await verified(admin, **first["position"])
        while not broken["complete"]:
            broken = await verified(admin, **broken["position"])
        assert (broken["ok"], broken["first_bad"], broken["position"]) == (False, newest - 5, None)
        for half in ({"seq": 4}, {"hash": "00" * 32}, {"seq": 0, "hash": "00" * 32}, {"seq": 1, "hash": "zz"}):
            assert (await admin.post("/audit/verification", json=half)).status_code == 400


async def test_verification_is_for_administrators_of_their_own_log(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    await app.seal()
    await app.execute("UPDATE audit.events SET actor = 'x' WHERE tenant_id = $1 AND seq = 1", globex.id)
    async with app.browser(acme.admin) as admin, app.browser(globex.admin) as other, app.browser(acme.user) as user:
        assert (await verified(admin))["ok"] is True
        assert (await verified(other))["first_bad"] == 1
        assert (await user.post("/audit/verification", json={})).status_code == 403
