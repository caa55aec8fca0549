"""Arrays for PostgreSQL as text, made in parts: a statement takes them as ``$1::text::uuid[]``.

asyncpg encodes all arrays of a statement in one turn of the event loop, at 0.25 µs an element: 5 ms for 20 columns of a
thousand rows. These parts take a quarter of that, and are made in as many turns as their caller likes.
(PostgreSQL 18: 8.15.6 Array Input and Output Syntax)
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 _format_time adds the offset
_KEPT_TIMES = 2_048
_KEPT_SECONDS = 64


def join_parts(parts: Sequence[str]) -> str:
    """Join what the functions below made of an array's parts, in order; a part without elements is empty."""
    return "{" + ",".join(filter(None, parts)) + "}"


def encode_integers(values: Sequence[int]) -> str:
    """Encode elements of ``smallint[]``, ``integer[]`` or ``bigint[]``."""
    return ",".join(map(str, values))


def encode_uuids(values: Sequence[str | None]) -> str:
    """Encode elements of ``uuid[]``, which are given as texts."""
    return ",".join([value or "NULL" for value in values])


def encode_hex(values: Sequence[str | None]) -> str:
    """Encode elements of ``bytea[]``, which are given as hexadecimal digits."""
    digits = [value for value in values if value is not None]
    if not values or len(digits) < len(values):
        return ",".join(["NULL" if value is None else f'"\\\\x{value}"' for value in values])
    return '"\\\\x' + '","\\\\x'.join(digits) + '"'


def encode_texts(values: Sequence[str | None]) -> str:
    """Encode elements of ``text[]``. PostgreSQL refuses a text with a NUL character, and with a lone surrogate."""
    texts = [value for value in values if value is not None]
    joined = '","'.join(texts)
    needs_care = "\\" in joined or joined.count('"') > 2 * (len(texts) - 1)
    if not values or len(texts) < len(values) or needs_care:
        return ",".join(["NULL" if value is None else _quote(value) for value in values])
    return f'"{joined}"'


def encode_times(values: Sequence[int]) -> str:
    """Encode elements of ``timestamptz[]``, which are given as microseconds since 1970, before the year 10,000."""
    return ",".join(map(_format_time, values))


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@lru_cache(_KEPT_TIMES)
def _format_time(microseconds: int) -> str:
    """Format as ISO 8601, which PostgreSQL reads whatever its DateStyle. Kept, because a batch of audit records has the
    time of its sealing a thousand times, and each other one up to four times."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    return f"{_format_second(seconds)}.{fraction:06}+00"


@lru_cache(_KEPT_SECONDS)
def _format_second(seconds: int) -> str:
    """Format as ISO 8601: times that come together have few seconds between them, and this is most of the work."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()
