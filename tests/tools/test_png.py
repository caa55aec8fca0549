"""Pictures of the documents are made small without looking different."""

import struct
import zlib

import pytest

from tools.png import SIGNATURE, shrink

RED, GREEN, WHITE, GREY = b"\xff\0\0", b"\0\xff\0", b"\xff\xff\xff", b"\x80\x80\x80"


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def truecolour(width: int, rows: list[bytes], form: bytes = b"\x08\x02\0\0\0", height: int | None = None) -> bytes:
    """A picture of filtered rows, each with its filter before it."""
    header = struct.pack(">II", width, len(rows) if height is None else height) + form
    body = zlib.compress(b"".join(rows))
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def pixels(picture: bytes) -> list[list[bytes]]:
    """The colours of an indexed picture without filters."""
    parts: dict[bytes, bytes] = {}
    place = len(SIGNATURE)
    while place < len(picture):
        (length,) = struct.unpack_from(">I", picture, place)
        parts[picture[place + 4 : place + 8]] = picture[place + 8 : place + 8 + length]
        place += length + 12
    width, height = struct.unpack_from(">II", parts[b"IHDR"])
    body = zlib.decompress(parts[b"IDAT"])
    rows = [body[row * (width + 1) + 1 : (row + 1) * (width + 1)] for row in range(height)]
    return [[parts[b"PLTE"][place * 3 : place * 3 + 3] for place in row] for row in rows]


def test_every_filter_is_undone() -> None:
    """Five rows that look alike, each written with another filter of the standard."""
    plain = RED + GREEN + WHITE
    left = (
        RED + bytes((GREEN[i] - RED[i]) & 255 for i in range(3)) + bytes((WHITE[i] - GREEN[i]) & 255 for i in range(3))
    )
    before = bytes(3) + plain[:6]
    average = bytes((plain[i] - (before[i] + plain[i]) // 2) & 255 for i in range(9))
    # As the row above is the same, its byte is the best guess of the fourth filter wherever it differs from the corner.
    rows = [b"\0" + plain, b"\1" + left, b"\2" + bytes(9), b"\3" + average, b"\4" + bytes(9)]
    assert pixels(shrink(truecolour(3, rows))) == [[RED, GREEN, WHITE]] * 5


def test_a_rare_colour_becomes_the_nearest_frequent_one() -> None:
    frequent = [bytes((value, value, value)) for value in range(256)]
    rows = [b"\0" + b"".join(frequent) + WHITE, b"\0" + b"".join(frequent) + b"\x80\x80\x81"]
    assert pixels(shrink(truecolour(257, rows)))[1][256] == GREY


@pytest.mark.parametrize(
    "picture",
    [
        b"GIF89a",
        truecolour(1, [b"\0" + RED], form=b"\x08\x06\0\0\0"),
        truecolour(1, [b"\0" + RED], form=b"\x08\x02\0\0\1"),
        truecolour(1, [b"\0" + RED], height=2),
        truecolour(1, [b"\5" + RED]),
        truecolour(100_000, [b"\0" + RED], height=100_000),
    ],
    ids=["no-png", "with-alpha", "interlaced", "cut-off", "no-filter", "too-large"],
)
def test_other_pictures_are_refused(picture: bytes) -> None:
    with pytest.raises(ValueError):
        shrink(picture)
