"""Folding of texts for search: width, case and kana do not count."""

import unicodedata

_KATAKANA, _HIRAGANA_OFFSET = range(0x30A1, 0x30F7), 0x60
_TO_HIRAGANA = {letter: letter - _HIRAGANA_OFFSET for letter in _KATAKANA}


def fold_text(text: str) -> str:
    """Fold a text so that what a person takes for the same is the same: full and half width (NFKC), upper and lower
    case, katakana and hiragana."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_TO_HIRAGANA)


def matches_all_words(query: str, text: str) -> bool:
    """Check whether each word of a folded query stands in a folded text; an empty query is in every text."""
    return all(word in text for word in query.split())
