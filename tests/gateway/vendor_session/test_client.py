"""What goes to the vendor, what comes back, and that the credential is nowhere else."""

import asyncio
import traceback
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from core.http.credential_headers import CredentialScheme
from core.secret import Secret
from modules.kit import OUTCOME_UNKNOWN, ToolError, VendorProblem, build_path
from tests.gateway.vendor_session.conftest import TOKEN, FakeLease, VendorSessionApp
from tests.gateway.vendor_session.doubles import Exchange, answering, hanging_up, silent
from tests.support.eventually import within


async def problem(app: VendorSessionApp, method: str = "GET", target: str = "/x", **more: Any) -> VendorProblem:
    with pytest.raises(VendorProblem) as caught:
        await app.client().request(method, target, **more)
    return caught.value


async def test_a_request_as_the_vendor_sees_it(app: VendorSessionApp) -> None:
    client = app.client(base="/api/v3")
    answer = await client.request(
        "POST", build_path("/repos/{}/{}", "a b", "c/d"),
        query={"q": "a&b c", "n": 3, "no": None, "yes": True, "l": ["1", "2"]},
        json={"title": "ü"}, headers={"X-Own": "1"},
    )  # fmt: skip
    (seen,) = app.vendor.requests
    assert (answer.status, answer.json()) == (200, {})
    assert seen.method == "POST"
    assert seen.target == "/api/v3/repos/a%20b/c%2Fd?q=a%26b%20c&n=3&yes=true&l=1&l=2"
    assert seen.headers["authorization"] == f"Bearer {TOKEN}-1"
    assert (seen.headers["accept"], seen.headers["x-own"]) == ("application/json", "1")
    assert (seen.headers["accept-encoding"], seen.headers["content-type"]) == ("gzip, deflate", "application/json")
    assert orjson.loads(seen.body) == {"title": "ü"}


async def test_connections_are_kept_and_cookies_are_not(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(set_cookie="session=1; Path=/")]
    for _ in range(3):
        answer = await app.client().request("GET", "/x")
    assert "set-cookie" not in answer.headers
    assert app.vendor.accepted == 1
    assert all("cookie" not in request.headers for request in app.vendor.requests)


async def test_header_names_are_in_lower_case_and_repeated_ones_are_joined(app: VendorSessionApp) -> None:
    async def twice(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\nX-One: 1\r\nX-ONE: 2\r\nContent-Length: 0\r\n\r\n")

    app.vendor.scripts = [twice]
    answer = await app.client().request("GET", "/x")
    assert answer.headers["x-one"] == "1, 2"


async def test_a_large_body_is_sent_whole(app: VendorSessionApp) -> None:
    await app.client().request("POST", "/x", json={"text": "x" * (2**20 + 5)})
    assert len(orjson.loads(app.vendor.requests[0].body)["text"]) == 2**20 + 5


@pytest.mark.parametrize(
    "name", ["Authorization", "authorization", "Host", "Cookie", "Proxy-Authorization", "proxy-x", "Content-Length",
             "Transfer-Encoding", "Connection", "Upgrade", "X-Forwarded-For", "Accept-Encoding", "X\r\nY", "X Y", "",
             "Ä"],
)  # fmt: skip
async def test_headers_that_are_not_a_modules_to_set(app: VendorSessionApp, name: str) -> None:
    caught = await problem(app, headers={name: "1"})
    assert caught.kind == "refused"
    assert app.vendor.accepted == 0


async def test_authorization_is_nobodys_where_the_credential_has_a_header_of_its_own(app: VendorSessionApp) -> None:
    class Keyed:
        async def lease(self, rejected_version: int | None = None) -> FakeLease:
            return FakeLease(1, Secret("k"), scheme=CredentialScheme("header", name="X-Api-Key"))

    app.leases = Keyed()  # type: ignore[assignment]
    caught = await problem(app, headers={"Authorization": "1"})
    assert caught.kind == "refused"
    assert app.vendor.accepted == 0


@pytest.mark.parametrize("value", ["a\r\nAuthorization: x", "a\nb", "a\0b", "ä", " a", "a ", "", "x" * 4001])
async def test_header_values_that_cannot_be_sent(app: VendorSessionApp, value: str) -> None:
    caught = await problem(app, headers={"x-own": value})
    assert caught.kind == "invalid"
    assert app.vendor.accepted == 0


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "OPTIONS", "get", "GET\r\nX: y", ""])
async def test_methods_that_are_not_sent(app: VendorSessionApp, method: str) -> None:
    assert (await problem(app, method)).kind == "refused"
    assert app.vendor.accepted == 0


@pytest.mark.parametrize("token", ["a\r\nX: y", "a b", "ü", "", "\x7f", "x" * 16_385])
async def test_a_credential_that_would_end_its_header(app: VendorSessionApp, token: str) -> None:
    class Odd:
        async def lease(self, rejected_version: int | None = None) -> FakeLease:
            return FakeLease(1, Secret(token))

    app.leases = Odd()  # type: ignore[assignment]
    caught = await problem(app)
    assert caught.kind == "unauthorized"
    assert app.vendor.accepted == 0


@pytest.mark.parametrize(
    ("query", "body"), [({"q": "\ud800"}, None), (None, {"t": "\ud800"}), ({"q": "x" * 8001}, None)]
)
async def test_arguments_that_cannot_be_written(
    app: VendorSessionApp, query: Mapping[str, Any] | None, body: Any
) -> None:
    caught = await problem(app, "POST", query=query, json=body)
    assert caught.kind == "invalid"
    assert app.vendor.accepted == 0


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid"), (403, "forbidden"), (404, "not_found"), (408, "unavailable"), (409, "conflict"),
     (410, "not_found"), (412, "conflict"), (418, "invalid"), (422, "invalid"), (423, "conflict"),
     (429, "rate_limited"),
     (451, "forbidden"), (500, "unavailable"), (501, "unavailable"), (503, "unavailable"), (599, "unavailable")],
)  # fmt: skip
async def test_what_a_status_means(app: VendorSessionApp, status: int, kind: str) -> None:
    app.vendor.scripts = [answering(status, b'{"message":"canary of the vendor"}')]
    caught = await problem(app, "POST")
    assert caught.kind == kind
    assert caught.answer is not None
    assert caught.answer.json() == {"message": "canary of the vendor"}
    assert "canary" not in str(caught)
    assert (OUTCOME_UNKNOWN in str(caught)) == (status >= 500)
    assert len(app.vendor.requests) == 1


async def test_a_401_is_tried_once_more_with_what_the_broker_has_now(app: VendorSessionApp) -> None:
    app.leases.versions = [1, 2]
    app.vendor.scripts = [answering(401), answering(200)]
    answer = await app.client().request("POST", "/x", json={})
    assert answer.status == 200
    assert [seen.headers["authorization"][-1] for seen in app.vendor.requests] == ["1", "2"]
    assert app.leases.asked == [None, 1]


async def test_a_second_401_is_told_and_not_tried_again(app: VendorSessionApp) -> None:
    app.leases.versions = [1, 2]
    app.vendor.scripts = [answering(401, b"canary of the vendor")]
    caught = await problem(app)
    assert (caught.kind, app.leases.asked) == ("unauthorized", [None, 1, 2])
    assert len(app.vendor.requests) == 2
    assert "canary" not in str(caught)


async def test_a_401_for_a_missing_scope_ends_no_credential(app: VendorSessionApp) -> None:
    client = app.client(lacks_scope=lambda answer: b"scope" in answer.body)
    app.vendor.scripts = [answering(401, b'"no scope"')]
    with pytest.raises(VendorProblem) as caught:
        await client.request("POST", "/x", json={})
    assert (caught.value.kind, app.leases.asked, len(app.vendor.requests)) == ("forbidden", [None], 1)
    assert "scope" in str(caught.value)
    assert caught.value.answer is not None
    app.vendor.scripts = [answering(401, b"old"), answering(401, b'"no scope"')]
    with pytest.raises(VendorProblem) as caught:
        await client.request("GET", "/x")
    assert (caught.value.kind, app.leases.asked) == ("forbidden", [None, None, 1])
    app.vendor.scripts = [answering(401, b"no")]
    with pytest.raises(VendorProblem) as caught:
        await client.request("GET", "/x")
    assert caught.value.kind == "unauthorized"


async def test_a_vendor_may_reject_a_credential_by_another_status(app: VendorSessionApp) -> None:
    client = app.client(rejects_credential=lambda answer: b"wrong token" in answer.body)
    app.vendor.scripts = [answering(403, b'"wrong token"')]
    with pytest.raises(VendorProblem) as caught:
        await client.request("POST", "/x", json={})
    assert (caught.value.kind, app.leases.asked) == ("unauthorized", [None, 1, 1])
    assert len(app.vendor.requests) == 2
    app.leases.asked.clear()
    app.vendor.scripts = [answering(403, b'"no right"'), answering(200, b'"wrong token"')]
    with pytest.raises(VendorProblem) as caught:
        await client.request("GET", "/x")
    assert caught.value.kind == "forbidden"
    await client.request("GET", "/x")
    assert app.leases.asked == [None, None], "neither of them is about the credential"


async def test_a_reader_that_fails_hides_no_401(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(401)]
    with pytest.raises(VendorProblem) as caught:
        await app.client(lacks_scope=lambda answer: answer.json()["no"]).request("GET", "/x")
    assert (caught.value.kind, app.leases.asked) == ("unauthorized", [None, 1, 1])


async def test_what_the_broker_says_of_a_broken_credential_is_what_the_caller_reads(app: VendorSessionApp) -> None:
    app.leases.broken_after = 1
    app.vendor.scripts = [answering(401)]
    caught = await problem(app)
    assert (caught.kind, str(caught)) == ("unauthorized", "the credential is broken; ask an administrator")


async def test_a_credential_in_a_header_of_its_own(app: VendorSessionApp) -> None:
    app.leases.scheme = CredentialScheme("header", name="X-Api-Key", word="Key")
    await app.client().request("GET", "/x")
    (seen,) = app.vendor.requests
    assert (seen.headers["x-api-key"], "authorization" in seen.headers) == (f"Key {TOKEN}-1", False)


@pytest.mark.parametrize("name", ["X-Api-Key", "Accept", "User-Agent"])
async def test_a_header_that_would_be_sent_twice(app: VendorSessionApp, name: str) -> None:
    """The module's own, one that it gives with the request, and one that every request has."""
    app.leases.scheme = CredentialScheme("header", name=name)
    caught = await problem(app, headers={"x-api-key": "the module's"})
    assert (caught.kind, app.vendor.accepted) == ("refused", 0)


async def test_without_a_credential_nothing_is_sent(app: VendorSessionApp) -> None:
    class Nothing:
        async def lease(self, rejected_version: int | None = None) -> FakeLease:
            raise ToolError("none; ask an administrator")

    app.leases = Nothing()  # type: ignore[assignment]
    with pytest.raises(ToolError, match="ask an administrator"):
        await app.client().request("GET", "/x")
    assert app.vendor.accepted == 0


@pytest.mark.parametrize("script", [answering(401), answering(500), hanging_up, answering(302, location="http://[")])
async def test_the_credential_is_in_no_repr_no_error_and_no_traceback(app: VendorSessionApp, script: Any) -> None:
    app.vendor.scripts = [script]
    client = app.client()
    with pytest.raises(VendorProblem) as caught:
        await client.request("POST" if script is hanging_up else "GET", "/x")
    error = caught.value
    assert error.__context__ is None
    shown = (
        "".join(traceback.format_exception(error)) + repr(error) + str(error.args) + repr(client) + repr(app.sessions)
    )
    assert TOKEN not in shown


async def test_the_time_that_a_service_sets_is_the_limit(app: VendorSessionApp) -> None:
    app.vendor.scripts = [silent]
    client = app.client(timeout=1.0)
    started = asyncio.get_running_loop().time()
    with pytest.raises(VendorProblem, match="in time") as caught:
        await client.request("POST", "/x")
    assert 0.9 < asyncio.get_running_loop().time() - started < 5
    assert OUTCOME_UNKNOWN in str(caught.value)


async def test_the_calls_deadline_is_the_limit_where_it_is_sooner(app: VendorSessionApp) -> None:
    app.vendor.scripts = [silent]
    with pytest.raises(VendorProblem, match="in time"):
        await app.client(deadline=app.time.now + 0.2).request("GET", "/x")
    with pytest.raises(VendorProblem, match="in time"):
        await app.client(deadline=app.time.now - 1).request("GET", "/x")
    assert len(app.vendor.requests) == 1


async def test_a_cancelled_request_ends_its_connection_and_its_turn(app: VendorSessionApp) -> None:
    app.vendor.scripts = [silent, answering()]
    running = asyncio.create_task(app.client(concurrency=1).request("GET", "/x"))

    async def arrived() -> bool:
        return len(app.vendor.requests) == 1

    await within(5, arrived)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await app.client(concurrency=1).request("GET", "/x")).status == 200
    assert app.vendor.accepted == 2
