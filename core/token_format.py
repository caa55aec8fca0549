"""The written form of credentials. An API token is ``mcpist_<id 12><secret 43><crc32 6>``, base62 throughout.

The checksum lets noise be refused without a query and lets secret scanners be sure (threat-model.md §3.8). It is
no secret and proves nothing: only the broker, which holds the pepper, can tell a right token from a wrong one.
"""

import re
import secrets
import zlib
from dataclasses import dataclass

from core.secret import Secret

TOKEN_PREFIX = "mcpist_"  # noqa: S105 no secret
BASE62_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ID_LENGTH = 12
SECRET_LENGTH = 43
CHECKSUM_LENGTH = 6
MAX_JWT_BYTES = 8_192
TOKEN_PATTERN = re.compile(rf"{TOKEN_PREFIX}([0-9A-Za-z]{{12}})([0-9A-Za-z]{{43}})([0-9A-Za-z]{{6}})")
JWT_PATTERN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class TokenParts:
    """A token whose form and checksum are right."""

    id: str
    secret: Secret


def parse_token(text: str) -> TokenParts | None:
    """Take a token apart; None for anything malformed. Costs no query."""
    match = TOKEN_PATTERN.fullmatch(text)
    if match is None or _compute_checksum(match[1] + match[2]) != match[3]:
        return None
    return TokenParts(match[1], Secret(match[2]))


def is_jwt(text: str) -> bool:
    """Check whether a text has the form of a signed JWT (RFC 7515 §3.1) of at most 8 KiB. Costs no query."""
    return len(text) <= MAX_JWT_BYTES and JWT_PATTERN.fullmatch(text) is not None


def generate_token(token_id: str | None = None) -> tuple[TokenParts, Secret]:
    """Generate a fresh random token (256 bits of secret), of that id or a random one: its parts, and the text to show
    once."""
    token = TokenParts(token_id or _generate_text(ID_LENGTH), Secret(_generate_text(SECRET_LENGTH)))
    body = token.id + token.secret.reveal()
    return token, Secret(TOKEN_PREFIX + body + _compute_checksum(body))


def derive_id(digest: bytes) -> str:
    """Derive the id that belongs to a digest (of at least 12 bytes)."""
    value, digits = int.from_bytes(digest, "big"), ""
    for _ in range(ID_LENGTH):
        value, digit = divmod(value, len(BASE62_ALPHABET))
        digits += BASE62_ALPHABET[digit]
    return digits


def _generate_text(length: int) -> str:
    return "".join(secrets.choice(BASE62_ALPHABET) for _ in range(length))


def _compute_checksum(body: str) -> str:
    value, digits = zlib.crc32(body.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        value, digit = divmod(value, 62)
        digits = BASE62_ALPHABET[digit] + digits
    return digits
