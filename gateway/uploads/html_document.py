"""HTML pages as Markdown, with their title."""

import re
from html import unescape

from gateway.uploads.formats import ExtractedText
from gateway.uploads.text_reading import clean_text, decode_text, find_heading
from modules.kit.markup.html_reading import convert_html_to_markdown

_HEAD_BYTES = 4_096
"""Bytes in which a page has to declare its encoding; browsers look at 1,024."""
_CHARSET = re.compile(rb"<meta\b[^>]{0,500}?\bcharset\s{0,9}=\s{0,9}[\"']?([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"\s{0,9}<\?xml\b[^>]{0,200}?\bencoding=[\"']([A-Za-z0-9_-]{1,40})")
_TITLE = re.compile(r"<title(?:\s[^>]{0,500})?>([^<]{1,2000})</title\s{0,9}>", re.IGNORECASE)
_TITLE_REACH = 100_000


def read_html(content: bytes, charset: str) -> ExtractedText:
    """Read a page. Its title is that of its head, or its first heading.

    Raises:
        UnreadableDocument: it is no text.
    """
    page = decode_text(content, charset or _find_charset(content[:_HEAD_BYTES]))
    text = clean_text(convert_html_to_markdown(page))
    title = _TITLE.search(page, 0, _TITLE_REACH)
    return ExtractedText(" ".join(unescape(title[1]).split()) if title else find_heading(text), text)


def _find_charset(head: bytes) -> str:
    found = _CHARSET.search(head) or _XML_ENCODING.match(head)
    return found[1].decode("ascii") if found else ""
