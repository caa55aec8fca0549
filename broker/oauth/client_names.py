"""Names that clients give themselves: text of strangers, which people will read beside ours."""

import unicodedata

LONGEST = 100
NAMELESS = "a program without a name"

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def cleaned(name: object) -> str:
    """Without control characters and whatever else is not seen or turns the writing round, on one line, 100 characters
    at most; "a program without a name" for one that has none."""
    if not isinstance(name, str):
        return NAMELESS
    seen = "".join(" " if sign.isspace() else sign for sign in name[: 10 * LONGEST] if _is_seen(sign))
    return " ".join(seen.split())[:LONGEST].rstrip() or NAMELESS


def _is_seen(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign) not in _UNSEEN
