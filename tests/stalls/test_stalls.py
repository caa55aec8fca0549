"""No request keeps the event loop busy for half a second: the whole surface with hostile values."""

import re
import time
from collections import Counter

import pytest

from tests.stalls.completeness import assert_complete
from tests.stalls.requests import Asked, Turns, every
from tests.stalls.surface import Surface

pytestmark = [
    pytest.mark.no_canary("the canary's own work would be measured"),
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="module"),
]

MOST_SECONDS = 0.5
GOAL_SECONDS = 0.05
SHOWN = 20
SHORT_STEP = 31
"""The short form sends the first request of each row, and of the others each that has this place among all."""
ATTACKS = (
    (r"POST /mcp: (body|array.*)", "bodies of 4 MB: any bytes, any JSON, arrays of 50 messages"),
    (r"POST /mcp: get_module_schema", "`get_module_schema`: 2,000 names, long names"),
    (r"POST /mcp: call", "`call`: module, tool name, arguments and JSON text of 4 MB"),
    (r"POST /mcp: batch", "`batch`: 50 steps of 80 kB, references, names that look alike"),
    (r"POST /mcp: (?!headers).*", "other MCP methods: every parameter"),
    (r"tool knowledge_graph\..*", "every argument of every knowledge graph tool"),
    (r"tool .*", "every argument of every other tool"),
    (r".*: headers", "every header, 32 kB of any"),
    (r".* /api/v1/.*", "admin API: every path, query, field"),
    (r".*", "pages and endpoints for programs: paths, queries, forms, JSON"),
)
"""What the rows of the table in docs/guarantees.md count together; the first that fits."""


def attack_of(row: str) -> str:
    return next(name for pattern, name in ATTACKS if re.fullmatch(pattern, row))


async def walk(surface: Surface, *, wide: bool) -> None:
    turns, tried = Turns(wide=wide), set[str]()
    worst: dict[str, tuple[float, str, int]] = {}
    statuses: Counter[int] = Counter()
    began = time.monotonic()
    for number, asked in enumerate(every(surface, turns)):
        if not wide and asked.row in tried and number % SHORT_STEP:
            continue
        tried.add(asked.row)
        stall, status = await measured(surface, asked, GOAL_SECONDS if wide else MOST_SECONDS)
        statuses[status] += 1
        if stall > worst.get(asked.row, (0.0, "", 0))[0]:
            worst[asked.row] = (stall, asked.what, status)
    print(f"\n{sum(statuses.values())} requests in {time.monotonic() - began:.0f} s: {dict(statuses)}")
    for row, (stall, what, status) in sorted(worst.items(), key=lambda each: -each[1][0])[:SHOWN]:
        print(f"{stall * 1e3:8.1f} ms  {row:50.50} {what:40.40} {status}")
    by_attack: dict[str, float] = {}
    for row, (stall, _, _) in worst.items():
        by_attack[attack_of(row)] = max(stall, by_attack.get(attack_of(row), 0.0))
    for name, stall in by_attack.items():
        print(f"| {name} | {stall * 1e3:.0f} ms |")
    over = {row: found for row, found in worst.items() if found[0] > GOAL_SECONDS}
    print(f"{len(worst)} rows, {len(over)} of them over {GOAL_SECONDS * 1e3:.0f} ms")
    assert not {row: found for row, found in worst.items() if found[0] > MOST_SECONDS}
    assert not statuses.keys() & {0, 500}, statuses
    assert_complete(surface, turns, tried)


async def measured(surface: Surface, asked: Asked, most_seconds: float) -> tuple[float, int]:
    """The least of three looks where one is long: what only happens once is another program's."""
    answer = await surface.ask(asked.request)
    stall = answer.stall
    for _ in range(2):
        if stall > most_seconds / 2:
            stall = min(stall, (await surface.ask(asked.request)).stall)
    return stall, answer.status


@pytest.mark.guarantee("G17")
async def test_no_request_stops_the_process(surface: Surface) -> None:
    await walk(surface, wide=False)


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_no_request_of_any_kind_stops_the_process(surface: Surface) -> None:
    await walk(surface, wide=True)
