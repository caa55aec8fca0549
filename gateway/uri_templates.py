"""Templates of resources' URIs (RFC 6570): ``{name}`` for one segment of a path and ``{+name}`` for several."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import msgspec

MAX_URI_LENGTH = 2_048
"""Of a URI that is read, in bytes."""
MAX_TEMPLATE_LENGTH = 200

_PART = re.compile(r"\{(\+?)([a-z][a-z0-9_]*)\}")
_LITERAL = re.compile(r"[A-Za-z0-9._~:/-]+")
_SCHEME = re.compile(r"[a-z][a-z0-9.-]*://.")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f]|(?:^|[/\\])\.\.?(?:[/\\]|$)")
"""Control characters, and segments that mean another place: no name of a thing has them, and a module may put a
variable into a vendor's path."""


class InvalidUriTemplate(Exception):
    """A template breaks a rule; the text says which."""


class UriTemplate(msgspec.Struct, frozen=True, eq=False):
    """One template; matching takes linear time."""

    text: str
    _prefix: str
    _pattern: re.Pattern[str]
    _names: tuple[str, ...]

    def match(self, uri: str) -> Mapping[str, str] | None:
        """Return the variables of a URI, decoded; None where the template does not describe it, and for what no
        variable may hold: bytes that are no UTF-8, control characters, and the segments ``.`` and ``..``."""
        if not uri.startswith(self._prefix):
            return None
        match = self._pattern.fullmatch(uri) if is_short_enough(uri) else None
        if match is None:
            return None
        try:
            values = [unquote_to_bytes(value).decode() for value in match.groups()]
        except ValueError:  # bytes that are no UTF-8
            return None
        return None if any(map(_UNSAFE.search, values)) else dict(zip(self._names, values, strict=True))

    def expand(self, variables: Mapping[str, Any]) -> str:
        """Return the URI that :meth:`match` reads as these variables. Of several it is always the same one."""

        def quote_variable(part: re.Match[str]) -> str:
            return quote(str(variables[part[2]]), safe="/" if part[1] else "")

        return _PART.sub(quote_variable, self.text)


def is_short_enough(uri: str) -> bool:
    """Check the length of a URI, in bytes."""
    return len(uri) <= MAX_URI_LENGTH and len(uri.encode("utf-8", "replace")) <= MAX_URI_LENGTH


def parse_uri_template(text: str) -> UriTemplate:
    """Parse a template.

    Raises:
        InvalidUriTemplate: it is none, or could be matched in more than linear time.
    """
    pieces = _PART.split(text)
    literals, greedy, names = pieces[::3], pieces[1::3], pieces[2::3]
    if not _SCHEME.match(text) or not all(_LITERAL.fullmatch(literal) or not literal for literal in literals):
        raise InvalidUriTemplate(f"{text!r} is no URI template: write scheme://path with {{name}} or {{+name}}")
    if len(text) > MAX_TEMPLATE_LENGTH:
        raise InvalidUriTemplate(f"{text[:80]}: a template has at most {MAX_TEMPLATE_LENGTH} characters")
    if len(set(names)) != len(names):
        raise InvalidUriTemplate(f"{text}: a variable stands there twice")
    for number, literal in enumerate(literals[1:]):
        is_last = number == len(names) - 1
        if not (literal.startswith("/") or (is_last and not literal)):
            raise InvalidUriTemplate(f"{text}: a variable ends with its segment")
        if greedy[number] and not is_last:
            raise InvalidUriTemplate(f"{text}: only the last variable may stand for several segments")
    pattern = re.escape(literals[0])
    for is_greedy, literal in zip(greedy, literals[1:], strict=True):
        pattern += (r"([^?#\x00-\x20]+)" if is_greedy else r"([^/?#\x00-\x20]+)") + re.escape(literal)
    return UriTemplate(text, literals[0], re.compile(pattern), tuple(names))
