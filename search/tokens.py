"""Tokens of Japanese and English text, made by the same function for what is searched and for the query.

A database's text configuration makes one word of a whole Japanese run, so that nothing inside it is found.
"""

import re
import unicodedata
from collections.abc import Iterator

_CJK = (
    r"\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"([{_CJK}]+)")
_IDENTIFIER = re.compile(r"[^\W_]+(?:[-_./]+[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KATAKANA_WORD_END = re.compile(r"(?<=[\u30a1-\u30fa\u30fc]{2})\u30fc(?![\u30a1-\u30ff])")
_KANJI = re.compile(r"[\u3005\u3400-\u4dbf\u4e00-\u9fff]")
_HIRAGANA_ONLY = re.compile(r"[\u3041-\u309f\u30fc]+")
PARTICLES = frozenset("のをにがはとでへもや")
# ヴァイオリン and バイオリン are one word.
_VU = {"ヴァ": "バ", "ヴィ": "ビ", "ヴェ": "ベ", "ヴォ": "ボ", "ヴ": "ブ"}
_VOWELS = frozenset("aeiouy")
_SHORTEST_STEMMED = 4


def tokenize(text: str) -> Iterator[str]:
    """Yield the tokens of a text, in its order and with repetitions.

    A run of Japanese gives its overlapping pairs of characters (one character alone gives itself), and pairs of kanji
    with one syllable between, so that 取り消し is found by 取消. A word gives its stem, an identifier itself and the
    stems of its parts. Compatibility forms, case, a long vowel at a word's end and ヴ make no difference.
    """
    text = _fold_katakana(unicodedata.normalize("NFKC", text))
    for number, run in enumerate(_CJK_RUN.split(text)):
        if number % 2:
            yield from _pair_characters(run)
        else:
            yield from _split_words(run)


def tokenize_query(text: str) -> list[str]:
    """Return the tokens of a query, each once. Pairs of hiragana alone are left out: they are grammar, and would find
    everything. A query that has nothing else keeps them."""
    tokens = list(dict.fromkeys(tokenize(text)))
    return [token for token in tokens if not _HIRAGANA_ONLY.fullmatch(token)] or tokens


def list_written_words(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text as they are written but for case and width, without stemming, and whether each is a run
    of Japanese, which is not divided."""
    text = _fold_katakana(unicodedata.normalize("NFKC", text))
    for number, run in enumerate(_CJK_RUN.split(text)):
        if number % 2:
            yield run, True
        else:
            yield from ((word.lower(), False) for word in _PART.findall(run))


def list_run_ends(text: str) -> list[str]:
    """Return the last character of each run of Japanese in a text, folded as in `tokenize`."""
    text = _fold_katakana(unicodedata.normalize("NFKC", text))
    return [run[-1] for run in _CJK_RUN.findall(text)]


def stem_word(word: str) -> str:
    """Cut a lower-case English word down to what its forms share; other words stay as they are."""
    if len(word) < _SHORTEST_STEMMED or not (word.isascii() and word.isalpha()):
        return word
    word = _cut_plural(word)
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and not _VOWELS.isdisjoint(stem):
            doubled = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if doubled else stem
            break
    return word.removesuffix("e") if len(word) > _SHORTEST_STEMMED else word


def _cut_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > _SHORTEST_STEMMED:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _fold_katakana(text: str) -> str:
    for variant, usual in _VU.items():
        text = text.replace(variant, usual)
    return _KATAKANA_WORD_END.sub("", text)


def _split_words(text: str) -> Iterator[str]:
    for identifier in _IDENTIFIER.findall(text):
        parts = [part.lower() for word in _PART.findall(identifier) for part in _CAMEL_HUMP.split(word)]
        if len(parts) > 1:
            yield identifier.lower()
        yield from map(stem_word, parts)


def _pair_characters(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]
        first, between, last = run[start : start + 1], run[start + 1 : start + 2], run[start + 2 : start + 3]
        if (
            between not in PARTICLES
            and _HIRAGANA_ONLY.fullmatch(between)
            and _KANJI.match(first)
            and _KANJI.match(last)
        ):
            yield first + last
