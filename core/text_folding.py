"""Folding of texts for search: width, case and kana do not count."""

import unicodedata

KATAKANA = (
    "ァアィイゥウェエォオカガキギクグケゲコゴサザシジスズセゼソゾタダチヂッツヅテデトドナニヌネノハバパヒ"
    "ビピフブプヘベペホボポマミムメモャヤュユョヨラリルレロヮワヰヱヲンヴヵヶ"
)
HIRAGANA = (
    "ぁあぃいぅうぇえぉおかがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひ"
    "びぴふぶぷへべぺほぼぽまみむめもゃやゅゆょよらりるれろゎわゐゑをんゔゕゖ"
)
"""Letters with the same sounds, in the same order."""
_TO_HIRAGANA = str.maketrans(KATAKANA, HIRAGANA)


def fold_text(text: str) -> str:
    """Fold a text so that what a person takes for the same is the same: full and half width (NFKC), upper and lower
    case, katakana and hiragana."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_TO_HIRAGANA)


def matches_all_words(query: str, text: str) -> bool:
    """Check whether each word of a folded query stands in a folded text; an empty query is in every text."""
    return all(word in text for word in query.split())
