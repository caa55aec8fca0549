"""Lines of a file of JSON Lines, with their numbers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from core.errors import Invalid

MAX_LINE_BYTES = 64 * 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_text_lines(path: Path) -> Iterator[tuple[int, str | None, str]]:
    """Read the lines of a file: the number of each and its text, or None and why it cannot be read.

    Raises:
        Invalid: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in _read_raw_lines(file):
                if line is None:
                    yield number, None, f"is longer than {MAX_LINE_BYTES} bytes"
                    continue
                try:
                    yield number, line.decode().strip(), ""
                except UnicodeDecodeError:
                    yield number, None, "is not UTF-8"
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from None


def parse_object(text: str) -> dict[str, Any]:
    """Parse a JSON object; return an empty one for any other text."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _read_raw_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Read lines with their numbers; None for one that is too long."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield number, line
            continue
        while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield number, None
