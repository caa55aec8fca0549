"""Lists that are short enough to be read whole: searched, sorted and paged in memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from core.api.pagination import TextKey, decode_cursor, split_page
from core.text_folding import fold_text, matches_all_words

_Item = TypeVar("_Item")


MAX_FOLDED = 200


def fold_key(text: str) -> str:
    """Fold a text to sort by, at most as long as a cursor may hold."""
    return fold_text(text)[:MAX_FOLDED]


@dataclass(frozen=True)  # with slots, Python 3.11 cannot call a parametrized generic
class SortKey(Generic[_Item]):
    """What a list is sorted by, and the type of it in a cursor."""

    read: Callable[[_Item], Any]
    form: Any = TextKey


@dataclass(frozen=True)  # with slots, Python 3.11 cannot call a parametrized generic
class SortedList(Generic[_Item]):
    """How items are found, sorted and told apart: `text` is searched, `name` is unique."""

    text: Callable[[_Item], str]
    name: Callable[[_Item], str]
    keys: Mapping[str, SortKey[_Item]]
    name_form: Any = TextKey

    def select_page(
        self, items: Iterable[_Item], q: str, sort: str, limit: int, cursor: str | None
    ) -> tuple[Sequence[_Item], str | None]:
        """The items that have all words of `q`, sorted by a key (with ``-`` the other way round), behind the cursor.

        Raises:
            core.errors.Invalid: no page of this list has given the cursor.
        """
        key, words = self.keys[sort.removeprefix("-")], fold_text(q)
        found = [item for item in items if matches_all_words(words, fold_text(self.text(item)))]

        def place(item: _Item) -> tuple[Any, str]:
            return key.read(item), self.name(item)

        descending = sort.startswith("-")
        found.sort(key=place, reverse=descending)
        if cursor is not None:
            last = tuple(decode_cursor(cursor, tuple[key.form, self.name_form]))
            found = [item for item in found if (place(item) < last if descending else place(item) > last)]
        return split_page(found, limit, place)
