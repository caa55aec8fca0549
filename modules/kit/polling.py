"""Work that a vendor has accepted and does by itself: waiting for its end, for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from pydantic import Field

from modules.kit.context import Context
from modules.kit.parameters import drop_bounds
from modules.kit.vendor import VendorProblem

MAX_WAIT = 50
MAX_LONG_WAIT = 1_800
"""Seconds that a tool may wait within a call, and an asynchronous one in its job."""
FIRST_PAUSE = 0.5
MAX_PAUSE = 5.0
"""Seconds between two looks; each pause is half as long again as the one before."""

WaitSeconds = Annotated[
    int, Field(ge=0, le=MAX_WAIT, description="Wait for its end, at most 50", json_schema_extra=drop_bounds)
]

LongWaitSeconds = Annotated[
    int, Field(ge=0, le=MAX_LONG_WAIT, description="Wait for its end, at most 1800", json_schema_extra=drop_bounds)
]

Value = TypeVar("Value")


async def poll(
    context: Context,
    read: Callable[[], Awaitable[Value]],
    is_done: Callable[[Value], bool],
    *,
    seconds: float,
    message: str,
) -> Value | None:
    """Read until `is_done` or for `seconds`, with progress under `message`; the last that was read. A look that fails
    ends the waiting, for the work itself goes on: None where none has succeeded."""
    loop = asyncio.get_running_loop()
    start, pause, value = loop.time(), FIRST_PAUSE, None
    while (waited := loop.time() - start) + pause <= seconds:
        await context.report_progress(waited, seconds, message)
        await asyncio.sleep(pause)
        pause = min(1.5 * pause, MAX_PAUSE)
        try:
            value = await read()
        except VendorProblem:
            return value
        if is_done(value):
            return value
    return value
