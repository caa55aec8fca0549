"""A secret that cannot be printed, logged, serialised or pickled by accident."""

from typing import NoReturn

MASK = "<secret>"


class Secret:
    """Wrap a secret text; only :meth:`reveal` gives it back.

    Printing gives ``<secret>``; JSON encoders and pickle refuse it (threat-model.md §2, row 31).
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the secret itself: call it where it is used, never keep what it returns."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is never pickled")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    __hash__ = None  # pyright: ignore[reportAssignmentType]
