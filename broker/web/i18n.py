"""Which language a page is in, and its texts."""

import re
from collections.abc import Mapping
from typing import Literal

from markupsafe import Markup

from broker.web.display import isolate_name
from broker.web.locales.connect_en import MESSAGES as CONNECT_ENGLISH
from broker.web.locales.connect_ja import MESSAGES as CONNECT_JAPANESE
from broker.web.locales.en import MESSAGES as OTHER_ENGLISH
from broker.web.locales.ja import MESSAGES as OTHER_JAPANESE
from core.connection_causes import CAUSES, OTHER
from core.errors import MCPistError

Language = Literal["en", "ja"]
MAX_LANGUAGE_RANGES = 20
_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?", re.ASCII)


def _render_causes(language: Language) -> Mapping[str, str]:
    """The sentences of the catalogue of causes, by key."""
    return {f"connect.cause.{word}": one.render_page(language) for word, one in {**CAUSES, "other": OTHER}.items()}


ENGLISH: Mapping[str, str] = {**OTHER_ENGLISH, **CONNECT_ENGLISH, **_render_causes("en")}
JAPANESE: Mapping[str, str] = {**OTHER_JAPANESE, **CONNECT_JAPANESE, **_render_causes("ja")}
_MESSAGES: Mapping[Language, Mapping[str, str]] = {"en": ENGLISH, "ja": JAPANESE}


def negotiate_language(accept_language: str) -> Language:
    """The language that the browser likes best of those we have (RFC 9110 §12.5.4); English if it likes none."""
    best: Language = "en"
    weight = 0.0
    for entry in accept_language[:500].split(",")[:MAX_LANGUAGE_RANGES]:
        tag, _, parameter = entry.partition(";")
        primary = tag.strip().lower().partition("-")[0]
        found: Language | None = "ja" if primary == "ja" else "en" if primary == "en" else None
        if found is not None and (liked := _parse_weight(parameter)) > weight:
            best, weight = found, liked
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
