"""Redirect URIs: the rules for registering one, and the match of a requested one against the registered ones.

RFC 6749 §3.1.2 as tightened by RFC 9700 §2.1 (exact comparison) and RFC 8252 §7 (loopback ports, private-use schemes).
URIs are compared as texts, so that two parsers cannot disagree about one and no normalization makes two of them equal.
"""

import re
from collections.abc import Sequence
from urllib.parse import unquote

from core.errors import Invalid

MAX_REDIRECT_URI_LENGTH = 2000
KNOWN_CALLBACKS = frozenset({"cursor://anysphere.cursor-mcp/oauth/callback"})
"""Callbacks of well-known programs whose scheme has no dot, contrary to RFC 8252 §7.1; word for word."""

_URI = re.compile(r"[0-9A-Za-z\-._~:/?\[\]@!$&'()*+,;=%]+")
_WEB = re.compile(
    r"(?P<scheme>https?)://(?P<host>[0-9A-Za-z._-]++|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}+))?+(?P<rest>.*)"
)
_PRIVATE = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:(?P<rest>/.*)")
_LOOPBACK = re.compile(
    r"(?P<host>http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::(?P<port>[1-9][0-9]{0,4}))?(?P<rest>[/?].*)?"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})|%[01][0-9A-Fa-f]|%7[fF]|%5[cC]")


def is_redirect_allowed(registered: Sequence[str], redirect_uri: str) -> bool:
    """Check whether `asked` is a registered URI, or a registered loopback URI with another port."""
    if redirect_uri in registered:
        return True
    normalized = _strip_loopback_port(redirect_uri) if len(redirect_uri) <= MAX_REDIRECT_URI_LENGTH else None
    return normalized is not None and any(
        _strip_loopback_port(registered_uri) == normalized for registered_uri in registered
    )


def check_redirect_uri(uri: str) -> None:
    """Check a URI that a client wants to register.

    Raises:
        Invalid: answers must not be sent there, or it could be read in two ways; the text says what is expected.
    """
    if uri in KNOWN_CALLBACKS:
        return
    if not 1 <= len(uri) <= MAX_REDIRECT_URI_LENGTH:
        raise Invalid(f"a redirect URI must have 1 to {MAX_REDIRECT_URI_LENGTH} characters")
    if "#" in uri:
        raise Invalid("a redirect URI must not have a fragment (#)")
    if not _URI.fullmatch(uri) or _BAD_ESCAPE.search(uri):
        raise Invalid("a redirect URI must be ASCII, with other characters as %XX, and without backslashes")
    rest = _parse_web_uri(uri) if uri.lower().startswith(("http:", "https:")) else _parse_private_uri(uri)
    if "@" in rest.partition("/")[0] or _has_dot_segments(rest):
        raise Invalid("a redirect URI must not contain a user or the path segments . and ..")


def is_loopback(uri: str) -> bool:
    """Check whether a URI is on the person's own machine, where any local program may be listening."""
    return _LOOPBACK.fullmatch(uri) is not None


def _strip_loopback_port(uri: str) -> tuple[str, str] | None:
    """A loopback URI but for its port; None for all others (RFC 8252 §7.3)."""
    match = _LOOPBACK.fullmatch(uri)
    if match is None or int(match["port"] or 1) > 65535:
        return None
    return match["host"], match["rest"] or ""


def _parse_web_uri(uri: str) -> str:
    match = _WEB.fullmatch(uri)
    if match is None or match["rest"][:1] not in ("", "/", "?"):
        raise Invalid(
            "a redirect URI must look like https://host/path, with scheme and host in lower case and without a user"
        )
    if match["port"] is not None and not 1 <= int(match["port"]) <= 65535:
        raise Invalid("the port of a redirect URI must be a number from 1 to 65535")
    if match["scheme"] == "http" and not _LOOPBACK.fullmatch(uri):
        raise Invalid(
            "a redirect URI must begin with https://; http:// is allowed only for 127.0.0.1, [::1] and localhost"
        )
    return match["rest"]


def _parse_private_uri(uri: str) -> str:
    match = _PRIVATE.fullmatch(uri)
    if match is None:
        raise Invalid("a private-use scheme of a redirect URI must contain a dot, such as com.example.app:/callback")
    return match["rest"].removeprefix("//")


def _has_dot_segments(rest: str) -> bool:
    """Check whether a path segment is . or .., at any depth of percent-encoding."""
    path = rest.partition("?")[0]
    for _ in range(3):
        path = unquote(path)
    return any(part in (".", "..") for part in re.split(r"[/\\]", path))
