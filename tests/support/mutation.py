"""Take the application's tenant filters away, one at a time, and see that nothing else of a tenant comes to light.

Row-level security has to hold where a statement forgets its filter. A :class:`Mutator` wraps the store that a tool is
given, notes every statement, and can replace statements on their way::

    mutator = Mutator()
    expected = await scenario(mutator.wrap)              # run once as it is: notes the statements
    for statement, mutant in mutator.mutants():
        assert await scenario(Mutator({statement: mutant}).wrap) == expected

A *filter* compares a tenant's or user's column with ``$1`` or ``$2``; a mutant says ``$1::uuid IS NOT NULL`` instead,
so that the parameter is still used. `unfiltered` takes all filters of a statement away at once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FILTER = re.compile(r"(?:\b\w+\.)?\b(?:tenant_id|user_id)\s*=\s*(\$[12])(?!\d)")


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
