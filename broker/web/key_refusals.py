"""Why a vendor's key was not stored: one text for the page, the API and the command line."""

from collections.abc import Mapping

from broker.connect.pasted_keys import KeyTrouble
from broker.web.languages import Texts
from core.errors import Forbidden, Invalid, LimitReached, MCPistError, Unavailable

_WAIT: Mapping[str, float] = {"busy": 60.0, "often": 60.0, "away": 30.0}


def key_refusal(trouble: KeyTrouble, service: str) -> MCPistError:
    """The error of a key that was not stored, in the words of the page."""
    text = f"{key_refusal_text(trouble, service)} Nothing was stored"
    if trouble in ("busy", "often"):
        return LimitReached(text, _WAIT[trouble])
    if trouble == "away":
        return Unavailable(text, _WAIT[trouble])
    return Forbidden(text) if trouble == "forbidden" else Invalid(text)


def key_refusal_text(trouble: KeyTrouble, service: str) -> str:
    """What the page says, in English and without markup."""
    return Texts("en")(f"connect.refused.key_{trouble}", service=service).striptags()
