"""Names that clients give themselves: text of strangers, which people will read beside ours."""

import unicodedata

MAX_CLIENT_NAME_LENGTH = 100
UNNAMED_CLIENT = "a program without a name"

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def sanitize_client_name(name: object) -> str:
    """Without control characters and whatever else is not seen or turns the writing round, on one line, 100 characters
    at most; "a program without a name" for one that has none."""
    if not isinstance(name, str):
        return UNNAMED_CLIENT
    seen = "".join(" " if sign.isspace() else sign for sign in name[: 10 * MAX_CLIENT_NAME_LENGTH] if _is_visible(sign))
    return " ".join(seen.split())[:MAX_CLIENT_NAME_LENGTH].rstrip() or UNNAMED_CLIENT


def _is_visible(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign) not in _UNSEEN
