"""Reading a stream for a time: what is stored where all of the time is, else live. Nothing of a source is shown that
the person may not use any more, or whose account is gone."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from modules.activity.entry_store import list_synced
from modules.activity.periods import Period
from modules.activity.streams import ActivityRow, ActivityStream
from modules.kit import Context, ToolError

NO_ACCOUNT = UUID(int=0)
PATIENCE_SECONDS = 20.0
"""How long a summary waits for a source: the others are shown in time, as a call has sixty seconds."""


class StreamReading(NamedTuple):
    """What was read of a stream. `synced_at` is when it was stored, None where it was read live; `error` says why
    nothing could be read, and `connect_url` where an account is connected."""

    stream: ActivityStream
    rows: list[ActivityRow]
    synced_at: datetime | None = None
    is_connected: bool = True
    error: str = ""
    connect_url: str = ""


async def read_stream(context: Context, stream: ActivityStream, period: Period) -> StreamReading:
    """Read a stream for whole days; what goes wrong is told in the reading."""
    span = period.civil_span if stream.is_civil else period.span
    try:
        access = await context.check_read(stream.tool)
        if not access.is_usable:
            return StreamReading(stream, [], is_connected=False, error=access.reason, connect_url=access.connect_url)
        async with context.store() as store:
            synced = await list_synced(store, stream, access.account or NO_ACCOUNT, span)
        if synced is not None:
            return StreamReading(stream, synced.rows, synced.synced_at)
        rows = await stream.fetch(context, span) if span.start < span.end else []
    except ToolError as error:
        return StreamReading(stream, [], error=str(error))
    return StreamReading(stream, [one for one in rows if span.has(one.starts_at, one.ends_at)])


async def read_together(
    context: Context, streams: Sequence[ActivityStream], period: Period
) -> Mapping[str, StreamReading]:
    """Read streams at the same time, by their names; one that takes too long is given up."""
    readings = await asyncio.gather(*(_read_patiently(context, one, period) for one in streams))
    return {one.stream.name: one for one in readings}


async def _read_patiently(context: Context, stream: ActivityStream, period: Period) -> StreamReading:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await read_stream(context, stream, period)
    except TimeoutError:
        return StreamReading(stream, [], error="the vendor did not answer in time; try again later")


async def read_required(context: Context, stream: ActivityStream, period: Period) -> StreamReading:
    """Read a stream without which there is nothing to show.

    Raises:
        ToolError: it cannot be read.
    """
    reading = await read_stream(context, stream, period)
    if reading.error:
        raise ToolError(reading.error)
    return reading
