"""MD: documents of 100 kB between Markdown and the vendors' formats, beside markdown-it-py, which only parses them."""

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Any, cast

from markdown_it import MarkdownIt

from modules.kit import run_in_turns
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf
from modules.kit.markup.html_reading import convert_html_to_markdown
from modules.kit.markup.html_writing import convert_markdown_to_html
from modules.kit.markup.storage_reading import convert_storage_to_markdown
from modules.kit.markup.storage_writing import convert_markdown_to_storage
from modules.notion.block_formatting import format_blocks
from modules.notion.block_parsing import parse_markdown
from tests.bench.lab import Lab
from tests.bench.report import Result, Row

SIZE = 100_000
"""Bytes of Markdown."""
MUST = 20
"""Milliseconds, of issue 13."""

PROSE = (
    "The committee looked at the **budget of next year** and found, after some discussion, that the [plan of May]"
    "(https://example.test/plans/2026-05?view=all) holds; what is missing is a *clear* owner for `billing-export`, and "
    "a date by which the old accounts are closed. Nobody objected, but three people asked for numbers, since "
    "the quarter's figures were 4 % under what had been expected, and the reasons given were not the same in all teams."
    "\n\n"
)
LIST = (
    "- Ask **Ada** about the `export` of May\n  - she has the [figures](https://example.test/f)\n  - and the *dates*\n"
    "- Close account 1234 before Friday\n1. first the reader, then the writer\n2. then ~~nothing~~ tests\n"
)
TABLE_HEAD = "| Name | Owner | Due | State | Note |\n| --- | --- | --- | --- | --- |\n"
ROWS = (
    "| Export | **Ada** | 2026-05-01 | open | see [plan](https://example.test/p) |\n"
    "| Import of accounts | Bob | 2026-06-01 | `done` | nothing |\n"
)
JAPANESE = (
    "委員会は**来年度の予算**を検討し、議論の末に[五月の計画](https://example.test/plans/2026-05)が妥当であると判断した。"
    "不足しているのは`billing-export`の*明確な*担当者と、旧口座を閉鎖する期日である。異議はなかったが、三名が数値を求めた。"
    "\n\n"
)
CODE = "```python\nx = 1\n\ny = 2\n```\n\n"
MIXED = f"## Minutes\n\n{PROSE}{LIST}\n> quoted **words**\n\n{CODE}{TABLE_HEAD}{ROWS}\n{JAPANESE}"
DOCUMENTS = {"prose": PROSE, "Japanese": JAPANESE, "mixed": MIXED, "dense lists": LIST, "tables": ROWS}


def measure(lab: Lab) -> list[Result]:
    """Each converter of each document, in turn with the reference."""
    rounds = 1 if lab.options.quick else lab.options.rounds
    gc.collect()
    gc.freeze()  # as the product does when it has started
    return [
        Result(tuple(row for name, unit in DOCUMENTS.items() for row in _measure_document(name, unit, rounds))),
        Result(tuple(asyncio.run(_measure_turns(rounds)))),
    ]


def _measure_document(name: str, unit: str, rounds: int) -> list[Row]:
    markdown = _build_document(unit)
    reference = MarkdownIt("commonmark").enable("table")
    rows: list[Row] = []
    for what, (prepare, convert) in CONVERSIONS.items():
        document = prepare(markdown)
        milliseconds: list[float] = []
        ratios: list[float] = []
        for _ in range(rounds):
            milliseconds.append(_take_time(convert, document))
            ratios.append(milliseconds[-1] / _take_time(reference.parse, markdown))
        label = f"{what}, {name}, 100 kB"
        rows += [
            Row("MD", f"{label}, CPU", "ms", tuple(milliseconds), MUST, more_is_better=False),
            Row("MD", f"{label}, CPU relative to markdown-it-py parsing it", "x", tuple(ratios), more_is_better=False),
        ]
    return rows


def _build_document(unit: str) -> str:
    return (TABLE_HEAD if unit == ROWS else "") + unit * (SIZE // len(unit.encode()))


# What makes the document of a format, and the converter.
CONVERSIONS: dict[str, tuple[Callable[[str], Any], Callable[[Any], object]]] = {
    "Markdown to ADF": (str, parse_adf),
    "ADF to Markdown": (parse_adf, format_adf),
    "Markdown to Notion": (str, parse_markdown),
    "Notion to Markdown": (lambda markdown: _answer(parse_markdown(markdown)), format_blocks),
    "Markdown to HTML": (str, convert_markdown_to_html),
    "HTML to Markdown": (convert_markdown_to_html, convert_html_to_markdown),
    "Markdown to storage format": (str, convert_markdown_to_storage),
    "storage format to Markdown": (convert_markdown_to_storage, convert_storage_to_markdown),
}


def _answer(blocks: Any) -> Any:
    """Blocks of a request as Notion answers with them: texts with what it derives."""
    if isinstance(blocks, list):
        return [_answer(one) for one in cast("list[Any]", blocks)]
    if not isinstance(blocks, dict):
        return blocks
    found = {name: _answer(value) for name, value in cast("dict[str, Any]", blocks).items()}
    if found.get("type") == "text":
        found |= {"plain_text": found["text"]["content"], "href": (found["text"].get("link") or {}).get("url")}
    return found


def _take_time(work: Callable[[Any], object], document: Any) -> float:
    """Milliseconds of CPU of this thread."""
    began = time.thread_time()
    work(document)
    return (time.thread_time() - began) * 1e3


async def _measure_turns(rounds: int) -> list[Row]:
    """How long the loop is kept busy at a time, in CPU: what others have in between does not count."""
    rows: list[Row] = []
    for name, unit in DOCUMENTS.items():
        for what, (prepare, convert) in CONVERSIONS.items():
            document = prepare(_build_document(unit))
            gc.collect()  # what other measurements left is none of this one's
            turns = tuple([await _find_longest_turn(convert, document) for _ in range(rounds)])
            label = f"{what}, {name}, 100 kB: longest turn of the loop, CPU"
            rows.append(Row("MD", label, "ms", turns, MUST, more_is_better=False))
    return rows


async def _find_longest_turn(convert: Callable[[Any], object], document: Any) -> float:
    turns: list[float] = []

    async def watch() -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            turns.append((time.thread_time() - began) * 1e3)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await run_in_turns(convert, document, size=100_000)
    await asyncio.sleep(0)
    watching.cancel()
    return max(turns)
