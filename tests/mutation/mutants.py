"""The list of errors in errors.toml, and what each does to the text of a file."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("errors.toml")


class StaleEntry(Exception):
    """The text that an entry replaces is not in its file as the entry says: the code has moved."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One error. `promise` is a guarantee's id or another group's name; `tests` are files below tests/, of which `only`
    chooses some as ``pytest -k`` does; `survives` is the reason why no test can notice it, for the few of that kind."""

    promise: str
    error: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    only: str = ""
    everywhere: bool = False
    survives: str = ""

    @property
    def selection(self) -> tuple[tuple[str, ...], str]:
        """What is run for it."""
        return self.tests, self.only

    def applied(self, text: str) -> str:
        """`text` with the error in it.

        Raises:
            StaleEntry: it cannot be put in.
        """
        count = text.count(self.old)
        if count != 1 and not (self.everywhere and count):
            raise StaleEntry(f"{self.promise}, {self.error!r}: `old` stands {count} times in {self.file}")
        mutated = text.replace(self.old, self.new)
        if self.file.endswith(".py"):
            try:
                ast.parse(mutated)
            except SyntaxError as error:
                raise StaleEntry(f"{self.promise}, {self.error!r}: what becomes of it is no Python: {error}") from None
        return mutated


def listed(path: Path = LIST) -> list[Mutant]:
    """Every entry, in the order of the file."""
    return [
        Mutant(promise, tests=tuple(entry.pop("tests")), **entry)
        for promise, entries in tomllib.loads(path.read_text("utf-8")).items()
        for entry in _tables(entries)
    ]


def stale(mutants: list[Mutant], root: Path = ROOT) -> Iterator[str]:
    """What has to be brought up to date in the list."""
    for mutant in mutants:
        try:
            mutant.applied((root / mutant.file).read_text("utf-8"))
        except (StaleEntry, OSError) as error:
            yield str(error)


def _tables(entries: Any) -> list[dict[str, Any]]:
    return [dict(entry) for entry in entries]
