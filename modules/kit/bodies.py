"""Bodies of requests that are not JSON: one file as it is, or a form of several parts."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from modules.kit.errors import ToolError

MAX_REQUEST_BYTES = 25 * 10**6
"""Bytes of a body, with what stands between its parts."""
MAX_PARTS = 200
MAX_NAME_LENGTH = 500

# RFC 9110 §8.3.1, with the tokens and quoted strings that a header's line can hold.
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}"
_MEDIA_TYPE = re.compile(rf'{_WORD}/{_WORD}(?:; ?{_WORD}=(?:{_WORD}|"[ !#-\[\]-~]{{0,200}}")){{0,5}}', re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# The Fetch standard percent-encodes the quotation mark (multipart/form-data encoding algorithm); a backslash is an
# escape to servers that read a quoted string by RFC 9110 §5.6.4, so that one at the end would hide the closing mark.
_QUOTED = str.maketrans({'"': "%22", "\\": "%5C"})


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body as it is, such as a file."""

    content: bytes = field(repr=False)
    media_type: str


@dataclass(frozen=True, slots=True)
class BodyPart:
    """One field of a form. `file_name` makes it a file; `media_type` is left out of the request where it is empty."""

    name: str
    content: bytes | str = field(repr=False)
    file_name: str = ""
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class MultipartBody:
    """A form of several parts (``multipart/form-data``, RFC 7578), in their order."""

    parts: Sequence[BodyPart]


def encode_body(body: RawBody | MultipartBody) -> RawBody:
    """Encode a body as it is sent.

    Raises:
        ToolError: it is too large, or a name or media type in it cannot be sent; the text does not repeat it.
    """
    if isinstance(body, RawBody):
        _check_media_type(body.media_type)
        _check_size(len(body.content))
        return body
    if not 0 < len(body.parts) <= MAX_PARTS:
        raise ToolError(f"a form has 1 to {MAX_PARTS} parts")
    contents = [_encode_text(part.content) if isinstance(part.content, str) else part.content for part in body.parts]
    _check_size(sum(map(len, contents)))
    boundary = _choose_boundary(contents)
    pieces: list[bytes] = []
    for part, content in zip(body.parts, contents, strict=True):
        pieces += (b"--%b\r\n%b\r\n\r\n" % (boundary, _format_part_head(part)), content, b"\r\n")
    pieces.append(b"--%b--\r\n" % boundary)
    _check_size(sum(map(len, pieces)))
    return RawBody(b"".join(pieces), f"multipart/form-data; boundary={boundary.decode()}")


def _choose_boundary(contents: Sequence[bytes]) -> bytes:
    """Choose a boundary that no part has (RFC 2046 §5.1.1), which nobody can foresee either."""
    while True:
        boundary = f"MCPist-{secrets.token_hex(16)}".encode()
        if not any(boundary in content for content in contents):
            return boundary


def _format_part_head(part: BodyPart) -> bytes:
    lines = f'Content-Disposition: form-data; name="{_quote_name(part.name)}"'
    if part.file_name:
        lines += f'; filename="{_quote_name(part.file_name)}"'
    if part.media_type:
        _check_media_type(part.media_type)
        lines += f"\r\nContent-Type: {part.media_type}"
    return _encode_text(lines)


def _quote_name(name: str) -> str:
    if not name or len(name) > MAX_NAME_LENGTH or _CONTROL.search(name):
        raise ToolError(
            f"a file name has 1 to {MAX_NAME_LENGTH} characters, and neither line breaks nor other controls"
        )
    return name.translate(_QUOTED)


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolError("a text contains an unpaired surrogate; send it again without it") from None


def _check_media_type(media_type: str) -> None:
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise ToolError("a media type looks like image/png or text/plain; charset=utf-8")


def _check_size(size: int) -> None:
    if size > MAX_REQUEST_BYTES:
        raise ToolError(f"this is larger than the {MAX_REQUEST_BYTES // 10**6} MB that MCPist sends at once")
