"""An estimate of how many tokens a text costs a model.

A tokenizer of a model's own is a large table that the product does without. The rules below were fitted to OpenAI's
o200k encoding, with which the repository measures (tests/support/tokens.py), on the schemas of all modules, on prose,
code, logs and identifiers. tests/core/test_token_estimate.py holds it to about ten percent of usual texts; models
differ by as much. Texts that no person and no program writes, such as random letters, are estimated too high rather
than too low.
"""

import math
import re
from functools import lru_cache

CAUTION = 1.12
"""What :func:`count_tokens_up_to` multiplies the estimate by, so that a usual text never has more tokens."""

# A word, split where the tokenizer splits it (``getValue`` is two); a number of up to three digits; the same sign again
# and again; other signs; white space.
_PIECES = re.compile(r" ?[A-Z]*[a-z]+| ?[A-Z]+|[0-9]{1,3}| ?([^\sA-Za-z0-9\\])\1{3,63}| ?[^\sA-Za-z0-9]+|\s+")
_CHUNK = 4096
_LONGEST_TOKEN = 8
"""Characters that a token is counted for at most: some white space has more, but its bytes count, too."""
_WHOLE_WORD_LENGTH, _LONGEST_WORD = 10, 24
_ABBREVIATIONS = frozenset({"http", "https", "html", "length"})
# Nobody's word: four consonants in a row, or letters that hardly any word has side by side.
_NO_WORD = re.compile(r"[bcdfghjklmnpqrstvwxz]{4}|[jqv][bcdfghjklmnpqrstvwxz]|[cfghkpqwx][jqvxz]", re.IGNORECASE)


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text, in time linear in its length."""
    return round(_estimate(text))


def count_tokens_up_to(text: str, most: int) -> int | None:
    """Count the tokens of a text, rather too many than too few; None where there are more than `most`. What takes time
    is the smaller of both."""
    if most < 0:
        return None
    count = 0.0
    for start in range(0, len(text), _CHUNK):
        chunk = text[start : start + _CHUNK]
        count += max(CAUTION * _estimate(chunk), len(chunk) / _LONGEST_TOKEN)
        if count > most:
            return None
    return math.ceil(count)


def _estimate(text: str) -> float:
    return sum(map(_estimate_piece, (match[0] for match in _PIECES.finditer(text))))


@lru_cache(8192)
def _estimate_piece(piece: str) -> float:
    letters = piece.strip()
    if not letters:
        return 1.0 + len(piece) / (64 if piece.count(piece[0]) == len(piece) else 4) if len(piece) > 8 else 1.0
    if letters[0] in "0123456789":
        return 1.0
    if not letters.isascii():
        return sum(map(_estimate_letter, letters))
    if letters[0].isalpha():
        return _estimate_word(letters)
    if letters[0] != "\\" and letters.count(letters[0]) == len(letters):
        return 1.0
    return 1.0 if len(letters) <= 4 else 2.0 if len(letters) <= 6 else len(letters) / 1.6


def _estimate_word(word: str) -> float:
    length = len(word)
    capitals = sum(letter.isupper() for letter in word)
    if length > _LONGEST_WORD or (_NO_WORD.search(word) and word.lower() not in _ABBREVIATIONS):
        return length / 1.8
    if 2 <= capitals < length:
        return length / 1.6
    if capitals == length:
        return max(1.0, length / 4)
    return 1.0 if length <= _WHOLE_WORD_LENGTH else 1 + (length - 5) / 8


def _estimate_letter(letter: str) -> float:
    code = ord(letter)
    if code < 0x80:
        return 0.5
    if code >= 0x20000:
        return 4.0
    if code >= 0x10000:
        return 2.3
    return 0.62 if code >= 0x2E80 else 0.6
