"""Return targets after sign-in: a local path from an allow list, never a URL (threat-model.md §2 row 10)."""

import re

DEFAULT_PATH = "/account"
MAX_PATH_LENGTH = 8_000
_ALLOWED = re.compile(
    r"(?:/oauth/authorize|/account|/connect(?:/[a-z][a-z0-9_]{0,62}|/-/session/[0-9a-f-]{36})?"
    r"|/console|/console/(?:[0-9A-Za-z_-]+/)*[0-9A-Za-z_-]*)"
    r"(?:\?[0-9A-Za-z\-._~!$&'()*+,;=:@/?%]*)?"
)


def sanitize_return_to(asked: str) -> str:
    """`asked` where it is such a path, with its query; else the account page.

    Only letters that mean one thing to every browser count: no backslash, dot or escape in the path, no control
    character and no fragment anywhere.
    """
    return asked if len(asked) <= MAX_PATH_LENGTH and _ALLOWED.fullmatch(asked) else DEFAULT_PATH
