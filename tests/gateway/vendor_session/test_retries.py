"""What is sent again, and what never is."""

import math

import pytest

from core.http.credential_headers import QuotaRule
from core.http.outbound_addresses import AllowedAddresses
from gateway.vendor_session.answer_reader import ExchangeFailure
from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.retry_policy import LimitReader, compute_pause, find_rate_limit, parse_retry_after
from modules.kit import OUTCOME_UNKNOWN, RateLimit, VendorAnswer, VendorApi, VendorProblem, VendorSettings
from tests.gateway.vendor_session.conftest import NO_ACCOUNT, OWNER, Leases, Time, VendorSessionApp
from tests.gateway.vendor_session.doubles import Exchange, RawVendor, Script, answering, hanging_up

WRITES = ["POST", "PUT", "PATCH", "DELETE"]
NOW = 1_700_000_000.0


async def half_an_answer(exchange: Exchange) -> None:
    exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
    exchange.writer.write_eof()


async def no_http(exchange: Exchange) -> None:
    exchange.write(b"SSH-2.0-OpenSSH\r\n\r\n")


PASSING = [answering(502), answering(503), answering(504), answering(529), hanging_up]


@pytest.mark.parametrize(
    ("method", "first"),
    [("GET", half_an_answer), *((method, script) for method in ("GET", "HEAD") for script in PASSING)],
)
async def test_reading_is_tried_again(app: VendorSessionApp, method: str, first: Script) -> None:
    app.vendor.scripts = [first, first, answering(200)]
    assert (await app.client().request(method, "/x")).status == 200
    assert len(app.vendor.requests) == 3
    assert app.time.pauses == [0.2, 0.4]


async def test_reading_is_given_up_after_two_more(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(502)]
    with pytest.raises(VendorProblem) as caught:
        await app.client().request("GET", "/x")
    assert (caught.value.kind, len(app.vendor.requests)) == ("unavailable", 3)
    assert OUTCOME_UNKNOWN not in str(caught.value)


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422, 500, 501])
async def test_what_would_be_refused_again_is_not_sent_again(app: VendorSessionApp, status: int) -> None:
    app.vendor.scripts = [answering(status)]
    with pytest.raises(VendorProblem):
        await app.client().request("GET", "/x")
    assert len(app.vendor.requests) == 1


@pytest.mark.parametrize("script", [answering(502), answering(503, retry_after="1"), answering(429, retry_after="1"),
                                    hanging_up, half_an_answer, no_http])  # fmt: skip
@pytest.mark.parametrize("method", WRITES)
async def test_a_write_that_may_have_arrived_is_never_sent_again(
    app: VendorSessionApp, method: str, script: Script
) -> None:
    app.vendor.scripts = [script]
    with pytest.raises(VendorProblem) as caught:
        await app.client().request(method, "/x", json={"n": 1})
    assert len(app.vendor.requests) == 1
    assert (OUTCOME_UNKNOWN in str(caught.value)) == (caught.value.kind != "rate_limited")


@pytest.mark.parametrize("method", WRITES)
async def test_a_write_on_a_kept_connection_that_the_vendor_closed(app: VendorSessionApp, method: str) -> None:
    """aiohttp would repeat PUT and DELETE here by itself."""
    app.vendor.scripts = [answering(), hanging_up, answering()]
    client = app.client()
    await client.request("GET", "/x")
    with pytest.raises(VendorProblem) as caught:
        await client.request(method, "/x", json={"n": 1})
    assert OUTCOME_UNKNOWN in str(caught.value)
    assert [request.connection for request in app.vendor.requests] == [1, 1]


async def test_a_write_that_does_no_harm_twice_is_sent_again(app: VendorSessionApp) -> None:
    app.vendor.scripts = [hanging_up, answering(503), answering()]
    assert (await app.client().request("PUT", "/x", repeatable=True)).status == 200
    assert len(app.vendor.requests) == 3


async def test_reading_that_must_not_be_repeated_is_not(app: VendorSessionApp) -> None:
    app.vendor.scripts = [hanging_up]
    with pytest.raises(VendorProblem):
        await app.client().request("GET", "/x", repeatable=False)
    assert len(app.vendor.requests) == 1


@pytest.mark.parametrize("method", ["GET", *WRITES])
async def test_a_connection_that_was_never_made_is_tried_again(method: str) -> None:
    async with RawVendor() as vendor:
        port = vendor.port
    time = Time()
    sessions = VendorClientFactory(
        AllowedAddresses.from_hosts([f"127.0.0.1:{port}"]), clock=time, pause=time.pause, chance=lambda: 0.5
    )
    await sessions.open()
    client = sessions.create_client(
        VendorApi(f"http://127.0.0.1:{port}", NO_ACCOUNT), VendorSettings(), Leases(), OWNER
    )
    with pytest.raises(VendorProblem) as caught:
        await client.request(method, "/x")
    assert (caught.value.kind, len(time.pauses)) == ("unavailable", 2)
    assert OUTCOME_UNKNOWN not in str(caught.value)
    await sessions.close()


@pytest.mark.parametrize(
    ("script", "waits"),
    [(answering(429, retry_after="3"), 3.0), (answering(503, retry_after="3"), 3.0),
     (answering(403, retry_after="3"), 3.0), (answering(429, retry_after="Tue, 14 Nov 2023 22:13:23 GMT"), 3.0),
     (answering(429, retry_after="Tue, 14 Nov 2023 20:00:03 GMT", date="Tue, 14 Nov 2023 20:00:00 GMT"), 3.0),
     (answering(403, x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOW) + 3)), 3.0)],
)  # fmt: skip
async def test_reading_waits_as_long_as_the_vendor_says(app: VendorSessionApp, script: Script, waits: float) -> None:
    app.vendor.scripts = [script, answering()]
    assert (await app.client().request("GET", "/x")).status == 200
    assert app.time.pauses == [waits + 0.125]


@pytest.mark.parametrize("told", ["11", "3600", "86400", "999999999"])
async def test_a_longer_wait_is_told_and_not_waited_for(app: VendorSessionApp, told: str) -> None:
    app.vendor.scripts = [answering(429, retry_after=told)]
    with pytest.raises(VendorProblem) as caught:
        await app.client().request("GET", "/x")
    assert caught.value.kind == "rate_limited"
    wait = min(int(told), 7 * 86_400)
    assert caught.value.retry_after == wait
    assert f"try again in {wait} s" in str(caught.value)
    assert (app.time.pauses, len(app.vendor.requests)) == ([], 1)


@pytest.mark.parametrize(("method", "requests"), [("GET", 1), ("POST", 1)])
async def test_an_overloaded_vendor_s_time_is_told(app: VendorSessionApp, method: str, requests: int) -> None:
    app.vendor.scripts = [answering(503, retry_after="120")]
    with pytest.raises(VendorProblem) as caught:
        await app.client().request(method, "/x")
    assert (caught.value.retry_after, len(app.vendor.requests), app.time.pauses) == (120.0, requests, [])
    assert ("try again in 120 s" if method == "GET" else "asks to wait 120 s") in str(caught.value)


async def test_no_wait_goes_beyond_the_deadline(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(503, retry_after="3")]
    with pytest.raises(VendorProblem) as caught:
        await app.client(deadline=app.time.now + 2).request("GET", "/x")
    assert (caught.value.retry_after, app.time.pauses) == (3.0, [])


@pytest.mark.parametrize(
    ("headers", "told"),
    [({"retry-after": "0"}, 0.0), ({"retry-after": "-1"}, None), ({"retry-after": "soon"}, None),
     ({"retry-after": "1e9"}, None), ({"retry-after": "１"}, None), ({"retry-after": "9" * 10}, None),
     ({"retry-after": "x" * 9999}, None), ({}, None),
     ({"retry-after": "Tue, 14 Nov 2000 22:13:23 GMT"}, 0.0), ({"retry-after": "Tue, 99 Nov 2000 22:13:23 GMT"}, None)],
)  # fmt: skip
def test_forms_of_retry_after(headers: dict[str, str], told: float | None) -> None:
    assert parse_retry_after(VendorAnswer(429, headers, b"", write=False), lambda: NOW) == told


@pytest.mark.parametrize(
    ("status", "headers", "limit"),
    [(403, {}, None), (403, {"x-ratelimit-remaining": "17"}, None), (429, {}, (10.0, False)),
     (402, {}, None), (402, {"retry-after": "40"}, (40.0, True)), (404, {"retry-after": "40"}, None),
     (403, {"x-ratelimit-remaining": "0"}, (10.0, False)), (500, {"retry-after": "5"}, None),
     (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1e99"}, (10.0, False)),
     (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 9999)}, (9999.0, False)),
     (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "37"}, (37.0, False)),
     (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "2023-11-14T22:14Z"}, (40.0, False)),
     (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "2023-11-14T23:13:30.5+01:00"}, (10.5, False)),
     (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "2023-11-31T22:14Z"}, (10.0, False)),
     (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "2023-11-14T22:14"}, (10.0, False)),
     (429, {"retry-after": "7", "x-ratelimit-remaining": "0"}, (7.0, True))],
)  # fmt: skip
def test_what_counts_as_a_rate_limit(status: int, headers: dict[str, str], limit: tuple[float, bool] | None) -> None:
    found = find_rate_limit(VendorAnswer(status, headers, b"", write=False), lambda: NOW)
    assert (None if found is None else (found.seconds, found.everything)) == limit


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [(402, {"left": "0", "again": "1800"}, 1800.0), (402, {"left": "-1", "again": "9"}, 9.0),
     (402, {"left": "0"}, 10.0), (402, {"left": "0", "again": "9e9"}, 10.0), (402, {"again": "60"}, 60.0),
     (402, {"left": "0", "again": "999999999"}, 604_800.0), (402, {"left": "x", "again": "60"}, None),
     (402, {"left": "1", "again": "60"}, None), (402, {"again": ""}, None), (402, {}, None),
     (403, {"left": "0", "again": "60"}, None), (402, {"left": "0", "again": "60", "retry-after": "5"}, 5.0)],
)  # fmt: skip
def test_a_quota_as_the_providers_data_say(status: int, headers: dict[str, str], seconds: float | None) -> None:
    rule = QuotaRule(402, "again", "left")
    found = find_rate_limit(VendorAnswer(status, headers, b"", write=False), lambda: NOW, quota=rule)
    assert (found and found.seconds) == seconds


def _google(answer: VendorAnswer) -> RateLimit | None:
    """Google names a limit in the body of a 403 (https://developers.google.com/workspace/calendar/api/guides/errors)."""
    reasons = {one["reason"] for one in answer.json()["error"]["errors"]}
    return RateLimit(30.0, everything=False) if reasons & {"rateLimitExceeded", "userRateLimitExceeded"} else None


def _toggl(answer: VendorAnswer) -> RateLimit | None:
    """Toggl answers 402 beyond a plan's quota, with the time in a header of its own."""
    left = answer.headers.get("x-toggl-quota-resets-in", "")
    return RateLimit(float(left)) if answer.status == 402 and left.isdigit() else None


QUOTA = b'{"error":{"errors":[{"domain":"usageLimits","reason":"%b"}]}}'


@pytest.mark.parametrize(
    ("reads", "script", "wait", "others"),
    [
        (_google, answering(403, QUOTA % b"rateLimitExceeded"), 30.0, 200),
        (_google, answering(403, QUOTA % b"rateLimitExceeded", retry_after="70"), 70.0, None),
        (_google, answering(429, QUOTA % b"userRateLimitExceeded"), 30.0, 200),
        (_toggl, answering(402, b'"out of quota"', x_toggl_quota_resets_in="1800"), 1800.0, None),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_limit_that_the_module_reads(
    app: VendorSessionApp, method: str, reads: LimitReader, script: Script, wait: float, others: int | None
) -> None:
    """It is told and remembered; `others` is what requests elsewhere are answered, None where they wait too."""
    app.vendor.scripts = [script, answering()]
    client = app.client(rate_limit=reads)
    for _ in range(2):
        with pytest.raises(VendorProblem, match=f"try again in {wait:.0f} s") as caught:
            await client.request(method, "/calendars/a/events")
        assert (caught.value.kind, caught.value.retry_after) == ("rate_limited", wait)
    assert len(app.vendor.requests) == 1
    if others is None:
        with pytest.raises(VendorProblem, match="try again in"):
            await client.request("GET", "/users/me")
    else:
        assert (await client.request("GET", "/users/me")).status == others


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"error":{"errors":[{}]}}', QUOTA % b"forbidden"])
async def test_a_module_that_cannot_read_a_refusal_hides_nothing(app: VendorSessionApp, body: bytes) -> None:
    app.vendor.scripts = [answering(403, body)]
    with pytest.raises(VendorProblem) as caught:
        await app.client(rate_limit=_google).request("GET", "/x")
    assert caught.value.kind == "forbidden"


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -5.0])
async def test_a_limit_without_a_sensible_time_blocks_nobody_for_long(app: VendorSessionApp, seconds: float) -> None:
    app.vendor.scripts = [answering(403), answering()]
    client = app.client(rate_limit=lambda _: RateLimit(seconds))
    with pytest.raises(VendorProblem):
        await client.request("POST", "/x")
    assert (await client.request("POST", "/x")).status == 200


@pytest.mark.parametrize(("chance", "pause"), [(0.0, 0.1), (0.5, 0.2), (1.0, 0.3)])
def test_pauses_are_spread(chance: float, pause: float) -> None:
    failure = ExchangeFailure("unavailable", "x", transient=True)
    first, second, third = (compute_pause(n, failure, repeatable=True, announced=None, chance=chance) for n in range(3))
    assert (first, second, third) == (pytest.approx(pause), pytest.approx(2 * pause), None)


async def test_what_is_no_http_is_an_error_like_any_other(app: VendorSessionApp) -> None:
    app.vendor.scripts = [no_http]
    with pytest.raises(VendorProblem, match="cannot be read") as caught:
        await app.client().request("GET", "/x")
    assert "SSH" not in str(caught.value)
