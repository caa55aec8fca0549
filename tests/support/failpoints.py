"""Hold this process at a fail-point of `core.failpoints`, change something, and let it go on.

async with held_at(tmp_path, "before_claim") as held:
    asking = asyncio.create_task(...)
    await held.reached()
    ...                 # what happens meanwhile
    held.go_on()
    answer = await asking
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from core.failpoints import arm_failpoints
from tests.support.eventually import within


@dataclass(frozen=True, slots=True)
class HeldAt:
    """One armed fail-point."""

    folder: Path
    name: str

    async def reached(self) -> None:
        """Return when something waits at the point; fails after ten seconds."""

        async def there() -> bool:
            return (self.folder / f"{self.name}.reached").exists()

        await within(10, there)

    def go_on(self) -> None:
        """Let whatever waits go on, and whatever comes by later pass."""
        (self.folder / f"{self.name}.go").touch()


@contextlib.asynccontextmanager
async def held_at(folder: Path, name: str) -> AsyncIterator[HeldAt]:
    """Arm one point until the block is left; nothing waits there any longer."""
    held = HeldAt(folder, name)
    arm_failpoints(folder, name)
    try:
        yield held
    finally:
        held.go_on()
        arm_failpoints(folder)
