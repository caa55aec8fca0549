"""Make a picture of a page small: at most 256 colours, of which a page has few, instead of three bytes for each pixel.

Only what Chromium writes is read: 8 bits for each of red, green and blue, not interlaced (PNG, W3C, third edition).
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 256
PIXEL = 3
"""Bytes of a pixel: red, green, blue."""
MOST_PIXELS = 8_000_000
"""More than any picture of a page has; a header that says more is not believed."""
TRUECOLOUR = (8, 2, 0, 0, 0)
INDEXED = (8, 3, 0, 0, 0)
"""Depth, colour type, compression, filters, interlacing, as the header has them."""

Colour = tuple[int, ...]


def shrink(picture: bytes) -> bytes:
    """The same picture with its 256 most frequent colours; each other colour is the nearest of them.

    Raises ValueError for a picture of another kind."""
    width, height, data = _read(picture)
    rows = list(_unfilter(data, width * PIXEL, height))
    colours = [list(zip(row[0::3], row[1::3], row[2::3], strict=True)) for row in rows]
    counts = Counter(colour for row in colours for colour in row)
    palette = [colour for colour, _ in counts.most_common(COLOURS)]
    index = {colour: place for place, colour in enumerate(palette)}
    for colour in counts:
        if colour not in index:
            index[colour] = _nearest(colour, palette)
    # Filters are of no use to a palette: neighbouring numbers are not similar colours.
    body = b"".join(b"\0" + bytes(index[colour] for colour in row) for row in colours)
    header = struct.pack(">II5B", width, height, *INDEXED)
    flat = bytes(value for colour in palette for value in colour)
    chunks = ((b"IHDR", header), (b"PLTE", flat), (b"IDAT", zlib.compress(body, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(kind, content) for kind, content in chunks)


def _read(picture: bytes) -> tuple[int, int, bytes]:
    """Width, height, and the filtered rows."""
    if not picture.startswith(SIGNATURE):
        raise ValueError("no PNG")
    chunks = list(_chunks(picture))
    width, height, *form = struct.unpack(">II5B", chunks[0][1])
    if tuple(form) != TRUECOLOUR or width * height > MOST_PIXELS:
        raise ValueError(f"a PNG of {width} x {height} in the form {form} is none that a browser takes of a page")
    size = (width * PIXEL + 1) * height
    data = zlib.decompressobj().decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"), size)
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes of {size}")
    return width, height, data


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(SIGNATURE)
    while place < len(picture):
        (length,) = struct.unpack_from(">I", picture, place)
        yield picture[place + 4 : place + 8], picture[place + 8 : place + 8 + length]
        place += length + 12


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _unfilter(data: bytes, stride: int, height: int) -> Iterator[bytes]:
    """Rows as they are, from rows as differences to their neighbours."""
    above = bytes(stride)
    for number in range(height):
        start = number * (stride + 1)
        row = bytearray(data[start + 1 : start + 1 + stride])
        _undo(data[start], row, above)
        above = bytes(row)
        yield above


def _undo(kind: int, row: bytearray, above: bytes) -> None:
    """Undo one of the five filters of a row, in place."""
    if kind == 2:
        row[:] = bytes((value + up) & 255 for value, up in zip(row, above, strict=True))
    elif kind in (1, 3, 4):
        for place, value in enumerate(row):
            left = row[place - PIXEL] if place >= PIXEL else 0
            if kind == 1:
                guess = left
            elif kind == 3:
                guess = (left + above[place]) // 2
            else:
                guess = _paeth(left, above[place], above[place - PIXEL] if place >= PIXEL else 0)
            row[place] = (value + guess) & 255
    elif kind:
        raise ValueError(f"filter {kind}")


def _paeth(left: int, up: int, corner: int) -> int:
    """Of three neighbours the one that is nearest to left + up - corner."""
    by_left, by_up, by_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if by_left <= by_up and by_left <= by_corner:
        return left
    return up if by_up <= by_corner else corner


def _nearest(colour: Colour, palette: list[Colour]) -> int:
    """The place of the most similar colour."""
    red, green, blue = colour
    distances = ((red - r) ** 2 + (green - g) ** 2 + (blue - b) ** 2 for r, g, b in palette)
    return min(enumerate(distances), key=lambda pair: pair[1])[0]
