import asyncio
import logging
from typing import Any

import httpx2
import orjson
import pytest

from core.errors import Unavailable
from core.observability.metrics import Metrics
from server.health import Check, HealthMonitor, build_health_routes, register_health_metrics


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Part:
    """A check that counts its looks."""

    def __init__(self, answer: bool | Exception = True) -> None:
        self.answer = answer
        self.looks = 0

    async def __call__(self) -> bool:
        self.looks += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def hang() -> bool:
    await asyncio.Event().wait()
    return True


async def get(health: HealthMonitor, path: str, method: str = "GET") -> tuple[int, bytes]:
    transport = httpx2.ASGITransport(app=build_health_routes(health)[path])
    async with httpx2.AsyncClient(transport=transport, base_url="http://mcpist") as client:
        response = await client.request(method, path)
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    return response.status_code, response.content


def health(clock: Clock | None = None, **checks: Check) -> HealthMonitor:
    return HealthMonitor(checks, clock=clock or Clock(), timeout=0.05)


async def test_alive_even_when_every_part_is_down() -> None:
    assert await get(health(database=Part(False)), "/healthz") == (200, b'{"alive":true}')


async def test_ready_when_every_part_is_up() -> None:
    status, body = await get(health(database=Part(), audit=Part()), "/readyz")
    assert status == 200
    components = [{"name": "database", "state": "up"}, {"name": "audit", "state": "up"}]
    assert orjson.loads(body) == {"ready": True, "components": components}


@pytest.mark.parametrize(
    ("check", "state"),
    [(Part(False), "down"), (Part(Unavailable()), "down"), (Part(OSError("password=hunter2")), "down"), (hang, "slow")],
)
async def test_unready_when_one_part_is_not_up(check: Check, state: str) -> None:
    status, body = await get(health(database=check, audit=Part()), "/readyz")
    assert status == 503
    assert orjson.loads(body)["components"] == [{"name": "database", "state": state}, {"name": "audit", "state": "up"}]
    assert b"hunter2" not in body


async def test_a_head_request_has_no_body() -> None:
    assert await get(health(database=Part()), "/readyz", "HEAD") == (200, b"")


async def test_a_look_is_shared_and_kept_for_a_second() -> None:
    clock, part = Clock(), Part()
    watched = health(clock, database=part)
    await asyncio.gather(*(watched.check_components() for _ in range(100)))
    assert part.looks == 1
    clock.now = 0.9
    await watched.check_components()
    assert part.looks == 1
    clock.now = 1.1
    part.answer = False
    assert [found.state for found in await watched.check_components()] == ["down"]
    assert part.looks == 2


async def test_who_goes_away_takes_the_look_from_nobody() -> None:
    go = asyncio.Event()

    async def slow() -> bool:
        await go.wait()
        return True

    watched = HealthMonitor({"database": slow}, clock=Clock(), timeout=5)
    first, second = asyncio.create_task(watched.check_components()), asyncio.create_task(watched.check_components())
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    go.set()
    assert [found.state for found in await second] == ["up"]


async def test_draining_is_unready_at_once() -> None:
    watched = health(database=Part())
    await watched.check_components()
    watched.drain()
    status, body = await get(watched, "/readyz")
    assert status == 503
    assert orjson.loads(body)["components"] == [{"name": "process", "state": "draining"}]


async def test_changes_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock, part = Clock(), Part()
    watched = health(clock, database=part)
    answers: list[Any] = [True, False, False, True]
    for answer in answers:
        part.answer = answer
        await watched.check_components()
        clock.now += 2
    assert [record.getMessage() for record in caplog.records] == ["database is down", "database is up"]


def read(metrics: Metrics) -> dict[str, float]:
    return {name: float(number()) for name, number in metrics.observables.items()}


async def test_a_scrape_sees_what_nobody_has_called() -> None:
    database, broker, writes = Part(), Part(), True
    clock, metrics = Clock(), Metrics()
    monitor = health(clock, database=database, broker=broker)
    register_health_metrics(metrics, monitor, can_write=lambda: writes)
    await metrics.look()
    assert read(metrics) == {
        "mcpist_background_tasks_failing": 0,
        "mcpist_broker_up": 1,
        "mcpist_database_up": 1,
    }
    broker.answer, writes = Unavailable(), False
    clock.now = 2
    await metrics.look()
    assert (read(metrics)["mcpist_broker_up"], read(metrics)["mcpist_database_up"]) == (0, 0)
    broker.answer, writes, database.answer = True, True, False
    clock.now = 4
    await metrics.look()
    assert (read(metrics)["mcpist_broker_up"], read(metrics)["mcpist_database_up"]) == (1, 0)


async def test_a_broker_that_is_degraded_is_not_up_and_one_that_is_not_there_has_no_metric() -> None:
    async def is_degraded() -> bool | str:
        return "degraded: no answer in time"

    metrics = Metrics()
    register_health_metrics(metrics, health(database=Part(), broker=is_degraded))
    await metrics.look()
    assert read(metrics)["mcpist_broker_up"] == 0
    alone = Metrics()
    register_health_metrics(alone, health(database=Part()))
    assert "mcpist_broker_up" not in alone.observables
