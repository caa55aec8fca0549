"""One trace across the processes of a deployment: gateway, broker and vendor's token endpoint; control plane and
broker."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.broker.refresh.vendor import vendor_of
from tests.process.test_console_process import make_admin
from tests.process.vendor_accounts import add_person, connect_account
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person
from tests.support.split import Split, add_console, running, split_on
from tests.support.trace_collector import TraceCollector, read_attributes, trace_collector

pytestmark = pytest.mark.timeout(180)

TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-01"
USE_ACCOUNT = """UPDATE vault.credentials SET account_id = $2, type = 'B', secret = NULL
    WHERE module = 'shop' AND user_id = $1"""
EXPIRE = "UPDATE vault.accounts SET expires_at = vault.clock() - interval '1 minute', refresh_at = vault.clock()"
ALLOWED_ATTRIBUTES = {
    "error.type", "http.request.method", "http.response.status_code", "http.route", "mcp.method.name", "server.address",
    "server.port", "url.path", "url.scheme",
}  # fmt: skip


@pytest.fixture
async def collector() -> AsyncIterator[TraceCollector]:
    async with trace_collector() as taken:
        yield taken


def tracing_to(collector: TraceCollector) -> dict[str, str]:
    """The settings of each process; spans are sent soon."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "NO_PROXY": "127.0.0.1",
    }


async def test_a_call_that_refreshes_is_one_trace(
    database: ScratchDatabase, tmp_path: Path, collector: TraceCollector
) -> None:
    async with (
        vendor_of(tmp_path, "strict") as vendor,
        split_on(
            database, tmp_path / "d", gateways=1, hosts=[vendor.host], variables=tracing_to(collector)
        ) as deployment,
        database.admin_connection() as admin,
    ):
        ada = await add_person(deployment, "ada")
        account = await connect_account(deployment, ada, vendor)
        await admin.execute(USE_ACCOUNT, ada.id, account)
        await admin.execute(EXPIRE)
        await call_in_trace(deployment, ada)
        called = [("shop.look", Span.SPAN_KIND_INTERNAL), ("tools/call", Span.SPAN_KIND_SERVER)]
        leased = [*list_pair("POST /v2/token-exchange"), *called]
        refresh = await wait_for_line(collector, ("POST", Span.SPAN_KIND_CLIENT), *leased)
        serving = await wait_for_line(collector, *leased)
        assert (await vendor.counters())["granted:refresh_token"] == 1

    found = read_attributes(refresh)
    assert (found["server.address"], found["server.port"]) == ("127.0.0.1", urlsplit(vendor.server.issuer).port)
    assert (found["http.request.method"], found["http.response.status_code"]) == ("POST", 200)
    assert read_attributes(serving)["http.route"] == "/v2/token-exchange"
    check_that_nothing_is_told(collector, ada, vendor.server.client_secret)


@pytest.mark.long
async def test_a_request_of_the_console_is_one_trace(
    database: ScratchDatabase, tmp_path: Path, collector: TraceCollector
) -> None:
    """Its own part of the admin API, where it asks the broker who somebody is, and the broker's, which it passes on."""
    async with split_on(database, tmp_path, gateways=1, variables=tracing_to(collector)) as deployment:
        console = add_console(deployment, tmp_path, **tracing_to(collector))
        await deployment.broker.end()
        await deployment.broker.start()
        admin = await make_admin(deployment)
        headers = {
            "Authorization": f"Bearer {admin.token}",
            "Host": urlsplit(deployment.public_url).netloc,
            "traceparent": TRACEPARENT,
        }
        url = f"http://127.0.0.1:{console.port}"
        async with running([console]), httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False) as http:
            assert (await http.get("/api/v1/users?q=hunter2")).status_code == 200
            assert (await http.get("/api/v1/tokens")).status_code == 200
            assert (await http.get(f"/api/v1/users/{uuid4()}")).status_code == 404
            users = ("GET /api/v1/users", Span.SPAN_KIND_SERVER)
            await wait_for_line(collector, *list_pair("POST /v1/console/authenticate"), users)
            await wait_for_line(collector, ("GET /api/v1/users/{user_id}", Span.SPAN_KIND_SERVER))
            passed_on = [("GET", Span.SPAN_KIND_CLIENT), ("GET", Span.SPAN_KIND_SERVER)]
            await wait_for_line(collector, ("GET /api/v1/tokens", Span.SPAN_KIND_SERVER), *passed_on)
    check_that_nothing_is_told(collector, admin, "hunter2")


def list_line(collector: TraceCollector, span: Span) -> list[tuple[str, int]]:
    """Name and kind of a span, of its parent, and so on up to the first."""
    by_id = {one.span_id: one for one in collector.all_spans}
    line: list[tuple[str, int]] = []
    current: Span | None = span
    while current is not None:
        line.append((current.name, current.kind))
        current = by_id.get(current.parent_span_id)
    return line


def check_that_nothing_is_told(collector: TraceCollector, person: Person, *secrets: str) -> None:
    """No attribute but those of the conventions, and nothing of anybody or of a token in any byte that was sent."""
    assert {name for span in collector.all_spans for name in read_attributes(span)} <= ALLOWED_ATTRIBUTES
    for told in (person.token, person.token_id, person.email, str(person.id), str(person.tenant.id), *secrets):
        assert told.encode() not in collector.raw, told


def list_pair(name: str) -> list[tuple[str, int]]:
    """A request between two processes: the server's span, and its client's."""
    return [(name, Span.SPAN_KIND_SERVER), (name, Span.SPAN_KIND_CLIENT)]


async def wait_for_line(collector: TraceCollector, *line: tuple[str, int]) -> Span:
    """The span of the trace whose line this is, once all of it is there: each process sends batches of its own."""

    def find() -> Span | None:
        ours = (one for one in collector.all_spans if one.trace_id.hex() == TRACE)
        return next((one for one in ours if list_line(collector, one) == [*line]), None)

    async def is_there() -> bool:
        return find() is not None

    await within(20, is_there)
    found = find()
    assert found is not None
    return found


async def call_in_trace(deployment: Split, person: Person) -> None:
    """A call whose client says that it is part of a trace. The shop knows no token of the vendor's."""
    arguments = {"module": "shop", "tool_name": "look", "params": {"what": "tea"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "call", "arguments": arguments}}
    headers = {
        "Authorization": f"Bearer {person.token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
        "Host": urlsplit(deployment.public_url).netloc,
        "traceparent": TRACEPARENT,
    }
    async with deployment.http.post(deployment.url, json=message, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
