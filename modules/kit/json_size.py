"""How much a JSON text holds, found out from its bytes before anything is built of it.

Small values cost far more than their bytes: 4 MB of numbers take ten times as long to decode as 4 MB of text, and much
longer in whatever then looks at each of them.
"""

_NOT_STRUCTURAL = bytes(byte for byte in range(256) if byte not in b'",:')


def exceeds(text: bytes, values: int, fields: int) -> bool:
    """Whether a JSON text has more than about `values` values or `fields` fields, by its commas and colons. Those
    inside of strings, such as a file's content, do not count. For what is not JSON the answer has no meaning."""
    if text.count(b",") <= values and text.count(b":") <= fields:
        return False
    plain = without_escapes(text)
    if plain.count(b'"') > 2 * (values + fields):  # each string is a value or a field's name
        return True
    structure = b"".join(plain.translate(None, _NOT_STRUCTURAL).split(b'"')[::2])
    return structure.count(b",") > values or structure.count(b":") > fields


def without_escapes(text: bytes) -> bytes:
    """JSON without escaped quotes and backslashes, so that every quote left begins or ends a string."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text
