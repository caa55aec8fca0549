"""Bounded caches: the entry that was used least recently goes first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """At most `max_entries` values, none of which is None."""

    __slots__ = ("_entries", "_max_entries")

    def __init__(self, max_entries: int) -> None:
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._max_entries = max_entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        """Return the value, which counts as used; None where there is none."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: Key, value: Value) -> None:
        """Keep a value in place of the one before."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def discard(self, key: Key) -> None:
        """Drop a value, if there is one."""
        self._entries.pop(key, None)


class _Entry(NamedTuple, Generic[Value]):
    value: Value
    tenant_id: UUID
    generation: int | None


class GenerationCache(Generic[Key, Value]):
    """Values that were read under the generation of a tenant, and count until it changes.

    `current` gives a tenant's generation, or None while it is not known: then no value counts.
    """

    __slots__ = ("_current", "_entries")

    def __init__(self, max_entries: int, current: Callable[[UUID], int | None]) -> None:
        self._current = current
        self._entries = LruCache[Key, _Entry[Value]](max_entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        """Check whether there is a value, even an outdated one."""
        return self._entries.get(key) is not None

    def get(self, key: Key) -> Value | None:
        """Return the current value; None where there is none."""
        entry = self._entries.get(key)
        if entry is None or entry.generation is None or entry.generation != self._current(entry.tenant_id):
            return None
        return entry.value

    def get_outdated(self, key: Key) -> Value | None:
        """Return the value, current or not; None where there is none."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def put(self, key: Key, value: Value, tenant_id: UUID, generation: int | None) -> None:
        """Keep a value that was read under `generation`, which was looked up before the value was."""
        self._entries.put(key, _Entry(value, tenant_id, generation))

    def discard(self, key: Key) -> None:
        """Drop a value, if there is one."""
        self._entries.discard(key)
