"""Kill -9 of a gateway at each step of a call: what the vendor was told to change, and what a client was answered, has
its intent in the audit log."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from core.audit.event import AuditEventKind
from core.audit.truncation import unpack
from tests.support.kill_program import STEPS
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person
from tests.support.split import Split, split_on

pytestmark = pytest.mark.timeout(180)
PROGRAM = (sys.executable, "-m", "tests.support.kill_program")
BEFORE_DURABLE = {"tool begun", "vendor asked", "vendor answered"}
"""Steps of a reading tool that may come while its intent is on its way: nothing is answered before that is durable."""
ORDER = list(STEPS)
CALLERS = 8


@pytest.fixture
async def deployment(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Split]:
    async with split_on(database, tmp_path, gateways=1, program=PROGRAM) as made:
        yield made


async def shopper(deployment: Split) -> Person:
    tenant = await deployment.product.tenant("acme", services=["shop"])
    ada = await deployment.product.person(tenant, "ada@acme.test", allow=["*"])
    await deployment.add(ada, "adas-token-0123456789")
    return ada


async def start_to_be_killed(deployment: Split, step: str, count: int = 1) -> None:
    (gateway,) = deployment.gateways
    await gateway.kill()
    gateway.variables.update(KILL_AT=step, KILL_COUNT=str(count))
    await gateway.start()


async def await_kill(deployment: Split) -> None:
    running = deployment.gateways[0].running
    assert running is not None
    async with asyncio.timeout(20):
        assert await running.wait() == -signal.SIGKILL


async def count_intents(deployment: Split, tool: str) -> int:
    """Intents in the log, sealed or not."""
    async with deployment.product.database.admin_connection() as admin:
        rows = await admin.fetch(
            "SELECT kind, tool, NULL::bytea AS record FROM audit.events UNION ALL "
            "SELECT '', '', record FROM audit.incoming"
        )
    waiting = [unpack(row["record"]) for row in rows if row["record"] is not None]
    found = [(event.kind, event.tool) for event in waiting] + [(row["kind"], row["tool"]) for row in rows]
    return found.count((AuditEventKind.CALL_INTENT, tool))


def count_requests(deployment: Split) -> int:
    return sum(request in ("GET /look", "POST /buy") for _, request in deployment.shop.asked)


async def assert_recorded(deployment: Split, ada: Person, tool: str, step: str) -> None:
    await start_to_be_killed(deployment, step)
    intents, asked = await count_intents(deployment, tool), count_requests(deployment)
    answered = False
    with contextlib.suppress(aiohttp.ClientError):
        answered = not (await deployment.call(ada, "shop", tool, at=0, what="tea")).failed
    await await_kill(deployment)
    has_intent = await count_intents(deployment, tool) == intents + 1
    has_asked = count_requests(deployment) > asked
    assert has_intent or not answered, (tool, step)
    assert has_intent or not has_asked or tool == "look", (tool, step)
    # And the process was killed where it should be.
    assert answered == (step == "answer sent"), (tool, step)
    if step != "intent sent" and (tool == "buy" or step not in BEFORE_DURABLE):
        assert has_intent == (ORDER.index(step) >= ORDER.index("intent durable")), (tool, step)
    if step != "vendor asked" and tool == "buy":
        assert has_asked == (ORDER.index(step) > ORDER.index("vendor asked")), (tool, step)


async def test_killed_at_a_step_of_a_call(deployment: Split) -> None:
    ada = await shopper(deployment)
    for step in ORDER[1:]:
        if step not in ("intent queued", "call ended"):  # of which the long test tells
            await assert_recorded(deployment, ada, "buy", step)
    for step in ("vendor answered", "answer sent"):
        await assert_recorded(deployment, ada, "look", step)


@pytest.mark.long
@pytest.mark.parametrize("tool", ["buy", "look"])
async def test_killed_at_each_step_of_a_call(deployment: Split, tool: str) -> None:
    ada = await shopper(deployment)
    for step in STEPS:
        await assert_recorded(deployment, ada, tool, step)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("tool", ["buy", "look"])
async def test_killed_while_many_call(deployment: Split, tool: str) -> None:
    ada = await shopper(deployment)
    answers = 0

    async def call_until_killed() -> None:
        nonlocal answers
        with contextlib.suppress(aiohttp.ClientError):
            while True:
                answers += not (await deployment.call(ada, "shop", tool, at=0, what="tea")).failed

    for step in STEPS:
        for count in (1, 7, 50):
            await start_to_be_killed(deployment, step, count)
            await asyncio.gather(*(call_until_killed() for _ in range(CALLERS)))
            await await_kill(deployment)
            intents = await count_intents(deployment, tool)
            assert intents >= answers, (step, count)
            assert tool == "look" or intents >= count_requests(deployment), (step, count)
