"""Limits that processes share: each worker counts what the others let through."""

import fcntl
import subprocess
import sys
from collections.abc import Callable

import pytest

from core.concurrency import shared_limits
from core.concurrency.rate_limits import AttemptLimits, CallerLimits
from core.concurrency.shared_limits import SETS, WAYS, SharedLimitMemory
from core.errors import LimitReached

PROGRAM = """
import sys, time
from core.concurrency.shared_limits import SharedLimitMemory
from core.errors import LimitReached

descriptor, worker, workers = map(int, sys.argv[1:4])
memory = SharedLimitMemory(descriptor, worker, workers)
calls = memory.create_caller_limits("calls", 0.001, 30_000, 1000, clock=time.monotonic)
print("ready", flush=True)
sys.stdin.readline()
passed = 0
for number in range(12_000):
    try:
        calls.enter("one")()
    except LimitReached:
        continue
    passed += 1
print(passed, flush=True)
"""

HOLDER = """
import sys
from core.concurrency.shared_limits import SharedLimitMemory

memory = SharedLimitMemory(int(sys.argv[1]), 2, 2)
for offset in range(70_000):  # every set of the first table
    memory.lock(offset)
print("held", flush=True)
sys.stdin.readline()
"""


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def workers() -> tuple[SharedLimitMemory, SharedLimitMemory]:
    first = SharedLimitMemory.create(2)
    return first, SharedLimitMemory(first.descriptor, 2, 2)


@pytest.fixture
def callers(workers: tuple[SharedLimitMemory, SharedLimitMemory]) -> Callable[..., tuple[CallerLimits, CallerLimits]]:
    def create(rate: float, burst: int, concurrency: int) -> tuple[CallerLimits, CallerLimits]:
        one, two = (each.create_caller_limits("calls", rate, burst, concurrency, clock=Clock()) for each in workers)
        return one, two

    return create


def test_a_token_taken_at_one_worker_is_gone_at_the_other(callers) -> None:
    one, two = callers(1, 3, 10)
    for limits in (one, two, one):
        limits.enter("a")()
    for limits in (one, two):
        with pytest.raises(LimitReached, match="wait one second"):
            limits.enter("a")


def test_running_calls_of_all_workers_count_together(callers) -> None:
    one, two = callers(1000, 1000, 2)
    one.enter("a")
    leave = two.enter("a")
    for limits in (one, two):
        with pytest.raises(LimitReached, match="2 calls"):
            limits.enter("a")
    leave()
    one.enter("a")


def test_a_charge_at_one_worker_delays_the_other(callers) -> None:
    one, two = callers(1, 5, 10)
    one.enter("a")
    one.charge("a", 10)
    with pytest.raises(LimitReached):
        two.enter("a")
    two.enter("b")


def test_the_calls_of_a_worker_that_died_are_counted_no_more(workers, callers) -> None:
    one, two = callers(1000, 1000, 2)
    two.enter("a")
    two.enter("a")
    one.enter("b")
    workers[0].forget_worker(2)
    one.enter("a")
    assert len(one) == len(two) == 2


def test_tables_are_apart(workers) -> None:
    calls, api = (workers[0].create_caller_limits(name, 1, 1, 1, clock=Clock()) for name in ("calls", "api"))
    calls.enter("a")
    api.enter("a")
    assert (len(calls), len(api)) == (1, 1)


def test_failed_attempts_of_all_workers_count_together(workers) -> None:
    one, two = (each.create_attempt_limits(60, 4, clock=Clock()) for each in workers)
    assert isinstance(one, AttemptLimits)
    for limits in (one, two, one, two):
        limits.check("203.0.113.7")
        limits.record_failure("203.0.113.7")
    for limits in (one, two):
        with pytest.raises(LimitReached):
            limits.check("203.0.113.7")
        limits.check("203.0.113.8")


def test_a_full_set_forgets_who_rests_longest_and_never_who_runs(workers, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    # All keys fall into one set.
    monkeypatch.setattr(SharedLimitMemory, "hash", lambda _, key: (int(key) << 64) | 7)
    limits = workers[0].create_caller_limits("calls", 1, 1, 2, clock=clock)
    leave = limits.enter("1")
    for number in range(2, 5 * WAYS):
        clock.now += 0.001
        limits.enter(str(number))()
    assert _is_refused(limits, str(5 * WAYS - 1)), "the last one's bucket is still known"
    assert not _is_refused(limits, "2"), "the first one's is not"
    assert len(limits) == WAYS
    others = workers[1].create_caller_limits("calls", 1000, 1000, 2, clock=clock)
    for number in range(100, 100 + WAYS - 1):
        others.enter(str(number))
    with pytest.raises(LimitReached, match="limit of callers"):
        others.enter("999")
    leave()
    others.enter("999")


def test_two_workers_that_meet_a_new_caller_at_once_count_their_calls_out(callers) -> None:
    """A lock that was passed over lets a second worker in between the look for a key and the choice of its slot."""
    one, two = callers(1000, 1000, 2)
    releases = []
    allocate = one._allocate

    def allocate_late(tag: int, first: int) -> int:
        releases.append(two.enter("a"))
        return allocate(tag, first)

    one._allocate = allocate_late
    releases.append(one.enter("a"))
    for leave in releases:
        leave()
    for limits in (one, two):
        with limits.track("a"), limits.track("a"):
            assert _is_refused(limits, "a")


def _is_refused(limits: CallerLimits, key: str) -> bool:
    try:
        limits.enter(key)()
    except LimitReached:
        return True
    return False


def test_twelve_thousand_callers_have_room(workers) -> None:
    """All of them at once in a call; the key by which they are spread is another one each time."""
    limits = workers[0].create_caller_limits("calls", 1, 1, 1, clock=Clock())
    for number in range(12_000):
        limits.enter(f"mcp_{number:08x}")
    assert len(limits) == 12_000 < SETS * WAYS / 5


def test_a_worker_with_fewer_connections_is_known(workers) -> None:
    one, two = workers
    assert not one.is_busier(5), "nobody else serves yet"
    assert not two.is_busier(0)
    assert one.is_busier(5)
    two.forget_worker(2)
    assert not one.is_busier(5)


def test_processes_let_through_the_burst_and_no_more() -> None:
    """A lock that its holder keeps for long, because the scheduler took the core away, is passed over: few do."""
    memory = SharedLimitMemory.create(3)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(memory.descriptor), str(worker), "3"],
            pass_fds=[memory.descriptor], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for worker in (1, 2, 3)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    passed = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert 30_000 <= sum(passed) <= 30_010, passed


def test_a_stopped_worker_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_limits, "LOCK_ATTEMPTS", 5)
    memory = SharedLimitMemory.create(2)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(memory.descriptor)],
        pass_fds=[memory.descriptor], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError):
            fcntl.lockf(memory.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1000)
        limits = memory.create_caller_limits("calls", 1000, 1000, 2, clock=Clock())
        limits.enter("a")()
    finally:
        holder.communicate("\n", timeout=30)
