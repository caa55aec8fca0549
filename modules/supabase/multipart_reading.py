"""Files out of a multipart/form-data body (RFC 7578), as Supabase gives an edge function's source."""

import re
from typing import NamedTuple

MAX_PARTS = 1_000

_BOUNDARY = re.compile(r'multipart/form-data\s*;[^"\r\n]*?\bboundary=("?)([A-Za-z0-9\'()+_,./:=?-]{1,70})\1\s*(?:;.*)?')
_FILE_NAME = re.compile(rb'\bfilename="([^"\r\n]{1,1000})"')
# What Supabase puts before each path: the folder in which the function was bundled.
_BUNDLE_FOLDER = re.compile(r"(?:file://)?/?tmp/user_fn_[A-Za-z0-9_-]{1,200}/")


class SourceFile(NamedTuple):
    """One file; `content` is None where it is no text."""

    path: str
    content: str | None
    size: int


def parse_boundary(content_type: str) -> str | None:
    """Parse the boundary out of a Content-Type; None where it is no multipart/form-data."""
    match = _BOUNDARY.fullmatch(content_type.strip())
    return match[2] if match else None


def parse_files(body: bytes, boundary: str) -> list[SourceFile]:
    """Parse the parts that are files, in their order; of more than `MAX_PARTS` parts, the first."""
    files: list[SourceFile] = []
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary.encode("ascii"), MAX_PARTS + 1)[1 : MAX_PARTS + 1]:
        head, separator, content = part.partition(b"\r\n\r\n")
        name = _FILE_NAME.search(head)
        if separator and name:
            files.append(_build_file(name[1].decode("utf-8", "replace"), content))
    return files


def shorten_path(path: str) -> str:
    """A path of a function's source as it was deployed, without the folder of the bundle."""
    return _BUNDLE_FOLDER.sub("", path, count=1).removeprefix("file://")


def _build_file(name: str, content: bytes) -> SourceFile:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is not None and "\0" in text:
        text = None
    return SourceFile(shorten_path(name), text, len(content))
