"""Texts for an API key that was not stored: the same on the page, in the API and at the command line."""

from collections.abc import Mapping

from broker.connections.api_keys import KeyProblem
from broker.web.i18n import Translations
from core.errors import Forbidden, Invalid, LimitReached, MCPistError, Unavailable

_WAIT: Mapping[str, float] = {"busy": 60.0, "often": 60.0, "away": 30.0}


def build_key_error(trouble: KeyProblem, service: str) -> MCPistError:
    """The error of a key that was not stored, in the words of the page."""
    text = f"{render_key_error(trouble, service)} Nothing was stored"
    if trouble in ("busy", "often"):
        return LimitReached(text, _WAIT[trouble])
    if trouble == "away":
        return Unavailable(text, _WAIT[trouble])
    return Forbidden(text) if trouble == "forbidden" else Invalid(text)


def render_key_error(trouble: KeyProblem, service: str) -> str:
    """Return the page's text in English, without markup."""
    return Translations("en")(f"connect.refused.key_{trouble}", service=service).striptags()
