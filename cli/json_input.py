"""JSON that a person gives to a command: as it is, in a file, or at standard input."""

import sys
from pathlib import Path
from typing import Any, cast

import orjson

from core.errors import Invalid

MAX_BYTES = 4 * 1024 * 1024


def read_json(text: str, option: str) -> Any:
    """Read the value of an option: JSON, ``@`` and the path of a file, or ``-`` for standard input.

    Raises:
        Invalid: it is no JSON, or too long.
    """
    source = text.encode()
    if text == "-":
        source = sys.stdin.buffer.read(MAX_BYTES + 1)
    elif text.startswith("@"):
        source = _read_file(Path(text[1:]))
    if len(source) > MAX_BYTES:
        raise Invalid(f"the arguments are longer than {MAX_BYTES} bytes")
    try:
        return orjson.loads(source)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"{option} is not JSON: {error}") from None


def read_object(text: str, option: str) -> dict[str, Any]:
    """Read an option as :func:`read_json` does, whose value is an object.

    Raises:
        Invalid: it is none.
    """
    value = read_json(text, option)
    if not isinstance(value, dict):
        raise Invalid(f'{option} is an object, such as {{"query": "Ada"}}')
    return cast("dict[str, Any]", value)


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from None
