"""Texts of ours about a deployment, in English and in Japanese (docs/decisions/0089)."""

from collections.abc import Iterable


class BilingualText(str):
    """An English text, as the command line and logs have it, that knows itself in Japanese."""

    __slots__ = ("ja",)
    ja: str

    def __new__(cls, en: str, ja: str) -> "BilingualText":
        """A text of two finished texts; :func:`say` fills values in."""
        made = super().__new__(cls, en)
        made.ja = ja
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # pyright: ignore[reportIncompatibleMethodOverride] typeshed: one part
        """Copies, as `dataclasses.asdict` makes them, have both languages."""
        return str(self), self.ja


def say(en: str, ja: str, **values: object) -> BilingualText:
    """Fill the same values into both languages. A value that is bilingual itself is so in each.

    Raises:
        KeyError: one of them names a value that is not given.
    """
    return BilingualText(en.format(**values), ja.format(**{name: to_japanese(value) for name, value in values.items()}))


def join_names(names: Iterable[BilingualText]) -> BilingualText:
    """List names, in the order of the alphabet."""
    ordered = sorted(names, key=str.casefold)
    return BilingualText(", ".join(ordered), "、".join(name.ja for name in ordered))


def to_japanese(text: object) -> object:
    """The Japanese of a bilingual text, and anything else as it is: errors and names have only one language."""
    return text.ja if isinstance(text, BilingualText) else text
