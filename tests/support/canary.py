"""Does a secret that was made in a test turn up where it must not: logs, outputs, audit rows, metrics, answers?

One canary watches the whole suite (``SUITE``; ``canary_plugin.py`` sets it to work): each secret that goes into a
``Secret``, the vault or a key file is registered where it is made, and after each test everything that was said is
searched for the first 12 bytes of each of them: as they are, in base64, in hexadecimal, and as in a URL.

Not watched are secrets of less than 12 bytes, those of fewer than six different ones ("x", 32 zeros), and UUIDs: they
stand in innocent texts as well. A test whose secret has to be found takes a longer one.
"""

import base64
import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock
from urllib.parse import quote, unquote, urlsplit

from core.observability.logs import _NEVER_DEBUG, _QUIET
from core.secret import Secret
from core.token_format import parse_token

SHORTEST = 12
FEWEST_SIGNS = 6
LONG = 64
TAIL = 32
MOST_UNSEARCHED = 1 << 20
# Below DEBUG, so every record is made, and above 5, where uvicorn begins to write whole requests.
LISTENING = 9

_NAMES = re.compile(r"(?i)(token|secret|password|verifier|assertion|keys?)$")
# What says of which kind a token is, such as mcpist_refresh_ or ghp_, before at least 24 signs of secret; and the id of
# a damaged API token.
_KIND = re.compile(r"mcpist_[0-9A-Za-z]{12}(?=[0-9A-Za-z]{12})|(?:[a-z]+[_-])+(?=.{24})")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What is random in a link that signs somebody in.
_RANDOM = re.compile(r"[\w-]{32,}")
_OWN = re.compile(r"mcpist_(?:[a-z]+_)?[0-9A-Za-z]{43,}|(?<=/sign-in/link\?code=)[\w-]{43}")
_JWS = re.compile(r"eyJ[\w-]+\.[\w-]*\.([\w-]+)")
_WORD = 8


class Canary:
    """Secrets on one side, all that was said on the other."""

    def __init__(self) -> None:
        self.said: list[tuple[str, bytes]] = []
        self.away = False
        self._unsearched = 0
        self._leaks: dict[str, str] = {}
        self._seen: set[str | bytes] = set()
        self._needles: dict[int, dict[bytes, str]] = {}  # by their first eight bytes as a number
        self._words: set[int] = set()

    def register(self, secret: Secret) -> str:
        """Watch for `secret`; the text to send. Of an API token, its secret part alone would be enough to leak."""
        self.watch(secret.reveal())
        return secret.reveal()

    def watch(self, secret: str | bytes) -> None:
        """Watch for a secret, or for those that are in a URL, in JSON or in a header's value."""
        if self.away or secret in self._seen:
            return
        self._seen.add(secret)
        made = os.environ.get("PYTEST_CURRENT_TEST", "no test").rpartition(" ")[0] or "the collection"
        for part in _parts(secret):
            for needle in _spellings(part):
                word = int.from_bytes(needle[:_WORD], sys.byteorder)
                self._needles.setdefault(word, {}).setdefault(needle, made)
                self._words.add(word)

    def watches(self, secret: str) -> bool:
        """Whether this very text would be found."""
        return bool(self._found(secret.encode()))

    def hear(self, where: str, what: bytes) -> None:
        """Keep something that others could read."""
        if self.away:
            return
        self.said.append((where, what))
        self._unsearched += len(what)
        if self._unsearched > MOST_UNSEARCHED:
            self._search()

    def hear_output(self, where: str, output: bytes) -> None:
        """Hear what a program printed for whoever asked: MCPist's tokens and links in it are theirs alone."""
        text = output.decode(errors="replace")
        for token in _OWN.findall(text):
            self.watch(token)
        self.hear(where, _OWN.sub("<token>", text).encode())

    def check(self) -> None:
        """Fail if any secret was said anywhere since the last time."""
        self._search()
        leaks, self._leaks = self._leaks, {}
        assert not leaks, f"a secret can be read in: {'; '.join(f'{where} ({how})' for where, how in leaks.items())}"

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear every log record of every library, down to DEBUG or to where the product stops it, whatever handlers
        there are.

        Nobody else notices: records that were not wanted before go no further. A test that sets the root's level itself
        has what it wants.
        """
        handle, root = logging.Logger.handle, logging.getLogger()
        level = root.level

        def heard(logger: logging.Logger, record: logging.LogRecord) -> None:
            self.hear(f"log of {record.name}", _text(record))
            if record.levelno >= level or logger.getEffectiveLevel() != LISTENING:
                handle(logger, record)

        stopped = {**dict.fromkeys(_NEVER_DEBUG, logging.INFO), **dict.fromkeys(_QUIET, logging.WARNING)}
        quiet = [(one := logging.getLogger(name), one.level, most) for name, most in stopped.items()]
        for logger, before, most in quiet:
            logger.setLevel(max(before, most))
        root.setLevel(LISTENING)
        try:
            with mock.patch.object(logging.Logger, "handle", heard):
                yield
        finally:
            root.setLevel(level)
            for logger, before, _ in quiet:
                logger.setLevel(before)

    def _search(self) -> None:
        said, self.said, self._unsearched = self.said, [], 0
        for needle, made in self._found(b"\n".join(what for _, what in said)).items():
            for where, what in said:
                if (at := what.find(needle)) >= 0:
                    before = what[max(0, at - 60) : at].decode(errors="replace")
                    self._leaks.setdefault(where, f"of {made}, after {before!r}")

    def _found(self, text: bytes) -> dict[bytes, str]:
        """The needles in a text. All its words of eight bytes are looked up at once, in C: 20 MB a second."""
        view, found = memoryview(text), dict[bytes, str]()
        for start in range(min(_WORD, len(text) - _WORD + 1)):
            words = view[start : start + (len(text) - start) // _WORD * _WORD].cast("Q")
            for word in self._words.intersection(words):
                found |= {needle: made for needle, made in self._needles[word].items() if needle in text}
        return found


def _parts(secret: str | bytes) -> Iterator[bytes]:
    """What is secret in a secret; its beginning may be the same for all of its kind, as a private key's is."""
    if isinstance(secret, str):
        yield from (part.encode(errors="surrogateescape") for part in _texts(secret))
        return
    yield secret
    if len(secret) > LONG:
        yield secret[-TAIL:]


def _texts(text: str) -> list[str]:
    text = text.removeprefix("Bearer ").removeprefix("Basic ")
    if token := parse_token(text):
        return [token.secret.reveal()]
    with suppress(ValueError):
        if "://" in text:
            return [unquote(urlsplit(text).password or ""), *_RANDOM.findall(text)]
        if text.startswith("{"):
            return list(_named(json.loads(text), named=False))
    if signed := _JWS.fullmatch(text):
        return [signed[1]]
    parts = _UUID.split(text)
    kind = _KIND.match(parts[0])
    return [parts[0][kind.end() :] if kind else parts[0], *parts[1:]]


def _named(value: Any, *, named: bool) -> Iterator[str]:
    """The texts in JSON whose name, or an outer one, says that they are secrets."""
    if isinstance(value, dict):
        for name, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _named(inner, named=named or bool(_NAMES.search(str(name))))  # pyright: ignore[reportUnknownArgumentType]
    elif named and isinstance(value, str):
        yield value


def _spellings(secret: bytes) -> Iterator[bytes]:
    """The beginnings of a secret as it may stand in a text."""
    if len(secret) < SHORTEST or len(set(secret)) < FEWEST_SIGNS:
        return
    yield secret[:SHORTEST]
    yield secret[:SHORTEST].hex().encode()
    yield quote(secret).encode()[:SHORTEST]
    for before in range(3):  # what stands before it shifts all of base64
        encoded = base64.b64encode(bytes(before) + secret)
        part = encoded[4 if before else 0 :][:SHORTEST]
        yield part
        yield part.replace(b"+", b"-").replace(b"/", b"_")


def _text(record: logging.LogRecord) -> bytes:
    """All that a handler could write: the message, the arguments, what was added to the record, the exceptions."""
    try:
        message = record.getMessage()
    except (TypeError, ValueError, KeyError):
        message = str(record.msg)
    added = {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
    error = record.exc_info[1] if record.exc_info else None
    return f"{message} {record.args!r} {added!r} {_causes(error)}".encode(errors="backslashreplace")


def _causes(error: BaseException | None) -> str:
    told: list[str] = []
    while error is not None and len(told) < 5:
        told.append(f"{error!r} {error}")
        error = error.__cause__ or error.__context__
    return " ".join(told)


_STANDARD = frozenset(logging.makeLogRecord({}).__dict__)

SUITE = Canary()
