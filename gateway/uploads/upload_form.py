"""What an upload says: a file and fields beside it, as a form (RFC 7578) or as a body with a query."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl

from gateway.mcp.errors import HttpRefusal

FIELDS = frozenset({"path", "title", "tags", "url", "collection", "expected_version"})
MANY_TIMES = frozenset({"tags"})
MAX_PARTS = 70
MAX_FIELD_BYTES = 8_000
_MAX_DIGITS = 9
_WINDOW = 1024 * 1024
_PARAMETER = re.compile(r";[ \t]*+([A-Za-z0-9_-]++\*?)=(?:\"((?:[^\"\\]|\\.)*+)\"|([^;\s]*+))")
_BOUNDARY = re.compile(r"[A-Za-z0-9'()+_,./:=? -]{1,70}")


class ContentType(NamedTuple):
    """A header such as ``text/html; charset=utf-8``, in lower case but for its parameters."""

    media_type: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file with what is said of it; `charset` and `name` are empty where nothing is. `content` is a part of the
    request, which is not copied: 20 MB would stop all calls for some milliseconds."""

    content: memoryview
    name: str
    media_type: str
    charset: str
    fields: Mapping[str, list[str]]

    def get_path(self) -> str:
        """Return where the document is stored: the field `path`, or the file's name.

        Raises:
            HttpRefusal: neither is given.
        """
        path = self.get_field("path") or self.name
        if not path:
            raise HttpRefusal(400, "Name the document by the field path")
        return path

    def get_field(self, name: str) -> str | None:
        """Return what a field says; None where it says nothing."""
        return next((value for value in self.fields.get(name, ()) if value), None)

    def get_expected_version(self) -> int | None:
        """Return the version that the document has to have, None for any.

        Raises:
            HttpRefusal: it is no number.
        """
        text = self.get_field("expected_version")
        if text is None:
            return None
        if not text.isascii() or not text.isdigit() or len(text) > _MAX_DIGITS:
            raise HttpRefusal(400, "expected_version is a whole number")
        return int(text)


def parse_content_type(header: str) -> ContentType:
    """Parse a header with a value and parameters."""
    value = header.partition(";")[0].strip().lower()
    found = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(header)}
    return ContentType(value, found)


async def parse_upload(content: bytes, content_type: str, query: bytes) -> UploadedFile:
    """Parse an upload.

    Raises:
        HttpRefusal: it is none.
    """
    kind = parse_content_type(content_type)
    fields = _parse_query(query)
    if kind.media_type == "multipart/form-data":
        return await _parse_form(content, kind.parameters.get("boundary", ""), fields)
    return UploadedFile(
        memoryview(content), "", kind.media_type, kind.parameters.get("charset", ""), _check_fields(fields)
    )


def _parse_query(query: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_PARTS, errors="strict")
    except ValueError:
        raise HttpRefusal(400, "The query cannot be read") from None
    fields = dict[str, list[str]]()
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


async def _parse_form(content: bytes, boundary: str, fields: dict[str, list[str]]) -> UploadedFile:
    if not _BOUNDARY.fullmatch(boundary):
        raise HttpRefusal(400, "The form has no boundary")
    file: tuple[memoryview, str, ContentType] | None = None
    for head, body in await _split_parts(content, boundary.encode()):
        disposition = parse_content_type(head.get("content-disposition", ""))
        name = disposition.parameters.get("name", "")
        if name == "file" and file is None:
            file = body, _read_file_name(disposition), parse_content_type(head.get("content-type", ""))
            continue
        if len(body) > MAX_FIELD_BYTES:
            raise HttpRefusal(400, "A field of the form is too long")
        fields.setdefault(name, []).append(_decode(bytes(body)))
    if file is None:
        raise HttpRefusal(400, "The form has no file: name its field file")
    body, file_name, kind = file
    return UploadedFile(body, file_name, kind.media_type, kind.parameters.get("charset", ""), _check_fields(fields))


async def _split_parts(content: bytes, boundary: bytes) -> list[tuple[dict[str, str], memoryview]]:
    """Split a form into its parts, each with its headers by their names in lower case."""
    delimiter = b"\r\n--" + boundary
    start = 2 + len(boundary) if content.startswith(delimiter[2:]) else await _find_end(content, delimiter, 0)
    parts, whole = list[tuple[dict[str, str], memoryview]](), memoryview(content)
    while content[start : start + 2] != b"--":
        if content[start : start + 2] != b"\r\n" or len(parts) == MAX_PARTS:
            raise HttpRefusal(400, "The form cannot be read")
        end = await _find_end(content, delimiter, start)
        head_end = content.find(b"\r\n\r\n", start, min(end, start + MAX_FIELD_BYTES))
        if head_end < 0:
            raise HttpRefusal(400, "The form cannot be read")
        lines = _decode(content[start:head_end]).split("\r\n")
        head = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        parts.append((head, whole[head_end + 4 : end - len(delimiter)]))
        start = end
    return parts


async def _find_end(content: bytes, delimiter: bytes, start: int) -> int:
    """Find the end of the next delimiter, in turns: a file of almost delimiters takes 50 ms to search."""
    while start < len(content):
        found = content.find(delimiter, start, start + _WINDOW + len(delimiter) - 1)
        if found >= 0:
            return found + len(delimiter)
        start += _WINDOW
        await asyncio.sleep(0)
    raise HttpRefusal(400, "The form cannot be read")


def _read_file_name(disposition: ContentType) -> str:
    """Read the name of a file, without the folders that some programs send. Browsers escape a quotation mark."""
    name = disposition.parameters.get("filename", "").replace("%22", '"')
    return name.rpartition("/")[2].rpartition("\\")[2]


def _decode(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise HttpRefusal(400, "The form is not UTF-8") from None


def _check_fields(fields: dict[str, list[str]]) -> dict[str, list[str]]:
    unknown = fields.keys() - FIELDS
    if unknown:
        raise HttpRefusal(400, f"The fields are file, {', '.join(sorted(FIELDS))}")
    if any(len(values) > 1 for name, values in fields.items() if name not in MANY_TIMES):
        raise HttpRefusal(400, "Give each field once; only tags may come several times")
    return fields
