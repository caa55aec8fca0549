"""Wait for something that must happen soon, instead of sleeping and hoping."""

import asyncio
import time
from collections.abc import Awaitable, Callable

_PAUSE = 0.02
_MOST = 0.1


async def within(seconds: float, condition: Callable[[], Awaitable[bool]]) -> float:
    """Ask until `condition` holds; how many seconds that took. Fails after `seconds`.

    One question counts as a tenth of a second at most: a machine that stands still, or other tests beside this one,
    are not what is tested.
    """
    taken = 0.0
    while True:
        asked = time.monotonic()
        if await condition():
            return taken
        assert taken < seconds, f"not within {seconds} s"
        await asyncio.sleep(_PAUSE)
        taken += min(time.monotonic() - asked, _MOST)
