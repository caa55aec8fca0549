"""Names that somebody else chose, made fit to be shown."""

import re
import unicodedata
from urllib.parse import quote, urlsplit

from markupsafe import Markup, escape

MAX_NAME_LENGTH = 120
_ADDRESS = re.compile(r"[^\s@<>\"?&]+@[^\s@<>\"?&][^\s@<>\"?&.]*+\.[^\s@<>\"?&]+")  # a dot inside the domain
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def isolate_name(name: str) -> Markup:
    """The name as isolated text: without invisible characters, which could turn around or hide what stands beside it,
    and cut off after 120 characters."""
    seen = "".join(" " if letter.isspace() else letter for letter in name if _is_visible(letter))
    text = " ".join(seen.split())
    if len(text) > MAX_NAME_LENGTH:
        text = text[: MAX_NAME_LENGTH - 1] + "…"
    return Markup("<bdi>%s</bdi>") % escape(text)


def _is_visible(letter: str) -> bool:
    return letter.isspace() or unicodedata.category(letter) not in _INVISIBLE


def render_contact(text: str) -> Markup:
    """Render the contact address of the settings; an e-mail address or an https URL becomes a link."""
    if _ADDRESS.fullmatch(text):
        return Markup('<a href="mailto:%s">%s</a>') % (quote(text, safe="@+"), text)
    if text.startswith("https://") and " " not in text:
        return Markup('<a href="%s" rel="noreferrer">%s</a>') % (text, text)
    return isolate_name(text)


def describe_destination(url: str) -> str:
    """Describe a redirect URI so that a user can judge it: its host and port, or the scheme of an app."""
    parts = urlsplit(url)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


_BROWSERS = (
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def get_browser_name(user_agent: str) -> str:
    """Such as ``Firefox, Windows``; for other programs the first word of what they say; empty for nothing."""
    if not user_agent.startswith("Mozilla/"):
        return user_agent.split(" ", 1)[0][:40]
    found = [next((name for mark, name in names if mark in user_agent), "") for names in (_BROWSERS, _SYSTEMS)]
    return ", ".join(name for name in found if name)
