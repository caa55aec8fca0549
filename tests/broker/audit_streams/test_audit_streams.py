"""The stream of the audit log to a collector: over the API, with a collector that listens on loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from broker.audit_streams import record_batches
from broker.audit_streams.collector import Collector
from broker.audit_streams.deliveries import CLAIMED_FOR, compute_pause
from broker.audit_streams.stream_dispatcher import MAX_FAILING, AuditStreamDispatcher
from broker.audit_streams.stream_settings import count_late_streams
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.http.outbound_addresses import AllowedAddresses
from tests.admin_ui.admin_app import AdminApp, Tenant, app_on
from tests.broker.audit_streams.collector_server import SECRET, CollectorServer
from tests.support.postgres import ScratchDatabase

PATH = "/audit-stream"


@pytest.fixture
async def collector() -> AsyncIterator[CollectorServer]:
    async with CollectorServer() as server:
        yield server


@pytest.fixture
async def other() -> AsyncIterator[CollectorServer]:
    async with CollectorServer() as server:
        yield server


@pytest.fixture
async def app(database: ScratchDatabase, collector: CollectorServer, other: CollectorServer) -> AsyncIterator[AdminApp]:
    async with app_on(database, f"127.0.0.1:{collector.port}", f"127.0.0.1:{other.port}", "127.0.0.1:1") as made:
        yield made


@pytest.fixture
async def acme(app: AdminApp) -> Tenant:
    return await app.tenant("acme")


@contextlib.asynccontextmanager
async def dispatching(app: AdminApp, *hosts: CollectorServer, seconds: float = 10.0) -> AsyncIterator[Any]:
    """A process that delivers."""
    allowed = AllowedAddresses.from_hosts((*(f"127.0.0.1:{host.port}" for host in hosts), "127.0.0.1:1"))
    http = VendorHttpClient(allowed, seconds=seconds)
    await http.open()
    vault = await open_vault(app.broker, InMemoryKeyProvider("k", {"k": b"k" * 32}), clock=app.clock)
    yield AuditStreamDispatcher(app.broker, vault, Collector(http), clock=app.clock, chance=lambda: 1.0)
    await http.close()


async def deliver(dispatcher: AuditStreamDispatcher) -> None:
    dispatcher._unused_until = 0
    await dispatcher.start_due()
    await dispatcher.wait_until_idle()


async def happen(app: AdminApp, tenant: Tenant, count: int) -> None:
    """Let `count` events of a tenant be sealed."""
    async with app.browser(tenant.admin) as admin:
        for number in range(count):
            answer = await admin.post("/roles", json={"name": f"role {number} {await head(app, tenant.id)}"})
            assert answer.status_code == 201, answer.text
    await app.seal()


async def head(app: AdminApp, tenant_id: UUID) -> int:
    return await app.value("SELECT seq FROM audit.heads WHERE tenant_id = $1", tenant_id) or 0


async def stream_to(app: AdminApp, tenant: Tenant, collector: CollectorServer, **more: Any) -> Any:
    async with app.browser(tenant.admin) as admin:
        answer = await admin.put(PATH, json={"url": collector.url, "secret": SECRET} | more)
        assert answer.status_code == 200, answer.text
    return answer


async def stand(app: AdminApp, tenant: Tenant) -> Any:
    async with app.browser(tenant.admin) as admin:
        return (await admin.get(PATH)).json()


async def test_streams_that_are_late_are_counted(app: AdminApp, acme: Tenant, collector: CollectorServer) -> None:
    globex = await app.tenant("globex")
    other = await app.tenant("initech")
    for tenant, enabled in ((acme, True), (globex, True), (other, False)):
        await stream_to(app, tenant, collector, enabled=enabled)
    later = app.clock() + timedelta(days=1)
    await happen(app, other, 1)
    await happen(app, acme, 1)
    assert await count_late_streams(app.broker, later) == await count_streams_with_pending(app, acme, globex)
    assert await count_late_streams(app.broker, later) >= 1
    assert await count_late_streams(app.broker, app.clock() - timedelta(days=1)) == 0
    async with dispatching(app, collector) as dispatcher:
        await deliver(dispatcher)
    assert await count_late_streams(app.broker, later) == 0, "the one that is off does not count"


async def count_streams_with_pending(app: AdminApp, *tenants: Tenant) -> int:
    return sum([(await stand(app, tenant))["pending"] > 0 for tenant in tenants])


async def test_a_stream_from_tried_to_removed(app: AdminApp, acme: Tenant, collector: CollectorServer) -> None:
    globex = await app.tenant("globex")
    given = {"url": collector.url, "secret": SECRET}
    async with (
        app.browser(acme.admin) as admin,
        app.browser(acme.user) as user,
        app.browser(globex.admin) as elsewhere,
        app.script(acme.admin.token) as script,
    ):
        assert (await admin.get(PATH)).status_code == 404
        tried = (await admin.post(f"{PATH}/test", json=given)).json()
        assert tried == {
            "passed": True,
            "checks": [
                {
                    "check": "message",
                    "outcome": "ok",
                    "message": "the collector has taken a trial record",
                    "message_ja": "コレクターがテスト記録を受け付けました",
                }
            ],
        }
        assert (await admin.get(PATH)).status_code == 404
        wrong = await admin.put(PATH, json={"url": collector.url})
        assert (wrong.status_code, "secret" in wrong.text) == (400, True)
        assert (await admin.put(PATH, json=given | {"secret": "short"})).status_code == 400
        assert (await admin.put(PATH, json=given | {"url": "ftp://127.0.0.1/"})).status_code == 400
        saved = await admin.put(PATH, json=given, headers={"If-Match": '"v0"'})
        assert (saved.status_code, saved.headers["etag"]) == (200, '"v1"')
        again = await admin.put(PATH, json=given, headers={"If-Match": '"v0"'})
        assert (again.status_code, again.json()["current"]["state"]["url"]) == (412, collector.url)
        read = await admin.get(PATH)
        assert (read.headers["etag"], read.json()["enabled"]) == ('"v1"', True)
        assert SECRET[6:] not in read.text + saved.text
        for stranger, status in ((user, 403), (elsewhere, 404)):
            assert (await stranger.get(PATH)).status_code == status
            assert (await stranger.delete(PATH)).status_code == status
        assert (await user.put(PATH, json=given)).status_code == 403
        assert (await script.put(PATH, json=given)).status_code == 403
        kept = await admin.put(PATH, json={"url": collector.url, "enabled": False}, headers={"If-Match": '"v1"'})
        assert (kept.headers["etag"], kept.json()["checks"]) == ('"v2"', [])
        assert (await admin.delete(PATH)).status_code == 204
        assert (await admin.get(PATH)).status_code == 404
        await app.seal()
        kinds = [one["kind"] for one in (await admin.get("/audit", params={"kind": "audit_stream"})).json()["items"]]
    assert kinds == ["audit_stream.removed", "audit_stream.set", "audit_stream.set"]


async def test_a_trial_that_fails_names_the_reason_and_stores_nothing(
    app: AdminApp, acme: Tenant, collector: CollectorServer
) -> None:
    async with app.browser(acme.admin) as admin:
        for url, status, words in (
            (collector.url, 503, "503"),
            (collector.url, 302, "302"),
            ("http://127.0.0.1:1/", 200, "does not take connections"),
            ("http://127.0.0.2:80/", 200, "MCPIST_ALLOWED_PRIVATE_HOSTS"),
        ):
            collector.status = status
            answer = await admin.put(PATH, json={"url": url, "secret": SECRET})
            assert (answer.status_code, words in answer.text) == (409, True), answer.text
            assert "stranger" not in answer.text
        assert (await admin.get(PATH)).status_code == 404
        collector.status = 503
        forced = await admin.put(PATH, json={"url": collector.url, "secret": SECRET, "despite_failures": True})
        assert (forced.status_code, forced.json()["checks"][0]["outcome"]) == (200, "failed")


@pytest.mark.guarantee("G15")
async def test_each_tenants_records_reach_its_collector_in_order(
    app: AdminApp, acme: Tenant, collector: CollectorServer, other: CollectorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.audit_streams.stream_dispatcher.MAX_RECORDS", 7)
    globex = await app.tenant("globex")
    await app.seal()
    before = await head(app, acme.id)
    await stream_to(app, acme, collector)
    await stream_to(app, globex, other, from_beginning=True)
    await happen(app, acme, 20)
    await happen(app, globex, 3)
    async with dispatching(app, collector, other) as dispatcher:
        await deliver(dispatcher)
    assert collector.numbers == list(range(before + 1, await head(app, acme.id) + 1))
    assert other.numbers == list(range(1, await head(app, globex.id) + 1))
    headers, records = collector.requests[1]
    assert (headers["Content-Type"], len(records)) == ("application/jsonl", 7)
    assert headers["webhook-id"].endswith(f".{records[0]['seq']}-{records[-1]['seq']}")
    created = next(record for record in collector.taken if record["kind"] == "role.created")
    assert created["actor"] == acme.admin.email
    chain = await app.value("SELECT encode(hash, 'hex') FROM audit.events WHERE seq = $1 AND tenant_id = $2",
                            created["seq"], acme.id)  # fmt: skip
    assert created["hash"] == chain
    shown = await stand(app, acme)
    assert (shown["pending"], shown["last_error"], shown["oldest_pending_at"]) == (0, "", None)
    assert shown["delivered_at"] is not None


async def test_a_collector_that_refuses_gets_the_same_records_later(
    app: AdminApp, acme: Tenant, collector: CollectorServer
) -> None:
    await stream_to(app, acme, collector)
    await happen(app, acme, 3)
    collector.status = 503
    async with dispatching(app, collector) as dispatcher:
        await deliver(dispatcher)
        await deliver(dispatcher)
        assert len(collector.requests) == 2, "the trial, and one attempt before the pause"
        shown = await stand(app, acme)
        assert (shown["last_error"], shown["pending"] > 0, bool(shown["next_attempt_at"])) == ("status_503", True, True)
        collector.status = 200
        app.clock.ahead += timedelta(seconds=6)
        await deliver(dispatcher)
    first, second = (records for _, records in collector.requests[1:])
    assert second[: len(first)] == first
    shown = await stand(app, acme)
    assert (shown["last_error"], shown["failing_since"], shown["pending"]) == ("", None, 0)


async def test_what_one_collector_does_delays_no_other(
    app: AdminApp, acme: Tenant, collector: CollectorServer, other: CollectorServer
) -> None:
    """More collectors than there are places for failing ones do not answer; the other one is asked at once."""
    dead = [await app.tenant(f"dead{number}") for number in range(MAX_FAILING + 2)]
    for tenant in dead:
        await stream_to(app, tenant, collector)
        await happen(app, tenant, 1)
    await stream_to(app, acme, other)
    async with dispatching(app, collector, other) as dispatcher:
        collector.status = 500
        await deliver(dispatcher)
        app.clock.ahead += timedelta(minutes=1)
        collector.gate.clear()
        collector.arrived.clear()
        await happen(app, acme, 2)
        await dispatcher.start_due()
        await collector.arrived.wait()
        taken_by = dispatcher._running[False][acme.id]
        await taken_by
        assert other.numbers, "while the others hang"
        assert len(dispatcher._running[True]) == MAX_FAILING
        collector.gate.set()
        await dispatcher.wait_until_idle()


async def test_a_slow_collector_counts_as_failed(app: AdminApp, acme: Tenant, collector: CollectorServer) -> None:
    await stream_to(app, acme, collector)
    await happen(app, acme, 1)
    collector.gate.clear()
    async with dispatching(app, collector, seconds=0.2) as dispatcher:
        await deliver(dispatcher)
    assert (await stand(app, acme))["last_error"] == "timeout"


async def test_a_collector_that_is_away_is_asked_again(app: AdminApp, acme: Tenant, collector: CollectorServer) -> None:
    await stream_to(app, acme, collector)
    await happen(app, acme, 1)
    async with dispatching(app, collector) as dispatcher:
        await collector.__aexit__()
        await deliver(dispatcher)
        assert (await stand(app, acme))["last_error"] == "connect"
        await collector.__aenter__()
        app.clock.ahead += timedelta(seconds=6)
        await deliver(dispatcher)
    assert (await stand(app, acme))["pending"] == 0


async def test_batches_shrink_for_a_collector_that_takes_less(
    app: AdminApp, acme: Tenant, collector: CollectorServer
) -> None:
    await stream_to(app, acme, collector)
    collector.max_records = 2
    await happen(app, acme, 9)
    async with dispatching(app, collector) as dispatcher:
        await deliver(dispatcher)
    numbers = [record["seq"] for record in collector.taken]
    assert numbers == list(range(numbers[0], await head(app, acme.id) + 1))


async def test_a_batch_is_bounded_by_bytes(
    app: AdminApp, acme: Tenant, collector: CollectorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_batches, "MAX_BATCH_BYTES", 1)
    await stream_to(app, acme, collector)
    await happen(app, acme, 3)
    async with dispatching(app, collector) as dispatcher:
        await deliver(dispatcher)
    assert all(len(records) == 1 for _, records in collector.requests)
    assert collector.numbers[-1] == await head(app, acme.id)


class _Killed(Exception):
    """What a process that is killed does not come to raise."""


@pytest.mark.guarantee("G15")
async def test_a_process_that_is_killed_leaves_nothing_out(
    app: AdminApp, acme: Tenant, collector: CollectorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the collector has the records, and before that is recorded: they come again, after the claim."""
    await stream_to(app, acme, collector)
    await happen(app, acme, 3)

    async def killed(*_: object) -> bool:
        raise _Killed

    async with dispatching(app, collector) as dispatcher:
        with monkeypatch.context() as patch:
            patch.setattr("broker.audit_streams.stream_dispatcher.advance_stream", killed)
            with pytest.raises(_Killed):
                await dispatcher.deliver(acme.id)
    async with dispatching(app, collector) as dispatcher:
        await deliver(dispatcher)
        assert len(collector.requests) == 2, "the claim of the one that was killed holds"
        app.clock.ahead += CLAIMED_FOR
        await deliver(dispatcher)
    assert collector.requests[1][1] == collector.requests[2][1][: len(collector.requests[1][1])]
    assert (await stand(app, acme))["pending"] == 0


async def test_a_change_counts_for_what_is_under_way(
    app: AdminApp, acme: Tenant, collector: CollectorServer, other: CollectorServer
) -> None:
    await stream_to(app, acme, collector)
    await happen(app, acme, 2)
    async with dispatching(app, collector, other) as dispatcher:
        collector.gate.clear()
        collector.arrived.clear()
        await dispatcher.start_due()
        await collector.arrived.wait()
        await stream_to(app, acme, other)
        collector.gate.set()
        await dispatcher.wait_until_idle()
        await deliver(dispatcher)
    assert collector.numbers == other.numbers[: len(collector.numbers)]


async def test_several_processes_deliver_each_record_once(
    app: AdminApp, acme: Tenant, collector: CollectorServer
) -> None:
    await stream_to(app, acme, collector)
    await happen(app, acme, 5)
    async with dispatching(app, collector) as one, dispatching(app, collector) as two:
        collector.gate.clear()
        collector.arrived.clear()
        await one.start_due()
        await collector.arrived.wait()
        await two.start_due()
        await asyncio.wait_for(two.deliver(acme.id), 5)
        assert len(collector.requests) == 2, "the trial, and that of the first process"
        collector.gate.set()
        await one.wait_until_idle()
    numbers = [record["seq"] for record in collector.taken]
    assert numbers == sorted(set(numbers))


async def test_a_secret_that_was_changed_in_the_database_is_named(
    app: AdminApp, acme: Tenant, collector: CollectorServer
) -> None:
    await stream_to(app, acme, collector)
    await happen(app, acme, 1)
    await app.execute("UPDATE vault.audit_streams SET secret_version = secret_version + 1")
    async with dispatching(app, collector) as dispatcher:
        await deliver(dispatcher)
    assert (await stand(app, acme))["last_error"] == "secret"
    assert len(collector.requests) == 1


@pytest.mark.parametrize(("failures", "seconds"), [(1, 5), (2, 10), (3, 20), (6, 160), (7, 300), (10_000, 300)])
def test_pauses_grow_to_five_minutes(failures: int, seconds: int) -> None:
    assert compute_pause(failures, 1.0) == timedelta(seconds=seconds)
    assert compute_pause(failures, 0.0) == timedelta(seconds=seconds / 2)
