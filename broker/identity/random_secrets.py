"""Secrets that we hand to browsers: 256 random bits each, of which only a hash is stored."""

import hashlib
import re
import secrets

from core.secret import Secret

_FORM = re.compile(r"[0-9A-Za-z_-]{43}")


def new_secret() -> Secret:
    """256 random bits as 43 characters that may stand in URLs and cookies."""
    return Secret(secrets.token_urlsafe(32))


def hash_of(secret: Secret) -> bytes | None:
    """What is stored of it: SHA-256, which needs no salt over 256 random bits. None for a text that we never made."""
    text = secret.reveal()
    return hashlib.sha256(text.encode()).digest() if _FORM.fullmatch(text) else None
