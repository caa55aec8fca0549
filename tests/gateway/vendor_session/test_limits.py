"""One credential's requests at once, and the vendor's rate limits between calls."""

import asyncio
import random

import pytest

from gateway.vendor_session.credential_limits import ALL_PATHS, MAX_SCOPES, CredentialLimits, derive_limit_scope
from modules.kit import VendorProblem
from tests.gateway.vendor_session.conftest import Time, VendorSessionApp
from tests.gateway.vendor_session.doubles import Exchange, answering
from tests.support.eventually import within


class Crowd:
    """A vendor that holds every request until it is let go, and counts how many are there at once."""

    def __init__(self) -> None:
        self.inside = self.most = 0
        self.go = asyncio.Event()

    async def __call__(self, exchange: Exchange) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await self.go.wait()
        self.inside -= 1
        exchange.send()


async def test_requests_at_once_with_one_credential(app: VendorSessionApp) -> None:
    crowd = Crowd()
    app.vendor.scripts = [crowd]
    calls = [asyncio.create_task(app.client(concurrency=3).request("POST", "/x")) for _ in range(10)]
    other = asyncio.create_task(app.client(concurrency=3, key="other").request("POST", "/x"))

    async def all_there() -> bool:
        return crowd.inside == 4

    await within(5, all_there)
    crowd.go.set()
    assert len(await asyncio.gather(*calls, other)) == 11
    assert crowd.most <= 4


async def test_whoever_waits_too_long_for_a_turn_is_told(app: VendorSessionApp) -> None:
    crowd = Crowd()
    app.vendor.scripts = [crowd]
    first = asyncio.create_task(app.client(concurrency=1).request("POST", "/x"))

    async def there() -> bool:
        return crowd.inside == 1

    await within(5, there)
    with pytest.raises(VendorProblem, match="1 requests with this credential") as caught:
        await app.client(concurrency=1, deadline=app.time.now + 0.1).request("POST", "/x")
    assert caught.value.kind == "rate_limited"
    crowd.go.set()
    await first
    await app.client(concurrency=1).request("POST", "/x")
    assert len(app.vendor.requests) == 2


async def test_a_spent_limit_is_remembered(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(429, retry_after="60"), answering()]
    with pytest.raises(VendorProblem):
        await app.client().request("GET", "/repos/a/b")
    with pytest.raises(VendorProblem) as caught:
        await app.client().request("POST", "/user")
    assert (caught.value.kind, caught.value.retry_after, len(app.vendor.requests)) == ("rate_limited", 60.0, 1)
    assert (await app.client(key="other").request("GET", "/user")).status == 200
    app.time.now += 61
    assert (await app.client().request("GET", "/user")).status == 200


async def test_a_long_limit_is_told_as_it_is_and_asked_about_after_an_hour(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(429, retry_after="86400"), answering()]
    for passed in (0, 0, 3500):
        app.time.now += passed
        with pytest.raises(VendorProblem) as caught:
            await app.client().request("GET", "/x")
        assert caught.value.retry_after == 86_400 - passed
    assert len(app.vendor.requests) == 1
    app.time.now += 101
    assert (await app.client().request("GET", "/x")).status == 200


async def test_a_spent_quota_holds_for_what_shares_it(app: VendorSessionApp) -> None:
    spent = answering(403, x_ratelimit_remaining="0", x_ratelimit_reset=str(1_700_000_060))
    app.vendor.scripts = [spent, answering()]
    client = app.client()
    with pytest.raises(VendorProblem) as caught:
        await client.request("GET", "/search/code", query={"q": "x"})
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limited", 60.0)
    assert (await client.request("GET", "/search/issues")).status == 200
    with pytest.raises(VendorProblem):
        await client.request("GET", "/search/code", query={"q": "y"})
    assert len(app.vendor.requests) == 2


async def test_who_waited_for_a_turn_hears_of_the_limit_too(app: VendorSessionApp) -> None:
    crowd = Crowd()

    async def spent(exchange: Exchange) -> None:
        crowd.inside += 1
        await crowd.go.wait()
        exchange.send(429, retry_after="60")

    app.vendor.scripts = [spent]
    calls = [asyncio.create_task(app.client(concurrency=1).request("POST", "/x")) for _ in range(5)]

    async def there() -> bool:
        return crowd.inside == 1

    await within(5, there)
    crowd.go.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [result.kind for result in results if isinstance(result, VendorProblem)] == ["rate_limited"] * 5
    assert len(app.vendor.requests) <= 2  # the second may be under way before the first answer is read


async def test_turns_are_never_lost_or_doubled() -> None:
    limits = CredentialLimits(clock=lambda: 0.0)
    chance = random.Random(3)
    running = most = 0

    async def one() -> None:
        nonlocal running, most
        if not limits.try_enter("k", 4) and not await limits.wait("k", 0.02):
            return
        running += 1
        most = max(most, running)
        try:
            await asyncio.sleep(chance.random() / 200)
        finally:
            running -= 1
            limits.leave("k")

    tasks = [asyncio.create_task(one()) for _ in range(300)]
    for task in chance.sample(tasks, 100):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most <= 4
    assert (running, len(limits)) == (0, 0)


def test_memory_is_bounded() -> None:
    time = Time()
    limits = CredentialLimits(clock=time, max_keys=100)
    assert limits.try_enter("running", 1)
    for number in range(1000):
        limits.block(str(number), ALL_PATHS, 60.0 + number)
    for number in range(100):
        limits.block("running", str(number), 60.0 + number)
    assert len(limits) <= 101
    assert limits.get_blocked_seconds("999", "/x") > 0
    assert len(limits._gates["running"].blocks) == MAX_SCOPES
    limits.leave("running")


async def test_a_queue_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.vendor_session.credential_limits.MAX_WAITING", 2)
    limits = CredentialLimits(clock=lambda: 0.0)
    assert limits.try_enter("k", 1)
    waiting = [asyncio.create_task(limits.wait("k", 5)) for _ in range(3)]
    await asyncio.sleep(0)
    assert await waiting[2] is False
    for _ in range(3):
        limits.leave("k")
    assert await asyncio.gather(*waiting[:2]) == [True, True]
    assert len(limits) == 0


@pytest.mark.parametrize(
    ("path", "scope"), [("/a/b/c", "a/b"), ("/a", "a"), ("/search/code", "search/code"), ("", ""), ("/", "")]
)
def test_scopes(path: str, scope: str) -> None:
    assert derive_limit_scope(path) == scope
