"""Changes that a vendor refuses because of another one in the same moment."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from modules.kit.vendor import VendorProblem

MAX_ATTEMPTS = 3
FIRST_PAUSE = 0.1
"""Seconds; each further pause is twice as long, and half of it up to one and a half times, so that two do not meet
again."""

Result = TypeVar("Result")


async def retry_conflicts(
    attempt: Callable[[], Awaitable[Result]], is_conflict: Callable[[VendorProblem], bool]
) -> Result:
    """Make a change, and make it again where the vendor has refused it for a conflict: its answer says that nothing was
    changed. For a change that is right whatever the other one was; one that rests on what was read before reads it
    again in `attempt`, or is not repeated.

    Raises:
        VendorProblem: the last conflict, or any other problem.
    """
    for number in range(MAX_ATTEMPTS - 1):
        try:
            return await attempt()
        except VendorProblem as problem:
            if problem.unknown or problem.answer is None or not is_conflict(problem):
                raise
        await asyncio.sleep(FIRST_PAUSE * 2**number * (0.5 + random.random()))  # noqa: S311 spreads attempts
    return await attempt()
