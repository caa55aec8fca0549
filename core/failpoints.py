"""Named points at which a test may hold a process, to kill, stop or starve it there (threat-model.md §6.1).

Nothing happens at them unless the process was started to be held: its composition root calls :func:`arm`, which the
product's own never does.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class _ArmedFailpoints:
    folder: Path
    names: frozenset[str]

    async def wait_if_armed(self, name: str) -> None:
        if name not in self.names:
            return
        (self.folder / f"{name}.reached").touch()
        while not (self.folder / f"{name}.go").exists():  # noqa: ASYNC110 another process makes it
            await asyncio.sleep(POLL_SECONDS)


_armed: _ArmedFailpoints | None = None


def arm_failpoints(folder: Path, *names: str) -> None:
    """Make the process stop at each of these points: it creates ``<folder>/<name>.reached`` and goes on once
    ``<folder>/<name>.go`` exists."""
    global _armed
    _armed = _ArmedFailpoints(folder, frozenset(names)) if names else None


async def failpoint(name: str) -> None:
    """Be at the point `name`."""
    if _armed is not None:
        await _armed.wait_if_armed(name)
