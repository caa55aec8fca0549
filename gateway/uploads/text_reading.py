"""Text out of bytes: its encoding is told by a mark, by a declaration or by what makes sense."""

import re

from gateway.uploads.formats import ExtractedText, UnreadableDocument, UnreadableReason

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_BINARY_BEGINNINGS = (
    b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x1f\x8b",
    b"\x7fELF", b"{\\rtf",
)  # fmt: skip
_DECLARED = {
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932",
    "cp932": "cp932", "euc-jp": "euc_jp", "eucjp": "euc_jp", "iso-2022-jp": "iso2022_jp",
    "iso-8859-1": "cp1252", "latin1": "cp1252", "windows-1252": "cp1252", "iso-8859-15": "iso8859-15",
    "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
}  # fmt: skip
"""Encodings that a declaration may name, each as browsers take it."""
_GUESSED = ("cp932", "euc_jp")
_LEAST_SENSE = 0.3
_SAMPLE_CHARS = 20_000
_JAPANESE = re.compile("[\u3000-\u30ff\uff01-\uff5e]")
"""Kana, and full-width punctuation and letters."""
_CONTROLS = re.compile("[\0-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n?|\x0c|\x85|\u2028")
_MOST_CONTROLS = 0.01
_HEADING = re.compile(r"^#[ \t]+(\S[^\n]*)$", re.MULTILINE)
_HEADING_REACH = 2_000
"""Characters at the top of a document in which its title may stand."""


def read_text(content: bytes, charset: str) -> ExtractedText:
    """Read plain text, which has no title.

    Raises:
        UnreadableDocument: it is no text.
    """
    return ExtractedText("", decode_text(content, charset))


def read_markdown(content: bytes, charset: str) -> ExtractedText:
    """Read Markdown, whose title is its first heading of level 1.

    Raises:
        UnreadableDocument: it is no text.
    """
    text = decode_text(content, charset)
    return ExtractedText(find_heading(text), text)


def find_heading(text: str) -> str:
    """Find a heading of level 1 at the top of a document; empty where there is none."""
    found = _HEADING.search(text, 0, _HEADING_REACH)
    return "" if found is None else found[1].strip(" \t#")


def decode_text(content: bytes, charset: str) -> str:
    """Decode a text; `charset` is what its sender says, which counts where the bytes do not say it better.

    Raises:
        UnreadableDocument: it is no text, or of no encoding that is known here.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _clean_decoded(_decode(content[len(mark) :], encoding))
    if content.startswith(_BINARY_BEGINNINGS):
        raise UnreadableDocument(UnreadableReason.WRONG_CONTENT)
    declared = _DECLARED.get(charset.strip().lower(), "")
    if declared.startswith("utf-16"):
        return _clean_decoded(_decode(content, declared))
    if b"\0" in content:
        raise UnreadableDocument(UnreadableReason.WRONG_CONTENT)
    if b"\x1b$" in content and content.isascii():
        return _clean_decoded(_decode(content, "iso2022_jp"))
    try:
        return _clean_decoded(content.decode("utf-8"))
    except UnicodeDecodeError:
        return _clean_decoded(_decode(content, declared) if declared else _decode_guessed(content))


def clean_text(text: str) -> str:
    """Clean a text of what no reader sees and no database stores; each line ends with a line feed."""
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", text)).lstrip("\ufeff")


def _clean_decoded(text: str) -> str:
    cleaned, controls = _CONTROLS.subn("", _LINE_ENDS.sub("\n", text))
    if controls > max(_MOST_CONTROLS * len(text), 1):
        raise UnreadableDocument(UnreadableReason.WRONG_CONTENT)
    return cleaned


def _decode(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise UnreadableDocument(UnreadableReason.UNKNOWN_ENCODING) from None


def _decode_guessed(content: bytes) -> str:
    """Decode by the Japanese encoding in which the bytes make the most sense.

    Raises:
        UnreadableDocument: they make sense in none.
    """
    best, most = "", _LEAST_SENSE
    for encoding in _GUESSED:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        sense = _measure_sense(text)
        if sense > most:
            best, most = text, sense
    if not best:
        raise UnreadableDocument(UnreadableReason.UNKNOWN_ENCODING)
    return best


def _measure_sense(text: str) -> float:
    """Measure how much of a text that is no ASCII is what Japanese is written with, from 0 to 1: a wrong encoding gives
    rare characters and half-width kana."""
    foreign = [one for one in text if one > "\x7f"][:_SAMPLE_CHARS]
    points = sum(1.0 if _JAPANESE.match(one) else 0.6 if _is_common(one) else 0.0 for one in foreign)
    return points / max(len(foreign), 1)


def _is_common(char: str) -> bool:
    """Check whether a character is of JIS level 1, which are the usual kanji."""
    encoded = char.encode("euc_jp", "replace")
    return len(encoded) == 2 and 0xB0 <= encoded[0] <= 0xCF
