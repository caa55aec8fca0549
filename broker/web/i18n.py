"""The language of a page, its texts, and the display of names that others chose."""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlsplit

import orjson
from markupsafe import Markup, escape

from core.connection_causes import CAUSES, OTHER
from core.errors import MCPistError

MAX_NAME_LENGTH = 120
_ADDRESS = re.compile(r"[^\s@<>\"?&]+@[^\s@<>\"?&][^\s@<>\"?&.]*+\.[^\s@<>\"?&]+")  # a dot inside the domain
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def isolate_name(name: str) -> Markup:
    """The name as isolated text: without invisible characters, which could turn around or hide what stands beside it,
    and cut off after 120 characters."""
    visible = "".join(" " if letter.isspace() else letter for letter in name if _is_visible(letter))
    text = " ".join(visible.split())
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


Language = Literal["en", "ja"]
LOCALES = Path(__file__).with_name("locales")
MAX_LANGUAGE_RANGES = 20
_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?", re.ASCII)


def _render_causes(language: Language) -> Mapping[str, str]:
    """The sentences of the catalogue of causes, by key."""
    return {f"connect.cause.{word}": cause.render_page(language) for word, cause in {**CAUSES, "other": OTHER}.items()}


def _load_messages(language: Language) -> Mapping[str, str]:
    """The texts of the pages, which may hold HTML, by key."""
    texts: dict[str, str] = orjson.loads((LOCALES / f"{language}.json").read_bytes())
    return {**texts, **_render_causes(language)}


ENGLISH = _load_messages("en")
JAPANESE = _load_messages("ja")
_MESSAGES: Mapping[Language, Mapping[str, str]] = {"en": ENGLISH, "ja": JAPANESE}


def negotiate_language(accept_language: str) -> Language:
    """The language that the browser likes best of those we have (RFC 9110 §12.5.4); English if it likes none."""
    best: Language = "en"
    weight = 0.0
    for entry in accept_language[:500].split(",")[:MAX_LANGUAGE_RANGES]:
        tag, _, parameter = entry.partition(";")
        primary = tag.strip().lower().partition("-")[0]
        language: Language | None = "ja" if primary == "ja" else "en" if primary == "en" else None
        if language is not None and (liked := _parse_weight(parameter)) > weight:
            best, weight = language, liked
    return best


def _parse_weight(parameter: str) -> float:
    name, _, value = parameter.replace(" ", "").partition("=")
    if name != "q":
        return 1.0
    return float(value) if _QUALITY.fullmatch(value) else 0.0


def _escape_argument(value: object) -> object:
    return isolate_name(value) if isinstance(value, str) and not isinstance(value, Markup) else value


class Translations:
    """The texts of one language. They are ours and may hold HTML; what fills their placeholders is escaped, and
    shown as names of anybody are unless it is markup of ours."""

    __slots__ = ("_messages", "language")

    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self._messages = _MESSAGES[language]

    def __call__(self, key: str, **args: object) -> Markup:
        """The text of `key`.

        Raises:
            KeyError: there is no such key.
        """
        filled = {name: _escape_argument(value) for name, value in args.items()}
        return Markup(self._messages[key]).format_map(filled)  # noqa: S704 the text is ours, format_map escapes


class PageError(MCPistError):
    """Error shown as a page; its key selects the texts ``problem.<key>.title``, ``.text`` and ``.do`` (what to do
    next).

    `args` fill the placeholders of those texts; they are escaped, and shown as untrusted names are.
    """

    def __init__(self, key: str, status: int = 400, **args: str) -> None:
        super().__init__(f"the request was refused: {key}")
        self.key = key
        self.http_status = status
        self.words = args
