"""Estimate of the number of values in a JSON text, made from its bytes before anything is decoded.

Small values cost far more than their bytes: 4 MB of numbers take ten times as long to decode as 4 MB of text, and much
longer in whatever then looks at each of them.
"""

from collections.abc import Sequence

_NOT_STRUCTURAL = bytes(byte for byte in range(256) if byte not in b'",:')


def exceeds_limits(texts: Sequence[bytes], values: int, fields: int) -> bool:
    """Check whether JSON texts together have more than about `values` values or `fields` fields, counted by their
    commas and colons outside of strings. The counts of a text that is no JSON have no meaning, and do not change those
    of the others."""
    if sum(map(len, texts)) <= min(values, fields):
        return False
    if _count_sign(texts, b",") <= values and _count_sign(texts, b":") <= fields:
        return False
    unescaped = [strip_escapes(text) for text in texts]
    # Each string is a value or a field's name, and a text has one value more than it has separators.
    if _count_sign(unescaped, b'"') > 2 * (values + fields + len(texts)):
        return True
    structures = [b"".join(text.translate(None, _NOT_STRUCTURAL).split(b'"')[::2]) for text in unescaped]
    return _count_sign(structures, b",") > values or _count_sign(structures, b":") > fields


def _count_sign(texts: Sequence[bytes], sign: bytes) -> int:
    return sum(text.count(sign) for text in texts)


def strip_escapes(text: bytes) -> bytes:
    """JSON without escaped quotes and backslashes, so that every quote left begins or ends a string."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text
