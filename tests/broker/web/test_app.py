"""What is checked of every request, and how errors end."""

import errno
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from broker.authorization_server.client_registry import CLIENT_ADDRESS
from broker.authorization_server.errors import OAuthError
from broker.web.i18n import PageError
from broker.web.request_parsing import get_client_address, read_form, read_query
from core.errors import Invalid, LimitReached, Unavailable
from tests.broker.web.asking import URL, client_of, parts_for

OWN = {"Origin": URL}
SECRET = "what the database said"


async def _greet(request: Request) -> Response:
    return PlainTextResponse("hello")


def _raising(error: Exception) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        raise error

    return endpoint


EVERY = ["GET", "POST", "DELETE"]
GREETING = [Route(path, _greet, methods=EVERY) for path in ("/x", "/sign-in", "/oauth/token", "/api/v1/x")]


async def test_every_answer_has_the_headers() -> None:
    page = {"Accept": "text/html"}
    async with client_of(parts_for(), GREETING) as client:
        for path, headers in (("/x", {}), ("/nowhere", {}), ("/nowhere", page)):
            answer = await client.get(path, headers=headers)
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
        policies = [(await client.get("/nowhere", headers=page)).headers["content-security-policy"] for _ in range(2)]
    assert "unsafe" not in policies[0]
    assert "script-src" not in policies[0]  # so default-src 'none' counts
    assert policies[0] != policies[1], "the nonce is new every time"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Origin": URL}, 200),
        ({"Origin": URL, "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Origin": URL, "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 403),
        ({"Origin": "https://evil.test"}, 403),
        ({"Origin": URL + ".evil.test"}, 403),
        ({"Origin": URL + ":8443"}, 403),
        ({"Origin": "http://mcp.acme.test"}, 403),
        ({"Origin": ""}, 403),
    ],
)
@pytest.mark.parametrize("cookie", [{}, {"Cookie": "__Host-mcpist-session=x"}], ids=["", "cookie"])
async def test_what_changes_something_comes_from_our_own_pages(
    headers: dict[str, str], status: int, cookie: dict[str, str]
) -> None:
    async with client_of(parts_for(), GREETING) as client:
        for path in ("/x", "/api/v1/x"):
            for method in ("POST", "DELETE"):
                assert (await client.request(method, path, headers={**headers, **cookie})).status_code == status
        assert (await client.get("/x", headers={**headers, **cookie})).status_code == 200


async def test_programs_need_no_origin() -> None:
    async with client_of(parts_for(), GREETING) as client:
        assert (await client.post("/oauth/token")).status_code == 200
        assert (await client.post("/oauth/token", headers={"Origin": "https://inspector.test"})).status_code == 200
        bearer = {"Authorization": "Bearer x"}
        assert (await client.post("/api/v1/x", headers=bearer)).status_code == 200
        assert (await client.post("/api/v1/x", headers={**bearer, "Cookie": "a=b"})).status_code == 403


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (PageError("expired"), 400, "This step has expired"),
        (PageError("provider", 502, provider="<Google>"), 502, "&lt;Google&gt;"),
        (Invalid("the parameter 'a' came twice"), 400, "The request is not valid"),
        (LimitReached("x", 30.0), 429, "Too many attempts"),
        (Unavailable(), 503, "not ready"),
        (asyncpg.DiskFullError(SECRET), 503, "cannot store anything"),
        (OSError(errno.ENOSPC, SECRET), 503, "cannot store anything"),
        (RuntimeError(SECRET), 500, "Something went wrong here"),
        (KeyError(SECRET), 500, "Something went wrong here"),
    ],
)
async def test_errors_are_pages_for_people(
    error: Exception, status: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with client_of(parts_for(), [Route("/x", _raising(error))]) as client:
        answer = await client.get("/x")
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert said in answer.text
    assert SECRET not in answer.text + caplog.text
    assert not any(record.exc_info for record in caplog.records)
    waits = {429: "30", 503: "30" if "store" in said else "2"}
    assert answer.headers.get("retry-after") == waits.get(status)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Invalid("send it once"), 400, "invalid_request"),
        (LimitReached("x", 30.0), 429, "temporarily_unavailable"),
        (Unavailable(), 503, "temporarily_unavailable"),
        (RuntimeError(SECRET), 500, "server_error"),
        (OAuthError("invalid_grant", "the code was used"), 400, "invalid_grant"),
    ],
)
async def test_errors_are_json_for_programs(error: Exception, status: int, code: str) -> None:
    async with client_of(parts_for(), [Route("/oauth/token", _raising(error), methods=["POST"])]) as client:
        answer = await client.post("/oauth/token")
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert SECRET not in answer.text


async def test_errors_of_the_api_are_problem_details() -> None:
    async with client_of(parts_for(), [Route("/api/v1/x", _raising(Invalid("give a name")))]) as client:
        answer = await client.get("/api/v1/x")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {"type": "about:blank", "status": 400, "code": "invalid", "detail": "give a name"}


async def test_a_wrong_method_is_told() -> None:
    async with client_of(parts_for(), [Route("/x", _greet, methods=["POST"])]) as client:
        answer = await client.get("/x")
    assert answer.status_code == 405
    assert "cannot be opened directly" in answer.text


async def test_another_host_is_refused() -> None:
    async with client_of(parts_for(), GREETING) as client:
        for host in ("evil.test", "mcp.acme.test.evil.test", "mcp.acme.test:81", "", "mcp.acme.test@evil.test"):
            assert (await client.get("/x", headers={"Host": host})).status_code == 421, host
        assert (await client.get("/x", headers={"X-Forwarded-Host": "evil.test"})).status_code == 200


async def test_behind_a_proxy_the_forwarded_host_counts() -> None:
    async with client_of(parts_for(trusted_proxies=("192.0.2.0/24",)), GREETING) as client:
        headers = {"Host": "internal", "X-Forwarded-Host": "mcp.acme.test"}
        assert (await client.get("/x", headers=headers)).status_code == 200
        assert (await client.get("/x", headers={"X-Forwarded-Host": "evil.test"})).status_code == 421


async def test_another_name_of_this_machine_leads_to_the_public_one() -> None:
    """A cookie that is set under `localhost` would be missing when the identity provider sends the browser back."""
    async with client_of(parts_for("http://127.0.0.1:8080"), GREETING, base_url="http://localhost:8080") as client:
        answer = await client.get("/sign-in?next=%2Fa//b")
        assert answer.status_code == 307
        assert answer.headers["location"] == "http://127.0.0.1:8080/sign-in?next=%2Fa//b"
        far = await client.get("http://localhost:8080//evil.test/x")
        assert far.headers["location"] == "http://127.0.0.1:8080//evil.test/x"
        assert (await client.post("/oauth/token")).status_code == 200


async def test_nobody_signs_in_over_plain_http_from_afar() -> None:
    async with client_of(parts_for("http://mcp.acme.test"), GREETING) as client:
        answer = await client.get("/sign-in")
        assert answer.status_code == 403
        assert "needs https" in answer.text
        assert (await client.get("/x")).status_code == 200


async def _echo(request: Request) -> Response:
    given: Any = await read_form(request, most=100, most_fields=3) if request.method == "POST" else read_query(request)
    return PlainTextResponse(repr(dict(given)))


FORM = {"Content-Type": "application/x-www-form-urlencoded", **OWN}


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"a=1&b=%E6%97%A5&c=", FORM, 200),
        (b"a=1&b=2", {**FORM, "Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}, 200),
        (b"a=1&a=2", FORM, 400),
        (b"a=1&b=2&c=3&d=4", FORM, 400),
        (b"a=" + b"x" * 99, FORM, 400),
        (b"a=%ff", FORM, 400),
        ("a=日".encode(), FORM, 400),
        (b'{"a": 1}', {**OWN, "Content-Type": "application/json"}, 400),
        (b"a=1", OWN, 400),
    ],
)
async def test_forms(body: bytes, headers: dict[str, str], status: int) -> None:
    async with client_of(parts_for(), [Route("/x", _echo, methods=["POST"])]) as client:
        answer = await client.post("/x", content=body, headers=headers)
    assert answer.status_code == status
    if status == 200:
        assert "'a': '1'" in answer.text


@pytest.mark.parametrize(
    ("asked", "status"), [("a=1&b=", 200), ("a=1&a=1", 400), ("a=%ff", 400), ("a=" + "x" * 17_000, 400)]
)
async def test_queries(asked: str, status: int) -> None:
    async with client_of(parts_for(), [Route("/x", _echo)]) as client:
        assert (await client.get(f"/x?{asked}")).status_code == status


@pytest.mark.parametrize(
    ("trusted", "forwarded", "seen"),
    [
        ((), "203.0.113.5", "192.0.2.9"),
        (("192.0.2.9",), "203.0.113.5", "203.0.113.5"),
        (("192.0.2.9",), "6.6.6.6, 203.0.113.5", "203.0.113.5"),
        (("192.0.2.9", "203.0.113.0/24"), "6.6.6.6, 203.0.113.5", "6.6.6.6"),
        (("192.0.2.9",), "", "192.0.2.9"),
        # Some proxies add the port; with it every connection would be a caller of its own.
        (("192.0.2.9",), "6.6.6.6, 203.0.113.5:51234", "203.0.113.5"),
        (("192.0.2.9", "203.0.113.5"), "6.6.6.6:1, 203.0.113.5:51234", "6.6.6.6"),
        (("192.0.2.9",), "[2001:db8::5]:51234", "2001:db8::5"),
        (("192.0.2.9",), "[2001:db8::5]", "2001:db8::5"),
        (("192.0.2.9",), "2001:db8::5", "2001:db8::5"),
    ],
)
async def test_the_address_is_the_last_that_nobody_trusted_vouches_for(
    trusted: tuple[str, ...], forwarded: str, seen: str
) -> None:
    parts = parts_for(trusted_proxies=trusted)

    async def tell(request: Request) -> Response:
        return PlainTextResponse(get_client_address(request, parts.proxies))

    async def tell_below(_request: Request) -> Response:
        return PlainTextResponse(CLIENT_ADDRESS.get())

    async with client_of(parts, [Route("/x", tell), Route("/below", tell_below)]) as client:
        headers = {"X-Forwarded-For": forwarded, "X-Forwarded-Host": "mcp.acme.test"}
        for path in ("/x", "/below"):
            assert (await client.get(path, headers=headers)).text == seen
