"""Long conversions leave the loop to others: counted in turns and in work, never in time."""

import asyncio
import gc
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from greenlet import getcurrent

from modules.kit import ToolError, run_in_turns, turns
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf
from modules.kit.markup.html_reading import convert_html_to_markdown
from modules.kit.markup.html_writing import convert_markdown_to_html
from modules.kit.markup.storage_reading import convert_storage_to_markdown
from modules.kit.markup.storage_writing import convert_markdown_to_storage
from modules.kit.turns import TURN, count_work
from modules.notion.block_formatting import format_blocks
from modules.notion.block_parsing import parse_markdown

SIZE = 6_000
SHORT_TURN = 500
DOCUMENTS = {
    "one table": "| a | b | c |\n| --- | --- | --- |\n" + "| **x** | y | `z` |\n" * (SIZE // 19),
    "one list": "- Ask **Ada** about `export`\n  - she has it\n" * (SIZE // 43),
    "one quote": "> Ask **Ada** about `export`\n> - she has it\n" * (SIZE // 43),
    "one paragraph": "Ask **Ada** about `export` and *more* " * (SIZE // 38),
}

CONVERSIONS: dict[str, tuple[Callable[[Any], Any], Callable[[str], Any]]] = {
    "Markdown to ADF": (parse_adf, str),
    "ADF to Markdown": (format_adf, parse_adf),
    "Markdown to Notion": (parse_markdown, str),
    "Notion to Markdown": (format_blocks, parse_markdown),
    "Markdown to HTML": (convert_markdown_to_html, str),
    "HTML to Markdown": (convert_html_to_markdown, convert_markdown_to_html),
    "Markdown to storage format": (convert_markdown_to_storage, str),
    "storage format to Markdown": (convert_storage_to_markdown, convert_markdown_to_storage),
}


async def count_turns(function: Callable[..., Any], *args: Any, size: int) -> tuple[Any, int]:
    """What a function returns, and how often others were served meanwhile."""
    count = 0

    async def watch() -> None:
        nonlocal count
        while True:
            await asyncio.sleep(0)
            count += 1

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    made = await run_in_turns(function, *args, size=size)
    watching.cancel()
    return made, count


@pytest.mark.parametrize(
    ("what", "name"),
    # A paragraph of Notion's has at most 100 parts.
    [(what, name) for what in CONVERSIONS for name in DOCUMENTS if name != "one paragraph" or "Notion" not in what],
)
async def test_one_large_block_is_converted_in_many_turns(
    what: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert, prepare = CONVERSIONS[what]
    document = prepare(DOCUMENTS[name])
    monkeypatch.setattr(turns, "TURN", SHORT_TURN)
    monkeypatch.setattr(turns, "_left", SHORT_TURN)
    made, count = await count_turns(convert, document, size=SIZE)
    assert count >= SIZE / SHORT_TURN / 3
    assert made == convert(document)


@pytest.mark.parametrize("what", CONVERSIONS)
def test_a_conversion_leaves_nothing_to_the_collector(what: str) -> None:
    """What it makes on the way goes as it ends: a circle would stay until a full collection, within some turn."""
    convert, prepare = CONVERSIONS[what]
    document = prepare(DOCUMENTS["one table"] + "\n\n" + DOCUMENTS["one list"])
    gc.collect()
    gc.disable()
    try:
        convert(document)
        left = gc.collect()
    finally:
        gc.enable()
    assert left < 100


def work(steps: int) -> int:
    for _ in range(steps):
        count_work(TURN // 2)
    return steps


async def test_short_work_is_done_at_once_and_adds_up() -> None:
    counts = [(await count_turns(work, 1, size=TURN // 2))[1] for _ in range(30)]
    assert sum(map(bool, counts)) >= 9, "thirty halves of a turn in one turn of the loop"


async def test_what_fits_into_a_turn_has_no_greenlet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_left", TURN)
    assert not await run_in_turns(is_apart, size=TURN - 1)
    assert await run_in_turns(is_apart, size=TURN)


def is_apart() -> bool:
    return getcurrent().parent is not None


async def test_of_those_that_rest_one_goes_on_in_a_turn() -> None:
    log: list[str] = []

    def write(name: str) -> None:
        for _ in range(4):
            count_work(TURN + 1)
            log.append(name)

    async def watch() -> None:
        while True:
            await asyncio.sleep(0)
            log.append("turn")

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(run_in_turns(write, name, size=4 * TURN) for name in "abc"))
    watching.cancel()
    for first, second in itertools.pairwise(log):
        assert "turn" in (first, second)
    assert sorted(one for one in log if one != "turn") == sorted("abc" * 4)


async def test_an_error_comes_out_and_a_call_that_is_given_up_ends() -> None:
    with pytest.raises(ToolError, match="at most"):
        await run_in_turns(parse_adf, "a" * 600_000, size=600_000)
    ended: list[bool] = []

    def go_on() -> None:
        try:
            work(10**9)
        finally:
            ended.append(True)

    task = asyncio.create_task(run_in_turns(go_on, size=10**9))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]
    assert await run_in_turns(work, 5, size=5 * TURN) == 5, "the next one is not held up"


def test_without_a_loop_nothing_rests() -> None:
    assert work(100) == 100
