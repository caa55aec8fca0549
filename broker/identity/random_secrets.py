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
    """Return the stored hash of a secret; None for a text that is not one of ours.

    SHA-256 needs no salt over 256 random bits.
    """
    text = secret.reveal()
    return hashlib.sha256(text.encode()).digest() if _FORM.fullmatch(text) else None
