"""Which text the bytes of a file are, if any: UTF-8, or one of the encodings that older Japanese sources have."""

import re
from dataclasses import dataclass

UTF_8 = "utf-8"
# Shift_JIS is no valid EUC-JP, while EUC-JP often is valid Shift_JIS: so in this order.
_JAPANESE = ("euc_jp", "cp932")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ue000-\uf8ff]")
_KANA_OR_KANJI = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uff66-\uff9f]")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text and the encoding that its bytes were in."""

    text: str
    encoding: str


def decode_text(content: bytes) -> DecodedText | None:
    """Decode the text in `content`; None where it is binary."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _decode_as(content, "utf-16")
    if b"\0" in content:
        return None
    return _decode_as(content, UTF_8) or next(
        (decoded for name in _JAPANESE if (decoded := _decode_japanese(content, name))), None
    )


def _decode_japanese(content: bytes, encoding: str) -> DecodedText | None:
    """Nearly any bytes are some Shift_JIS: only text without control and private characters is taken for it."""
    decoded = _decode_as(content, encoding)
    return decoded if decoded and _KANA_OR_KANJI.search(decoded.text) and not _CONTROL.search(decoded.text) else None


def _decode_as(content: bytes, encoding: str) -> DecodedText | None:
    try:
        return DecodedText(content.decode(encoding), encoding)
    except UnicodeDecodeError:
        return None
