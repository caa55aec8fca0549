"""Rate limits that processes share through a real Valkey: exact enough while it answers, bounded while it does not."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.concurrency import replicated_limits
from core.concurrency.replicated_limits import REPORTS_IN_A_BURST, ReplicatedCallerLimits
from core.config.settings import Settings
from core.errors import Invalid, LimitReached
from core.secret import Secret
from server.valkey_limits import find_limit_store_problem, open_limit_store
from tests.support.certificates import self_signed
from tests.support.eventually import within
from tests.support.valkey import PASSWORD, ValkeyServer, running_valkey, tls_in_front

RATE, BURST = 1.0, 100
PROCESSES = 3


@pytest.fixture(autouse=True)
def quick_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicated_limits, "REST_SECONDS", 0.2)


@pytest.fixture
async def valkey() -> AsyncIterator[ValkeyServer]:
    async with running_valkey() as server:
        yield server


def settings(url: str, **others: object) -> Settings:
    return Settings(redis_url=Secret(url), **others)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def limits_of_processes(url: str, count: int = PROCESSES) -> AsyncIterator[list[ReplicatedCallerLimits]]:
    """The limits of so many processes, each with its own connection; all have reported that they are there."""
    async with contextlib.AsyncExitStack() as stack:
        limits = [ReplicatedCallerLimits(RATE, BURST, 1000, clock=time.monotonic) for _ in range(count)]
        for one in limits:
            store = await stack.enter_async_context(open_limit_store(settings(url)))
            task = asyncio.create_task(one.run(store))
            stack.callback(task.cancel)

        async def are_all_shared() -> bool:
            return all(one.is_shared and one.processes == count for one in limits)

        await within(10, are_all_shared)
        yield limits


async def call(limits: list[ReplicatedCallerLimits], calls: int, key: str = "ada") -> int:
    """Call at the processes in turn, with a turn of the loop after each; how many were let through."""
    passed = 0
    for number in range(calls):
        try:
            limits[number % len(limits)].enter(key)()
            passed += 1
        except LimitReached:
            pass
        await asyncio.sleep(0.002)
    return passed


async def test_all_processes_count_together(valkey: ValkeyServer) -> None:
    async with limits_of_processes(valkey.url) as limits:
        passed = await call(limits, 400)
        # What each lets through between two of its reports, and what the bucket gained meanwhile.
        most = BURST + (PROCESSES - 1) * BURST // REPORTS_IN_A_BURST + 60
        assert BURST <= passed <= most, passed
        assert await call(limits, 30, "eve") == 30, "another user has a bucket of their own"


async def test_what_is_spent_at_one_is_refused_at_another(valkey: ValkeyServer) -> None:
    async with limits_of_processes(valkey.url, 2) as limits:
        assert await call(limits[:1], BURST) == BURST

        async def is_refused() -> bool:
            before = limits[1].enter("ada")  # its first call lets it ask
            before()
            await asyncio.sleep(0.2)
            try:
                limits[1].enter("ada")()
            except LimitReached:
                return True
            return False

        await within(5, is_refused)


async def test_killed_under_load_and_back(valkey: ValkeyServer) -> None:
    async with limits_of_processes(valkey.url) as limits:
        valkey.kill()
        await call(limits, 3, "bob")

        async def are_none_shared() -> bool:
            return not any(one.is_shared for one in limits)

        await within(10, are_none_shared)
        passed = await call(limits, 400)
        assert BURST - PROCESSES <= passed <= BURST + PROCESSES + 3, f"{passed}: each lets through its third"
        await valkey.start()

        async def are_all_shared() -> bool:
            return all(one.is_shared for one in limits)

        await within(10, are_all_shared)
        assert await call(limits, 60, "eve") == 60


async def test_no_call_waits_for_one_that_is_frozen(valkey: ValkeyServer) -> None:
    async with limits_of_processes(valkey.url) as limits:
        longest = 0.0
        with valkey.frozen():
            counts = Counter[bool]()
            end = time.monotonic() + 3
            while time.monotonic() < end:
                before = time.perf_counter()
                try:
                    limits[0].enter("ada")()
                    counts[True] += 1
                except LimitReached:
                    counts[False] += 1
                longest = max(longest, time.perf_counter() - before)
                await asyncio.sleep(0.001)
            assert not limits[0].is_shared
        assert longest < 0.1, f"{longest * 1e3:.1f} ms"  # on a quiet machine under 1 ms
        assert counts[True] <= BURST + 5

        async def is_shared() -> bool:
            return limits[0].is_shared

        await within(10, is_shared)


async def test_it_loses_all_and_nobody_gains(valkey: ValkeyServer) -> None:
    """A Valkey that starts anew knows nothing; what a process knows itself stays."""
    async with limits_of_processes(valkey.url, 1) as limits:
        assert await call(limits, 200) <= BURST + 2
        valkey.kill()
        await valkey.start()
        assert await call(limits, 200) <= 5


async def test_tls_and_a_password_from_a_file(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    certificate, other = self_signed(tmp_path), self_signed(elsewhere)
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    async with running_valkey() as server, tls_in_front(server, certificate) as port:
        url = f"rediss://127.0.0.1:{port}/0"
        trusted = settings(url, redis_password=password, redis_ca=certificate.certificate)
        assert await find_limit_store_problem(trusted) == ""
        stranger = settings(url, redis_password=password, redis_ca=other.certificate)
        assert "MCPIST_REDIS_CA_FILE" in await find_limit_store_problem(stranger)
        nobody = settings(url, redis_ca=certificate.certificate)
        assert "refuses the login" in await find_limit_store_problem(nobody)
        password.chmod(0o644)
        with pytest.raises(Invalid, match="chmod 600"):
            await find_limit_store_problem(trusted)


async def test_one_that_is_not_there(valkey: ValkeyServer) -> None:
    valkey.kill()
    assert "cannot be reached" in await find_limit_store_problem(settings(valkey.url))
    await valkey.start()
    wrong = valkey.url.replace(PASSWORD, "wrong")
    assert "refuses the login" in await find_limit_store_problem(settings(wrong))
