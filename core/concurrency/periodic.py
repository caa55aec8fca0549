"""Work that is done again and again until the process ends."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from core.concurrency.background import report_turn
from core.log_events import describe_error

log = logging.getLogger(__name__)


class PeriodicTask:
    """Runs `work` every `interval` seconds. No failure ends it: it is logged, and the next turn comes.

    With `jitter` each pause is between half of the interval and one and a half of it, so that the processes of a
    deployment do not all look at once. `runs_at_start`: the first turn comes at once.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], Awaitable[object]],
        interval: float,
        *,
        jitter: bool = True,
        runs_at_start: bool = False,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self.failures = 0
        """How many turns have failed since the last that did not."""
        self._work = work
        self._interval = interval
        self._jitter = jitter
        self._runs_at_start = runs_at_start
        self._chance = chance

    async def run(self) -> None:
        """Until cancelled."""
        if self._runs_at_start:
            await self.run_once()
        while True:
            await asyncio.sleep(self._interval * (0.5 + self._chance()) if self._jitter else self._interval)
            await self.run_once()

    async def run_once(self) -> None:
        """Take one turn."""
        try:
            await self._work()
        except Exception as error:  # noqa: BLE001 what fails now is tried again in the next turn
            self.failures += 1
            report_turn(failed=True)
            log.warning(
                "%s failed; it is tried again in about %g s",
                self.name,
                self._interval,
                extra={"event": "periodic_task_failed", "task": self.name, **describe_error(error)},
            )
        else:
            self.failures = 0
            report_turn(failed=False)
