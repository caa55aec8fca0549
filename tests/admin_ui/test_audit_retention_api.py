"""How long the audit log is kept: told to every tenant, changed by the operator alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.sealer import AuditSealer
from core.audit.writer import append_events
from tests.admin_ui.admin_app import OPERATORS, AdminApp, Tenant

PATH = "/deployment/audit-retention"
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


async def seal_at(app: AdminApp, tenant: Tenant, moment: datetime) -> None:
    """Put an event of a tenant into the month of `moment`."""
    at = int(moment.timestamp() * 1e9)
    await append_events(app.console, [AuditEvent(at=at, kind=AuditEventKind.SIGN_IN, tenant_id=tenant.id)])
    await AuditSealer(app.console, lambda: moment).seal_all()


async def put(client: httpx2.AsyncClient, months: Any, **headers: str) -> httpx2.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.put(PATH, json={"keep_months": months}, headers=sent)


async def read(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.get(PATH)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_retention_is_told_with_the_oldest_entry_of_ones_own_log(app: AdminApp, acme: Tenant) -> None:
    globex, operators = await app.tenant("globex"), await app.tenant(OPERATORS)
    await seal_at(app, acme, NOON)
    async with app.browser(acme.admin) as admin, app.browser(globex.admin) as other, app.browser(acme.user) as user:
        mine, theirs = [(await one.get("/audit/retention")).json() for one in (admin, other)]
        assert (mine["keep_months"], theirs["keep_months"]) == (None, None)
        assert mine["oldest_at"] == NOON.isoformat().replace("+00:00", "Z")
        assert theirs["oldest_at"] > mine["oldest_at"]
        assert (await user.get("/audit/retention")).status_code == 403
        async with app.browser(operators.admin) as operator:
            assert (await put(operator, 3)).status_code == 200
        told = [(await one.get("/audit/retention")).json()["keep_months"] for one in (admin, other)]
        assert told == [3, 3], "at once, for every tenant"


async def test_the_operator_alone_changes_it(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    for person in (acme.admin, acme.user, operators.user):
        async with app.browser(person) as client:
            for method in ("GET", "PUT", "DELETE"):
                body = {"keep_months": 1} if method == "PUT" else None
                assert (await client.request(method, PATH, json=body)).status_code == 403
            assert (await client.get(f"{PATH}/preview")).status_code == 403
    async with app.browser(operators.admin) as operator:
        assert (await read(operator))["keep_months"] is None
        app.clock.ahead = timedelta(minutes=11)
        late = await put(operator, 1)
        assert (late.status_code, late.json()["code"]) == (403, "recent_sign_in_required")


@pytest.mark.guarantee("G15")
async def test_a_change_expects_a_version_and_is_recorded(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator, app.browser(acme.admin) as stranger:
        first = await operator.get(PATH)
        assert first.headers["etag"] == '"v0"'
        stored = await put(operator, 24, if_match='"v0"')
        assert (stored.status_code, stored.headers["etag"]) == (200, '"v1"')
        assert (stored.json()["keep_months"], stored.json()["stored_keep_months"]) == (24, 24)
        assert stored.json()["default_keep_months"] is None
        for refused in (
            await put(operator, 2, if_match='"v0"'),
            await operator.delete(PATH, headers={"If-Match": '"v9"'}),
        ):
            assert (refused.status_code, refused.json()["code"]) == (412, "version_conflict")
            current = refused.json()["current"]
            assert (current["etag"], current["changed_by"]) == ('"v1"', operators.admin.email)
            assert current["state"] == await read(operator)
        assert (await put(operator, 24)).headers["etag"] == '"v1"', "the same again is no change"
        gone = await operator.delete(PATH, headers={"If-Match": '"v1"'})
        assert (gone.status_code, gone.headers["etag"], gone.json()["keep_months"]) == (200, '"v2"', None)
        assert (await put(operator, 2, if_match='"v1"')).status_code == 412, "no version comes twice"
        await app.seal()
        entries = (await operator.get("/deployment/audit", params={"kind": "audit_retention"})).json()["items"]
        assert [(one["kind"], one["actor"], one["detail"]) for one in entries] == [
            ("audit_retention.removed", operators.admin.email, {"before_months": 24, "keep_months": 0}),
            ("audit_retention.set", operators.admin.email, {"before_months": 0, "keep_months": 24}),
        ]
        theirs = await stranger.get("/audit", params={"kind": "audit_retention"})
        assert theirs.json()["items"] == []


@pytest.mark.parametrize("wrong", [0, -1, 1_201, "x", None, 1.5])
async def test_a_number_of_months_has_its_limits(app: AdminApp, wrong: Any) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        assert (await put(operator, wrong)).status_code == 400
        assert (await operator.get(PATH)).headers["etag"] == '"v0"'


async def test_the_environment_says_the_most(app: AdminApp) -> None:
    app.audit_keep_months = 12
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator:
        assert await read(operator) | {"oldest_month": None} == {
            "keep_months": 12,
            "stored_keep_months": None,
            "default_keep_months": 12,
            "oldest_month": None,
            "updated_at": None,
        }
        refused = await put(operator, 13)
        assert refused.status_code == 400
        assert [one["field"] for one in refused.json()["errors"]] == ["keep_months"]
        assert "MCPIST_AUDIT_KEEP_MONTHS" in refused.text
        assert (await put(operator, 12)).json()["keep_months"] == 12
        assert (await put(operator, 3)).json()["keep_months"] == 3
    app.audit_keep_months, app.served = 2, None
    async with app.browser(operators.admin) as operator:
        now = await read(operator)
        assert (now["keep_months"], now["stored_keep_months"], now["default_keep_months"]) == (2, 3, 2)
        assert (await operator.delete(PATH)).json()["keep_months"] == 2


async def test_what_goes_is_told_before(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    now = app.clock()
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    before = (month - timedelta(days=1)).replace(day=1)
    oldest = (before - timedelta(days=1)).replace(day=1)
    async with app.browser(operators.admin) as operator:
        preview = f"{PATH}/preview"
        nothing = {"first_kept_day": None, "days": 0}
        assert (await operator.get(preview, params={"keep_months": 1})).json() == nothing, "an empty log"
        for moment in (oldest, before, now):
            await seal_at(app, acme, moment)
        assert (await read(operator))["oldest_month"] == oldest.date().isoformat()
        told = (await operator.get(preview, params={"keep_months": 1})).json()
        assert told == {"first_kept_day": before.date().isoformat(), "days": (before - oldest).days}
        assert (await operator.get(preview, params={"keep_months": 2})).json() == nothing
        assert (await operator.get(preview)).json() == nothing, "the default keeps everything"
        assert (await operator.get(preview, params={"keep_months": 0})).status_code == 400
