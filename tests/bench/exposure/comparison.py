"""Every task under every exposure, with a scripted selector in the place of a model."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from core.permissions import Policy, Role
from core.tool_exposure import ToolExposure, View
from gateway.catalogue import Catalogue, CatalogueTool
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import RequestContext
from gateway.meta_tools.definitions import build_definitions, build_instructions, build_plain_instructions
from gateway.meta_tools.get_module_schema import get_module_schema
from gateway.plain_view.plain_tools import PlainTools
from gateway.sieve.sieve import Sieve, SieveView
from server.tool_translations import load_translations
from tests.bench.exposure.tools import Name, draw
from tests.gateway.sieve.matrices import Matrix
from tests.support.tokens import tokens

TASKS = Path(__file__).parent / "tasks.tsv"
SIZES = (30, 100, 300, 500)
GROUP = 20
"""Tasks that share a catalogue: their tools fit the smallest one."""
PINNED = 5
"""Tools of a group's first tasks; a quarter of the tasks are about one of them."""
SURE = 0.35
"""Likeness from which the selector takes a pinned tool without a search."""


@dataclass(frozen=True, slots=True)
class Task:
    tool: Name
    text: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """`start` and `read` are tokens: of what is loaded at the start, and of all that the model read until its call,
    over its turns."""

    start: int
    read: int
    turns: int
    right: bool


def load_tasks() -> list[Task]:
    """Load the tasks: a tool and what somebody would say who wants it."""
    rows = (line.split("\t") for line in TASKS.read_text().splitlines())
    return [Task((name.split(".")[0], name.split(".")[1]), text) for name, text in rows]


def compare(pool: Catalogue, size: int, tasks: Sequence[Task]) -> dict[str, list[Attempt]]:
    """Compare the exposures over catalogues of `size` tools."""
    found: dict[str, list[Attempt]] = {}
    ordered = [task for start in range(len(tasks) // GROUP + 1) for task in tasks[start :: len(tasks) // GROUP + 1]]
    for seed, start in enumerate(range(0, len(ordered), GROUP)):
        group = ordered[start : start + GROUP]
        bench = _Bench(draw(pool, [task.tool for task in group], size, seed), [task.tool for task in group[:PINNED]])
        for name, attempt in bench.exposures.items():
            found.setdefault(name, []).extend(attempt(task) for task in group)
    return found


class _Bench:
    def __init__(self, catalogue: Catalogue, pinned: Sequence[Name]) -> None:
        everything = Policy((Role("all", allow=frozenset({"*"})),), frozenset(catalogue.tools))
        self._view = Sieve(catalogue, load_translations=load_translations).get_policy_view(everything)
        self._tools = {(tool.module, tool.name): tool for tools in catalogue.tools.values() for tool in tools}
        self._pinned = [self._tools[name] for name in dict.fromkeys(pinned)]
        plain = PlainTools(catalogue).get_list(self._view, ToolExposure(View.PLAIN))
        costs = {
            (tool.module, tool.name): _count(plain.define(name, has_tasks=False)) for name, tool in plain.tools.items()
        }
        self._plain_start = sum(costs.values()) + tokens(build_plain_instructions(self._view))
        self._meta_start = _count(build_definitions(self._view)["tools"]) + tokens(build_instructions(self._view))
        self._pinned_start = self._meta_start + sum(costs[tool.module, tool.name] for tool in self._pinned)
        self.exposures: dict[str, Callable[[Task], Attempt]] = {
            "plain": self._try_plain,
            "meta, by query": lambda task: self._search(task, self._meta_start),
            "meta, by module": self._try_module,
            "pinned and meta": self._try_pinned,
        }

    def _try_plain(self, task: Task) -> Attempt:
        best = _select(task.text, list(self._tools.values()))
        return Attempt(self._plain_start, self._plain_start, 1, (best.module, best.name) == task.tool)

    def _try_pinned(self, task: Task) -> Attempt:
        best = _select(task.text, self._pinned)
        if _compare_texts(task.text, _describe(best)) >= SURE:
            return Attempt(self._pinned_start, self._pinned_start, 1, (best.module, best.name) == task.tool)
        return self._search(task, self._pinned_start)

    def _try_module(self, task: Task) -> Attempt:
        module = max(
            self._view.modules.values(),
            key=lambda view: _compare_texts(task.text, f"{view.module.title} {view.module.description}"),
        )
        best = _select(task.text, module.tools)
        answer = _ask(self._view, module=module.module.name)
        return Attempt(
            self._meta_start, 2 * self._meta_start + _count(answer), 2, (best.module, best.name) == task.tool
        )

    def _search(self, task: Task, start: int) -> Attempt:
        """Search by the task's own words, and choose among what is found; a tool that came without its schema takes a
        turn more."""
        answer = _ask(self._view, query=task.text)
        shown = answer["tools"]
        if not shown:
            return Attempt(start, 2 * start + _count(answer), 2, False)
        best = _select(task.text, [self._tools[one["module"], one["name"]] for one in shown])
        read = 2 * start + _count(answer)
        turns = 2
        if not next("params" in one for one in shown if (one["module"], one["name"]) == (best.module, best.name)):
            schema = _ask(self._view, module=best.module, tools=[best.name])
            read, turns = read + start + _count(answer) + _count(schema), 3
        return Attempt(start, read, turns, (best.module, best.name) == task.tool)


def _select(text: str, tools: Sequence[CatalogueTool]) -> CatalogueTool:
    """Select the tool that is most like the task. One function for every exposure, and not the search's."""
    return max(tools, key=lambda tool: _compare_texts(text, _describe(tool)))


@cache
def _describe(tool: CatalogueTool) -> str:
    titles = load_translations().get(tool.module, {}).get("tools", {})
    words = f"{tool.owner.title} {tool.name.replace('_', ' ')} {tool.tool.title} {titles.get(tool.name, '')}"
    return f"{words} {tool.tool.description.split('. ')[0]}"


def _compare_texts(one: str, other: str) -> float:
    """Compare two texts: how many of the first one's character trigrams are in the second one, and a little of the
    converse."""
    ours, theirs = _cut_trigrams(one), _cut_trigrams(other)
    shared = sum((ours & theirs).values())
    return shared / max(1, ours.total()) * 0.8 + shared / max(1, theirs.total()) * 0.2


@cache
def _cut_trigrams(text: str) -> Counter[str]:
    words = [f" {word} " for word in text.lower().split()]
    return Counter(word[start : start + 3] for word in words for start in range(len(word) - 2))


def _ask(view: SieveView, **params: Any) -> dict[str, Any]:
    async def record(*_arguments: Any) -> None:
        return None

    async def describe(*_arguments: Any) -> dict[str, str]:
        return {"connection": "ready"}

    request = RequestContext(Authority(Matrix(UUID(int=1), (), frozenset(), False).caller()), "r", 0.0)
    answer = asyncio.run(get_module_schema(view, request, params, record, describe))
    return orjson.loads(orjson.dumps(answer["structuredContent"]))


def _count(value: Any) -> int:
    return tokens(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
