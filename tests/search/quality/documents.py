"""Documents and questions of the quality tests.

Two sets. `company`: 40 short documents and 20 questions in each language, written for these tests. `debian`: the
sections of the Debian Reference and the Debian New Maintainers' Guide, in English and Japanese, which packages of
Debian ship (both GPL-2+; read where they are installed, and not copied), with questions written for these tests.
Half of the questions of `debian` are held out: no parameter is chosen by them.
"""

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

from search.chunks import split_document
from tests.search.quality.memory_search import Passage

HERE = Path(__file__).parent
LANGUAGES = ("en", "ja")
REFERENCE = Path("/usr/share/debian-reference")
GUIDE = {"en": Path("/usr/share/doc/maint-guide/html"), "ja": Path("/usr/share/doc/maint-guide-ja/html")}
PACKAGES = ("debian-reference-en", "debian-reference-ja", "maint-guide", "maint-guide-ja")
LEAST_PASSAGES = 500
"""In each language."""
MAX_CHARS, MAX_CJK_CHARS = 360, 150
"""Of a passage: short, so that a thousand are embedded in a few seconds."""

Half = Literal["tuned", "held out"]

_NUMBER = re.compile(r"^(?:第?[0-9A-Z]+(?:\.[0-9]+)*[.章]+|付録|Appendix|Chapter)\s*(?:[0-9A-Z]+\.)?\s*")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5"})
_BLOCKS = frozenset({"p", "div", "li", "td", "tr", "pre", "dt", "dd", "br", "table"})


@dataclass(frozen=True, slots=True)
class Question:
    """A question in `language`, answered by the passage `answer` of the collection in `among`. `kind`: p paraphrase,
    w words, i identifier, x in the other language."""

    language: str
    among: str
    kind: str
    answer: str
    text: str

    @property
    def half(self) -> Half:
        """The half it belongs to, by a hash that never changes."""
        return "held out" if hashlib.sha256(self.text.encode()).digest()[0] & 1 else "tuned"


def read_company_passages() -> Mapping[str, Sequence[Passage]]:
    """Read the small set, by language."""
    rows = _read_rows("company_documents.tsv")
    return {language: [Passage(row[0], row[place]) for row in rows] for place, language in enumerate(LANGUAGES, 1)}


def read_company_questions() -> list[Question]:
    """Read the questions of the small set."""
    return [Question(row[0], row[0], *row[1:]) for row in _read_rows("company_questions.tsv")]


def read_debian_questions() -> list[Question]:
    """Read the questions of the large set."""
    return [Question(*row) for row in _read_rows("debian_questions.tsv")]


def has_debian_documents() -> bool:
    """Whether the packages of the large set are installed, with their documents."""
    return all(any(folder.glob(f"*.{language}.html")) for language in LANGUAGES for folder in _list_folders(language))


def read_debian_passages() -> Mapping[str, Sequence[Passage]]:
    """Read the large set, by language: a passage for each section, its title and its first chunk."""
    return {language: list(_read_passages(language)) for language in LANGUAGES}


def _read_rows(name: str) -> list[list[str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _list_folders(language: str) -> tuple[Path, Path]:
    return REFERENCE, GUIDE[language]


def _list_pages(language: str) -> Iterator[Path]:
    for folder in _list_folders(language):
        yield from sorted(folder.glob(f"*.{language}.html"))


def _read_passages(language: str) -> Iterator[Passage]:
    for page in _list_pages(language):
        reader = _SectionReader()
        reader.feed(page.read_text("utf-8"))
        for name, title, body in reader.read_sections():
            chunks = split_document(body, max_chars=MAX_CHARS, max_cjk_chars=MAX_CJK_CHARS)
            yield Passage(name, f"{title}\n{body[chunks[0].start : chunks[0].start + chunks[0].length]}")


class _SectionReader(HTMLParser):
    """Reads the sections of a page of DocBook: the id and text of each heading, and the text up to the next one."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._sections: list[tuple[str, list[str], list[str]]] = []
        self._name = ""
        self._title: list[str] | None = None

    def read_sections(self) -> Iterator[tuple[str, str, str]]:
        for name, title, body in self._sections:
            text = re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t\u00a0]+", " ", "".join(body))).strip()
            if name and text:
                yield name, _NUMBER.sub("", " ".join("".join(title).split())), text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("id")
        if tag in _HEADINGS:
            self._title, self._name = [], name or ""
        elif tag == "a" and self._title is not None and name:
            self._name = name
        elif tag in _BLOCKS:
            self._add("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HEADINGS and self._title is not None:
            self._sections.append((self._name, self._title, []))
            self._title = None

    def handle_data(self, data: str) -> None:
        self._add(data)

    def _add(self, text: str) -> None:
        if self._title is not None:
            self._title.append(text)
        elif self._sections:
            self._sections[-1][2].append(text)
