"""How much one caller, one address and one call may take; and what becomes of a call that nobody waits for."""

import asyncio

import orjson
import pytest

from core.audit.event import AuditEventKind
from core.token_format import generate_token
from gateway.mcp.lifecycle import TASKS_EXTENSION
from server.wiring.gateway import RESERVE
from tests.path.conftest import People
from tests.support.eventually import within
from tests.support.http_server import served
from tests.support.mcp_client import MODERN, NEWEST, bearer, envelope, headers_for
from tests.support.product import Node, Product
from tests.support.toy_modules import Lab


async def outcome(product: Product, people: People) -> str:
    """How all calls ended."""

    async def there() -> bool:
        return bool(await product.events(people.acme, AuditEventKind.CALL_OUTCOME))

    await within(5, there)
    (found,) = {event.outcome for event in await product.events(people.acme, AuditEventKind.CALL_OUTCOME)}
    return found


async def test_too_fast(product: Product, people: People) -> None:
    async with product.gateway(rate_per_second=0.5, rate_burst=3) as node:
        for _ in range(3):
            assert (await node.post(people.admin.token, "ping")).status == 200
        limited = await node.post(people.admin.token, "ping")
        assert limited.status == 429
        assert 1 <= int(limited.header("retry-after")) <= 2
        assert (await node.post(people.reader.token, "ping")).status == 200, "a limit is one user's"
        assert 'mcpist_limited_total{limit="caller"} 1.0' in node.metrics()


async def test_all_credentials_of_a_user_count_together(product: Product, people: People) -> None:
    other = await product.with_token(people.admin)
    async with product.gateway(rate_per_second=0.01, rate_burst=4) as node:
        statuses = [(await node.post(token, "ping")).status for token in (people.admin.token, other.token) * 3]
        assert statuses == [200] * 4 + [429] * 2


async def test_too_much_at_once(product: Product, people: People, lab: Lab) -> None:
    async with product.gateway(concurrency=2) as node:
        running = [asyncio.create_task(node.call(people.admin.token, "lab", "wait")) for _ in range(2)]

        async def both() -> bool:
            return "mcpist_running_calls 2.0" in node.metrics()

        await within(5, both)
        limited = await node.call(people.admin.token, "lab", "look")
        assert limited.status == 429
        assert int(limited.header("retry-after")) >= 1
        assert (await node.call(people.other_admin.token, "lab", "look")).status == 200
        lab.resume.set()
        assert [(await answer).value for answer in running] == [{"said": "resumed"}] * 2
        assert (await node.call(people.admin.token, "lab", "look")).status == 200


async def test_work_is_ended_and_looked_after_when_all_places_are_taken(
    product: Product, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.wiring.gateway.RESERVE", (0.001, *RESERVE[1:]))
    made_up = {"taskId": "00000000-0000-4000-8000-000000000000"}
    declared = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}}
    async with product.gateway(rate_per_second=0.001, rate_burst=1) as node:
        token = people.admin.token
        assert (await node.post(token, "ping")).status == 200
        for revision, more in ((NEWEST, {}), (MODERN, declared)):
            for method in ("tasks/get", "tasks/cancel"):
                answer = await node.post(token, method, made_up | more, revision=revision)
                assert answer.message["error"]["code"] == -32602, "it passes: there is no such task"
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        headers = headers_for(NEWEST, "notifications/cancelled") | bearer(token)
        assert (await node.send(orjson.dumps(cancelled), headers)).status == 202
        assert 'mcpist_limited_total{limit="caller"} 0.0' in node.metrics(), "what its reserve answers is not refused"
        for method in ("ping", "tasks/list", "tasks/result", "tools/list"):
            params = made_up if method == "tasks/result" else {}
            assert (await node.post(token, method, params)).status == 429
        assert 'mcpist_limited_total{limit="caller"} 4.0' in node.metrics()
        hidden = {"name": "call", "arguments": {"note": "tasks/get tasks/cancel notifications/cancelled"}}
        assert (await node.post(token, "tools/call", hidden)).status == 429
        large = made_up | {"more": "x" * 4096}
        assert (await node.post(token, "tasks/get", large)).status == 429
        for broken in (b"tasks/get", b"[" + orjson.dumps(cancelled) + b"]", b"{tasks/get", b"", b"\0" * 100):
            assert (await node.send(broken, headers)).status == 429
        statuses = [(await node.post(token, "tasks/get", made_up)).status for _ in range(2 * RESERVE[1])]
        assert (statuses[0], statuses[-1]) == (200, 429), "the reserve has a limit of its own"
        assert (await node.post(people.reader.token, "tasks/get", made_up)).status == 200
        assert (await node.post("mcpist_made-up", "tasks/get", made_up)).status == 401


async def test_too_many_wrong_credentials_from_one_address(product: Product, people: People) -> None:
    async with product.gateway(failed_auth_per_minute=4) as node:
        assert (await node.post(people.admin.token, "ping", address="192.0.2.1")).status == 200
        wrong = ["malformed", generate_token()[1].reveal()] * 2
        for token in wrong:
            assert (await node.post(token, "ping", address="192.0.2.1")).status == 401
        answers = {
            (await node.post(token, "ping", address="192.0.2.1", headers=headers)).comparable[0]
            for token in wrong
            for headers in ({}, {"x-forwarded-for": "203.0.113.9"})
        }
        assert answers == {429}
        limited = await node.post("malformed", "ping", address="192.0.2.1")
        assert 1 <= int(limited.header("retry-after")) <= 15
        assert (await node.post(people.admin.token, "ping", address="192.0.2.1")).status == 200, "it is known"
        assert (await node.post("malformed", "ping", address="192.0.2.2")).status == 401
        assert 'mcpist_limited_total{limit="address"}' in node.metrics()


async def test_too_long_a_result(node: Node, people: People) -> None:
    """What is too large for one answer is kept, in a batch too; what is too large to be kept says what to do."""
    for size, kept in ((2_000_000, True), (20_000_000, False)):
        large = await node.call(people.admin.token, "lab", "big", {"size": size})
        assert set(large.value["said"]) == {"x"}
        assert ("handle" in large.value["partial"]) == kept
        assert ("ask for less" in large.text) != kept
        assert len(large.body) < 100_000
    steps = [
        {"id": "a", "module": "lab", "tool_name": "big", "params": {"size": 2_000_000}, "output": True},
        {"id": "b", "module": "lab", "tool_name": "look", "params": {"at": "x"}, "output": True},
    ]
    batch = await node.tool(people.admin.token, "batch", {"commands": steps})
    assert batch.text.endswith('b ok {"said":"x"}')
    assert "handle" in batch.result["structuredContent"]["steps"][0]["result"]["partial"]


async def test_too_many_mistakes_are_counted_and_not_listed(product: Product, node: Node, people: People) -> None:
    for person in (people.admin, people.other_admin):
        many = await node.call(person.token, "lab", "look", {f"x{n}": 1 for n in range(2_000)})
        assert many.text == "2000 mistakes in the arguments; see the tool's schema"
    few = await node.call(people.admin.token, "lab", "look", {f"x{n}": 1 for n in range(1_000)})
    assert few.text.endswith("and 995 more")
    assert await outcome(product, people) == "error"


async def test_a_long_unknown_name_is_compared_with_none(node: Node, people: People) -> None:
    answer = await node.call(people.admin.token, "lab", "look", {"att" * 50_000: 1})
    assert len(answer.text) < 500
    assert "did you mean" not in answer.text
    assert "did you mean at?" in (await node.call(people.admin.token, "lab", "look", {"att": 1})).text
    answer = await node.tool(people.admin.token, "call", {"module": "lab", "tool_names" * 50_000: "look"})
    assert len(answer.text) < 500


async def test_too_long_a_call(product: Product, people: People, lab: Lab) -> None:
    async with product.gateway(call_timeout=0.3) as node:
        answer = await node.call(people.admin.token, "lab", "wait")
        assert answer.failed
        assert answer.text == "the call took longer than 0.3 s and was stopped; ask for less at a time"
        assert lab.cancelled.is_set()
        assert await outcome(product, people) == "timeout"


async def test_too_long_a_batch_reports_what_ran(product: Product, people: People, lab: Lab) -> None:
    steps = [
        {"id": "a", "module": "lab", "tool_name": "look", "params": {"at": "x"}, "output": True},
        {"id": "b", "module": "lab", "tool_name": "wait", "after": ["a"]},
        {"id": "c", "module": "lab", "tool_name": "look", "after": ["b"]},
    ]
    async with product.gateway(call_timeout=1.0) as node:
        answer = await node.tool(people.admin.token, "batch", {"commands": steps})
        first, second, third = answer.text.split("\n")
        assert first == 'a ok {"said":"x"}'
        assert second.startswith("b error: cut off")
        assert third.startswith("c skipped")
        assert lab.cancelled.is_set()

    outcomes = [event.outcome for event in await product.events(people.acme, AuditEventKind.CALL_OUTCOME)]
    assert outcomes == ["ok", "timeout"]


async def test_a_client_that_goes_away_takes_its_call_along(
    product: Product, node: Node, people: People, lab: Lab
) -> None:
    params = {"name": "call", "arguments": {"module": "lab", "tool_name": "wait", "params": {}}}
    body = orjson.dumps(envelope(MODERN, "tools/call", params))
    async with served(node.gateway.app) as (_, port):
        headers = headers_for(MODERN, "tools/call", params) | bearer(people.admin.token)
        headers |= {"host": f"127.0.0.1:{port}", "content-length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        await asyncio.wait_for(lab.started.wait(), 5)
        writer.close()
        await asyncio.wait_for(lab.cancelled.wait(), 5)
        assert await outcome(product, people) == "cancelled"
        assert "mcpist_running_calls 0.0" in node.metrics()
