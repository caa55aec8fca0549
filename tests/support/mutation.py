"""Take the application's tenant filters away, one at a time, and see that nothing else of a tenant comes to light.

Row-level security has to hold where a statement forgets its filter. A :class:`Mutator` wraps the store that a tool is
given, notes every statement, and can replace statements on their way::

    mutator = Mutator()
    expected = await scenario(mutator)              # run once as it is: notes the statements
    assert await find_leaks(mutator.mutants(), scenario, expected, alone=alone) == []

A *filter* compares a tenant's or user's column with ``$1`` or ``$2``; a mutant says ``$1::uuid IS NOT NULL`` instead,
so that the parameter is still used. `unfiltered` takes all filters of a statement away at once.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import pytest

from core.errors import MCPistError
from modules.kit import ToolError

FILTER = re.compile(r"(?:\b\w+\.)?\b(?:tenant_id|user_id)\s*=\s*(\$[12])(?!\d)")


REFUSALS = (AssertionError, MCPistError, ToolError, ValueError, asyncpg.PostgresError, pytest.fail.Exception)
"""How a scenario fails when it is told something that it does not expect."""

together_and_alone = pytest.mark.parametrize(
    "alone", [False, pytest.param(True, marks=pytest.mark.long)], ids=["together", "alone"]
)
"""The argument of :func:`find_leaks`: the mutants of all statements share a few stories, and each has one in
`make test-long`."""


def _harmless(match: re.Match[str]) -> str:
    return f"{match[1]}::uuid IS NOT NULL"


def mutants(sql: str) -> Iterator[str]:
    """`sql` without one of its filters, for each of them."""
    for match in FILTER.finditer(sql):
        yield sql[: match.start()] + _harmless(match) + sql[match.end() :]


def unfiltered(sql: str) -> str:
    """`sql` without any filter."""
    return FILTER.sub(_harmless, sql)


@dataclass(slots=True)
class Mutator:
    """Notes the statements that pass, and sends what `replaced` names in the place of some."""

    replaced: Mapping[str, str] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)

    def wrap(self, work: Any) -> "MutatedStore":
        """The same unit of work, watched."""
        return MutatedStore(work, self)

    def mutants(self) -> Iterator[tuple[str, str]]:
        """Every statement seen, with each of its mutants and then without all filters."""
        for sql in self.seen:
            single = list(mutants(sql))
            yield from ((sql, mutant) for mutant in single)
            if len(single) > 1:
                yield sql, unfiltered(sql)

    def list_unfiltered(self) -> dict[str, str]:
        """Every statement seen that has a filter, with what it is without any."""
        return {sql: unfiltered(sql) for sql in self.seen if unfiltered(sql) != sql}

    def passed(self, sql: str) -> Any:
        """What to send for `sql`."""
        self.seen[sql] = None
        return self.replaced.get(sql, sql)


@dataclass(frozen=True, slots=True)
class MutatedStore:
    """Has the methods of a module's store and of a unit of work."""

    work: Any
    mutator: Mutator

    async def fetch(self, sql: str, *args: Any) -> Sequence[Any]:
        return await self.work.fetch(self.mutator.passed(sql), *args)

    async def fetchrow(self, sql: str, *args: Any) -> Any | None:
        return await self.work.fetchrow(self.mutator.passed(sql), *args)

    async def fetchval(self, sql: str, *args: Any) -> Any:
        return await self.work.fetchval(self.mutator.passed(sql), *args)

    async def execute(self, sql: str, *args: Any) -> int:
        return await self.work.execute(self.mutator.passed(sql), *args)


def divide_into_rounds(mutants: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Divide mutants, each beside its statement, into as few rounds as possible: each has one mutant of a statement."""
    rounds: list[dict[str, str]] = []
    for statement, mutant in mutants:
        free = next((one for one in rounds if statement not in one), None)
        if free is None:
            rounds.append(free := {})
        free[statement] = mutant
    return rounds


async def find_leaks(
    mutants: Iterable[tuple[str, str]],
    tell: Callable[[Mutator], Awaitable[Any]],
    expected: Any,
    *,
    alone: bool,
) -> list[str]:
    """Find the mutants by which something else is told than expected.

    Where nothing leaks, no mutant changes anything, and so not all of them at once either: a story is told for each
    round of :func:`divide_into_rounds`. Where a round tells something else, each of its mutants is told by itself; if
    none does it alone, all of them are found. `alone` tells every mutant by itself from the beginning, lest two leaks
    make up for each other.
    """
    rounds = [{statement: mutant} for statement, mutant in mutants] if alone else divide_into_rounds(mutants)
    leaks: list[str] = []
    for one in rounds:
        if await _is_told(tell, one, expected):
            continue
        leaks += [
            mutant for statement, mutant in one.items() if not await _is_told(tell, {statement: mutant}, expected)
        ] or list(one.values())
    return leaks


async def _is_told(tell: Callable[[Mutator], Awaitable[Any]], replaced: Mapping[str, str], expected: Any) -> bool:
    try:
        return await tell(Mutator(replaced)) == expected
    except REFUSALS:
        return False
