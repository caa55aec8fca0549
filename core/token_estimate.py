"""An estimate of how many tokens a text costs a model.

A tokenizer of a model's own is a large table that the product does without. The rules below were fitted to OpenAI's
o200k encoding, with which the repository measures (tests/support/tokens.py), on the schemas of all modules and on prose
in English and Japanese. tests/core/test_token_estimate.py holds it to about ten percent; models differ by as much.
"""

import re

_PIECES = re.compile(r" ?[A-Za-z]+|[0-9]{1,3}| ?[^\sA-Za-z0-9]+|\s+")
_WHOLE_WORD_LENGTH = 10
_FIRST_CJK_LETTER = 0x2E80


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text, in time linear in its length."""
    return round(sum(map(_estimate_piece, _PIECES.findall(text))))


def _estimate_piece(piece: str) -> float:
    letters = piece.strip()
    if not letters or letters[0] in "0123456789":
        return 1.0
    if not letters.isascii():
        return sum(0.62 if ord(letter) >= _FIRST_CJK_LETTER else 0.6 for letter in letters)
    if letters[0].isalpha():
        return 1.0 if len(letters) <= _WHOLE_WORD_LENGTH else 1 + (len(letters) - 5) / 8
    return max(1.0, len(letters) / 4)
