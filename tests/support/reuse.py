"""How often a vendor of the suite noticed that a spent refresh token was shown again (threat-model.md §2, row 23).

Each counterpart counts for itself; what it counted is looked at when it ends and at the end of every test, so that a
counter which a test sets back hides nothing. tests/support/reuse_plugin.py decides what follows.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator


class Reuses:
    """The counters of all counterparts that run now, and what they counted since the last look."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._running: dict[int, tuple[str, Callable[[], int]]] = {}
        self._known: dict[int, int] = {}
        self._new: dict[str, int] = {}

    @contextlib.contextmanager
    def counted(self, name: str, count: Callable[[], int]) -> Iterator[None]:
        """Watch a counterpart until the block is left; `count` tells how many reuses it has noticed since its start."""
        number = next(self._numbers)
        self._running[number] = name, count
        try:
            yield
        finally:
            self._look(number)
            del self._running[number]
            self._known.pop(number, None)

    def taken(self) -> dict[str, int]:
        """What was counted since this was last asked, by counterpart."""
        for number in self._running:
            self._look(number)
        new, self._new = self._new, {}
        return new

    def _look(self, number: int) -> None:
        name, count = self._running[number]
        known, now = self._known.get(number, 0), count()
        if now > known:
            self._new[name] = self._new.get(name, 0) + now - known
        self._known[number] = now


REUSES = Reuses()
"""Those of this test process."""
