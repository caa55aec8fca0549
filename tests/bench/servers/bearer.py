"""The authentication of every reference: look the token's SHA-256 up in a dict."""

import hashlib

TOKEN = "bench"
_TOKENS = {hashlib.sha256(TOKEN.encode()).hexdigest(): "tenant-1"}


def allowed(authorization: str) -> bool:
    """Whether the header holds the one right token."""
    return authorization[:7] == "Bearer " and hashlib.sha256(authorization[7:].encode()).hexdigest() in _TOKENS
