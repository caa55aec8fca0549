"""Keep each turn of the event loop short: work that grows with a request is divided into steps, with a turn for others
between them (docs/decisions/0038-bounded-work-per-turn.md)."""

import asyncio

LARGE = 256 * 1024
"""Bytes that one step may work on before others get a turn: at the 5 to 10 ns a byte of decoding, validating or hashing
JSON, a few milliseconds."""


async def yield_after(size: int) -> None:
    """Let the event loop serve others, after a step that has worked on `size` bytes, if these were many."""
    if size > LARGE:
        await asyncio.sleep(0)
