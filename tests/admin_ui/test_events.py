"""Event streams: hints of what changed, for whom they are, from a durable order, and until rights end."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from admin_ui.api.event_streams import MAX_REPLAYED_EVENTS, MAX_STREAMS_PER_PERSON, StreamTiming
from core.api.principal import Principal
from core.audit.event import AuditEvent, AuditEventKind, build_outcome_event
from core.audit.sealer import AuditSealer
from core.audit.writer import append_events
from core.scopes import MCP_SCOPES
from tests.admin_ui.admin_app import COOKIE, OPERATORS, URL, AdminApp, Person, Tenant
from tests.support.http_server import served

TRUST = {"dynamic_registration": False, "client_metadata_hosts": ["*.example"]}


@dataclass
class Stream:
    """A stream that is being read."""

    response: httpx2.Response
    pings: int = 0
    _lines: AsyncIterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self._lines = self.response.aiter_lines()

    async def next(self, seconds: float = 10) -> dict[str, Any]:
        """The next event; pings are counted."""
        found: dict[str, Any] = {}
        async with asyncio.timeout(seconds):
            async for line in self._lines:
                if line.startswith(":"):
                    self.pings += 1
                elif line:
                    name, _, value = line.partition(": ")
                    found[name] = json.loads(value) if name in ("data", "id") else value
                elif found:
                    return found
        raise AssertionError("the stream has ended")

    async def until(self, event: str) -> dict[str, Any]:
        """The next event of that name."""
        while (found := await self.next())["event"] != event:
            pass
        return found


@dataclass
class Live:
    """The API on a port, with long streams, and a sealer at work."""

    app: AdminApp
    base: str

    @contextlib.asynccontextmanager
    async def stream(self, person: Person, **headers: str) -> AsyncIterator[Stream]:
        sent = {"Cookie": f"{COOKIE}={person.session.reveal()}"} | headers
        async with (
            httpx2.AsyncClient(timeout=30) as client,
            client.stream("GET", f"{self.base}/events", headers=sent) as response,
        ):
            assert response.status_code == 200, await response.aread()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield Stream(response)


@pytest.fixture
async def live(app: AdminApp) -> AsyncIterator[Live]:
    app.timing = StreamTiming(0.5, 60, 60)
    app.feed_address = app.database.as_role("mcpist_console")
    sealer = AuditSealer(app.console, app.clock, min_pause=0.05, max_pause=0.1)
    sealing = asyncio.create_task(sealer.run())
    async with served(app.app()) as (_, port):
        yield Live(app, f"http://127.0.0.1:{port}/api/v1")
    sealing.cancel()


def call(person: Person) -> list[AuditEvent]:
    intent = AuditEvent(
        at=1_700_000_000_000_000_000,
        kind=AuditEventKind.CALL_INTENT,
        tenant_id=person.tenant_id,
        user_id=person.id,
        module="kg",
        tool="x",
    )
    return [intent, build_outcome_event(intent, "ok", 5)]


@pytest.mark.guarantee("G9")
async def test_each_person_is_told_what_concerns_them(live: Live, acme: Tenant) -> None:
    globex = await live.app.tenant("globex")
    await live.app.seal()  # what made the tenants is told to nobody
    async with (
        live.stream(acme.admin) as admin,
        live.stream(acme.user) as user,
        live.stream(globex.admin) as stranger,
        live.app.browser(acme.admin) as browser,
    ):
        for stream in (admin, user, stranger):
            assert (await stream.next())["event"] == "ready"
        changed = await browser.patch(f"/roles/{acme.role_id}", json={"priority": 3})
        told = await admin.next()
        own = {"request_id": changed.headers["x-request-id"]}
        assert told["data"] == {"resource": "roles", "kind": "role.changed", "object_id": ""} | own
        hint = await user.next()
        nothing = {"kind": "", "object_id": "", "request_id": ""}
        assert (hint["id"], hint["data"]) == (told["id"], {"resource": "tools"} | nothing)
        await append_events(live.app.console, call(acme.user))
        assert (await user.next())["data"]["kind"] == "call.outcome"
        assert (await admin.next())["data"]["kind"] == "call.outcome"
        await append_events(live.app.console, call(acme.admin))
        assert (await admin.next())["data"]["kind"] == "call.outcome"
        await browser.post("/users", json={"email": "new@acme.example"})
        assert (await admin.next())["data"]["resource"] == "users"
        await browser.patch(f"/users/{acme.user.id}", json={"name": "Other"})
        assert (await user.next())["data"]["kind"] == "user.changed", "what others do is not theirs, but this is"
        with pytest.raises(TimeoutError):
            await stranger.next(1)
        assert stranger.pings


@pytest.mark.guarantee("G9")
async def test_operators_are_told_of_the_deployment_and_nobody_else_is(live: Live, acme: Tenant) -> None:
    operators = await live.app.tenant(OPERATORS)
    await live.app.seal()
    async with (
        live.stream(operators.admin) as operator,
        live.stream(operators.user) as user,
        live.stream(acme.admin) as stranger,
        live.app.browser(operators.admin) as browser,
    ):
        for stream in (operator, user, stranger):
            assert (await stream.next())["event"] == "ready"
        trust = await browser.put("/deployment/client-trust", json=TRUST)
        assert trust.status_code == 200, trust.text
        told = await operator.next()
        assert "id" not in told
        own = {"object_id": "", "request_id": trust.headers["x-request-id"]}
        assert told["data"] == {"resource": "deployment/client-trust", "kind": "client_trust.set"} | own
        assert (await browser.patch(f"/tenants/{acme.id}", json={"status": "suspended"})).status_code == 200
        assert (await operator.next())["data"]["resource"] == "tenants"
        with pytest.raises(TimeoutError):
            await user.next(1)
    async with live.stream(operators.admin, **{"Last-Event-ID": "1"}) as resumed:
        wanted = {"deployment/client-trust", "tenants"}
        while wanted:  # what happened while it was away is told again
            wanted.discard((await resumed.until("change"))["data"]["resource"])


async def test_the_id_of_a_request_is_told_to_whoever_has_sent_it(live: Live, acme: Tenant) -> None:
    second = await live.app.person(acme.id, "second@acme.example", "admin")
    await live.app.seal()
    async with live.stream(acme.admin) as mine, live.stream(second) as theirs, live.app.browser(acme.admin) as browser:
        for stream in (mine, theirs):
            assert (await stream.next())["event"] == "ready"
        changed = await browser.patch(f"/users/{acme.user.id}", json={"name": "Other"})
        request = changed.headers["x-request-id"]
        assert (await mine.next())["data"]["request_id"] == request
        hint = (await theirs.next())["data"]
        assert (hint["kind"], hint["request_id"]) == ("user.changed", "")
        (entry,) = (await browser.get("/audit", params={"request_id": request})).json()["items"]
        assert (entry["kind"], entry["request_id"]) == ("user.changed", request)


async def test_it_goes_on_where_it_was_left_or_says_reset(live: Live, acme: Tenant) -> None:
    async with live.stream(acme.admin) as first:
        begun = (await first.next())["id"]
    await append_events(live.app.console, [event for _ in range(3) for event in call(acme.user)])
    await live.app.seal()
    async with live.stream(acme.admin, **{"Last-Event-ID": str(begun)}) as again:
        assert await again.next() == {"id": begun, "event": "ready", "data": {}}
        ids = [(await again.next())["id"] for _ in range(3)]
        assert ids == sorted(set(ids))
    for unknown in (begun + 10_000, 0):
        if unknown == 0:
            await live.app.execute("UPDATE audit.heads SET base_seq = 1 WHERE tenant_id = $1", acme.id)
        async with live.stream(acme.admin, **{"Last-Event-ID": str(unknown)}) as lost:
            told = await lost.next()
            assert (told["event"], told["id"] >= ids[-1]) == ("reset", True)
    await append_events(live.app.console, [event for _ in range(MAX_REPLAYED_EVENTS) for event in call(acme.user)])
    await live.app.seal()
    async with live.stream(acme.admin, **{"Last-Event-ID": str(ids[-1])}) as behind:
        assert (await behind.next())["event"] == "reset"


@pytest.mark.parametrize("loss", ["suspended", "demoted", "promoted", "signed out"])
async def test_it_ends_when_rights_change(live: Live, acme: Tenant, loss: str) -> None:
    second = await live.app.person(acme.id, "second@acme.example", "user" if loss == "promoted" else "admin")
    async with live.stream(second) as stream, live.app.browser(acme.admin) as browser:
        assert (await stream.next())["event"] == "ready"
        if loss == "signed out":
            await browser.delete(f"/sessions/{second.session_id}")
        else:
            change = {"suspended": {"status": "suspended"}}.get(loss, {"system_role": "user"})
            change = {"system_role": "admin"} if loss == "promoted" else change
            await browser.patch(f"/users/{second.id}", json=change)
        assert (await stream.until("end"))["data"] == {"reason": "rights"}


async def test_it_does_not_keep_a_session_alive(live: Live, acme: Tenant) -> None:
    seen = "SELECT last_seen_at FROM auth.sessions WHERE id = $1"
    before = await live.app.value(seen, acme.user.session_id)
    live.app.clock.ahead = timedelta(minutes=20)
    async with live.stream(acme.user) as stream:
        await stream.next()
        await asyncio.sleep(0.6)  # one sign of life, with its check
    assert await live.app.value(seen, acme.user.session_id) == before
    async with live.app.browser(acme.user) as browser:
        await browser.get("/me")
    assert await live.app.value(seen, acme.user.session_id) > before


async def test_streams_are_bounded_and_given_back(live: Live, acme: Tenant) -> None:
    async with contextlib.AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(live.stream(acme.user)) for _ in range(MAX_STREAMS_PER_PERSON)]
        assert [(await stream.next())["event"] for stream in streams] == ["ready"] * MAX_STREAMS_PER_PERSON
        async with httpx2.AsyncClient(headers={"Cookie": f"{COOKIE}={acme.user.session.reveal()}"}) as client:
            refused = await client.get(f"{live.base}/events")
            assert (refused.status_code, refused.json()["code"]) == (429, "limit_reached")
        async with live.stream(acme.admin) as other:
            assert (await other.next())["event"] == "ready"
    async with asyncio.timeout(10):
        while True:
            try:
                async with live.stream(acme.user) as stream:
                    await stream.next()
                    break
            except AssertionError:
                await asyncio.sleep(0.05)


async def test_it_ends_after_a_while_and_when_the_process_stops(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as browser:
        answer = await browser.get("/events")
    assert answer.text.endswith('event: end\ndata: {"reason":"time"}\n\n')
    app.timing = StreamTiming(30, 60, 60)
    admin = app.sections()[0].state["admin"]
    streams = admin.events  # type: ignore[attr-defined]

    async def never(**_: Any) -> Any:
        raise AssertionError

    user = acme.user
    principal = Principal(user.tenant_id, user.id, user.email, "user", MCP_SCOPES, None, "session")
    stream = streams.open(principal, None, never).run()
    assert b"ready" in await anext(stream)
    closing = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    streams.close()
    chunks = [await closing, *[chunk async for chunk in stream]]
    assert b'{"reason":"stopping"}' in chunks[-1]


@pytest.mark.parametrize("wrong", ["-1", "x", str(2**63), "1" * 5000])
async def test_a_wrong_id_is_refused(app: AdminApp, acme: Tenant, wrong: str) -> None:
    async with app.caller(Cookie=f"{COOKIE}={acme.user.session.reveal()}", Origin=URL) as client:
        assert (await client.get("/events", headers={"Last-Event-ID": wrong})).status_code == 400
