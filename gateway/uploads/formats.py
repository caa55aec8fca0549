"""Formats of files that are read, and why one is not. The extraction program imports this, so it imports nothing."""

from enum import StrEnum
from typing import NamedTuple


class DocumentFormat(StrEnum):
    """A format that is read."""

    MARKDOWN = "markdown"
    TEXT = "text"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"


class UnreadableReason(StrEnum):
    """Code of the reason for which no text comes of a file."""

    UNSUPPORTED_TYPE = "unsupported_type"
    WRONG_CONTENT = "wrong_content"
    UNKNOWN_ENCODING = "unknown_encoding"
    ENCRYPTED = "encrypted"
    DAMAGED = "damaged"
    NO_TEXT = "no_text"
    TOO_LONG = "too_long"
    TOO_COMPLEX = "too_complex"


class UnreadableDocument(Exception):
    """No text comes of a file, for a reason that its sender is told."""

    def __init__(self, reason: UnreadableReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class ExtractedText(NamedTuple):
    """Text of a file, in Markdown as far as its format has structure, and its title, empty where it has none."""

    title: str
    text: str


_BY_MEDIA_TYPE = {
    "text/markdown": DocumentFormat.MARKDOWN,
    "text/x-markdown": DocumentFormat.MARKDOWN,
    "text/plain": DocumentFormat.TEXT,
    "text/html": DocumentFormat.HTML,
    "application/xhtml+xml": DocumentFormat.HTML,
    "application/pdf": DocumentFormat.PDF,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": DocumentFormat.DOCX,
}
_BY_ENDING = {
    "md": DocumentFormat.MARKDOWN,
    "markdown": DocumentFormat.MARKDOWN,
    "txt": DocumentFormat.TEXT,
    "text": DocumentFormat.TEXT,
    "html": DocumentFormat.HTML,
    "htm": DocumentFormat.HTML,
    "xhtml": DocumentFormat.HTML,
    "pdf": DocumentFormat.PDF,
    "docx": DocumentFormat.DOCX,
}
_UNSPECIFIC = frozenset({"", "text/plain", "application/octet-stream", "application/x-www-form-urlencoded"})
"""Media types that programs send of files that they do not know."""


def choose_format(media_type: str, file_name: str) -> DocumentFormat:
    """Choose the format of a file by its media type, and by the ending of its name where that says too little.

    Raises:
        UnreadableDocument: neither names a format that is read.
    """
    by_ending = _BY_ENDING.get(file_name.rpartition(".")[2].lower())
    if media_type in _UNSPECIFIC and by_ending is not None:
        return by_ending
    chosen = _BY_MEDIA_TYPE.get(media_type)
    if chosen is None:
        raise UnreadableDocument(UnreadableReason.UNSUPPORTED_TYPE)
    return chosen
