"""Work on audit records in slices that one turn of the event loop has room for (docs/decisions/0050)."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

SLICE_RECORDS = 64
"""Records a turn: about 0.5 ms of work."""
SLICE_BYTES = 64 * 1024
"""Bytes a turn, which records reach that hold a call's arguments."""
RECORD_COST_BYTES = 256
"""What a record without any payload counts as: its work is that of so many bytes."""

_T = TypeVar("_T")


def split_into_slices(items: Sequence[_T], measure: Callable[[_T], int]) -> Iterator[tuple[Sequence[_T], int]]:
    """Split `items`, in order, into slices and the size of each in bytes; `measure` gives an item's payload in bytes.

    A slice is over ``SLICE_BYTES`` only where its one item is.
    """
    start = size = 0
    for index, item in enumerate(items):
        added = measure(item) + RECORD_COST_BYTES
        if index > start and (index - start == SLICE_RECORDS or size + added > SLICE_BYTES):
            yield items[start:index], size
            start, size = index, 0
        size += added
    if size:
        yield items[start:], size
