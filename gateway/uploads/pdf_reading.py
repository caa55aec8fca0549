"""Text of PDF files, page after page. A PDF has no structure that a reader could rely on."""

from io import BytesIO

from pypdf import PasswordType, PdfReader
from pypdf.errors import LimitReachedError

from gateway.uploads.formats import ExtractedText, UnreadableDocument, UnreadableReason
from gateway.uploads.text_reading import clean_text

_HEAD_BYTES = 1_024
"""Bytes in which readers look for the beginning of a PDF."""
_MAX_PAGES = 10_000


def read_pdf(content: bytes, most: int) -> ExtractedText:
    """Read a PDF, which may have no more than `most` characters. One that opens without a password is not encrypted
    for its readers.

    Raises:
        UnreadableDocument: it is no PDF, or cannot be read.
    """
    if b"%PDF-" not in content[:_HEAD_BYTES]:
        raise UnreadableDocument(UnreadableReason.WRONG_CONTENT)
    try:
        reader = PdfReader(BytesIO(content), strict=False)
        if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
            raise UnreadableDocument(UnreadableReason.ENCRYPTED)
        text = _join_pages(reader, most)
        title = reader.metadata.title if reader.metadata else None
    except LimitReachedError:
        raise UnreadableDocument(UnreadableReason.TOO_COMPLEX) from None
    return ExtractedText(" ".join(clean_text(title or "").split()), text)


def _join_pages(reader: PdfReader, most: int) -> str:
    texts, length = list[str](), 0
    for number, page in enumerate(reader.pages):
        text = clean_text(page.extract_text()).strip()
        length += len(text)
        if length > most or number >= _MAX_PAGES:
            raise UnreadableDocument(UnreadableReason.TOO_LONG)
        texts.append(text)
    return "\n\n".join(text for text in texts if text)
