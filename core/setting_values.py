"""What the values of settings look like: each function reads one text and raises ValueError for any other form."""

import math
import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from core.secret import Secret

NOTHING = "none"
ANY_PORT = ":*"

_T = TypeVar("_T")
_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_KEEPER = re.compile(
    r"file|aws-kms:arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(?:key|alias)/[A-Za-z0-9/_-]{1,250}"
    r"|gcp-kms:projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}"
    r"|vault-transit:https?://[^/\s@?#,]+(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*){2,6}"
)
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")


class FormError(ValueError):
    """A ValueError whose text helps the operator. It never repeats the value, which may hold a secret."""


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """A reader of integers from `least` to `most`."""

    def read(text: str) -> int:
        # int() alone would also read "1_000", " 7 " and digits of other scripts.
        if not re.fullmatch(r"[0-9]{1,18}", text) or not least <= int(text) <= most:
            raise ValueError
        return int(text)

    return read


def number(least: float, most: float) -> Callable[[str], float]:
    """A reader of finite numbers from `least` to `most`."""

    def read(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or not least <= value <= most:
            raise ValueError
        return value

    return read


def choice(*allowed: str) -> Callable[[str], str]:
    """A reader of one of a few words, in any case."""

    def read(text: str) -> str:
        if text.lower() not in allowed:
            raise ValueError
        return text.lower()

    return read


def slug(text: str) -> str:
    """A tenant's slug; the word ``none`` is no tenant."""
    if text.lower() == NOTHING:
        return ""
    if not _SLUG.fullmatch(text):
        raise ValueError
    return text


def folder(text: str) -> Path:
    """An absolute path; a relative one counts from the current folder."""
    if text.startswith("~"):
        raise FormError("only a shell knows what ~ means, so write the whole path")
    if "\0" in text:
        raise ValueError
    return Path(text).absolute()


def host(text: str) -> str:
    """An address or host name to listen on, IPv6 without brackets."""
    bare = text.strip("[]")
    if not _HOST.fullmatch(bare if ":" not in bare else f"[{bare}]"):
        raise ValueError
    return bare


def listed(read: Callable[[str], _T]) -> Callable[[str], tuple[_T, ...]]:
    """A reader of values separated by commas; the word ``none`` is the empty list."""

    def read_all(text: str) -> tuple[_T, ...]:
        if text.strip().lower() == NOTHING:
            return ()
        return tuple(read(part.strip()) for part in text.split(",") if part.strip())

    return read_all


def network(text: str) -> str:
    """An address, or a network as in ``10.0.0.0/8``; given back as a network."""
    return str(ip_network(text, strict=False))


def origin(text: str) -> str:
    """``scheme://host[:port]`` as browsers write it: lower case, default port left out (RFC 6454 §6.2).

    ``:*`` at the end stands for any port.
    """
    if text == "*":
        raise FormError("every origin at once cannot be allowed; list those that you trust")
    if text.endswith(ANY_PORT):
        return _origin_of(_http_url(text.removesuffix(ANY_PORT))) + ANY_PORT
    return _origin_of(_http_url(text))


def base_url(text: str) -> str:
    """The same form as an origin; a single slash at the end is taken off."""
    return _origin_of(_http_url(text))


def endpoint_url(text: str) -> str:
    """An http or https URL with any path."""
    parts = urlsplit(text)
    _http_host(parts)
    return text


def host_and_port(text: str) -> str:
    """``host:port`` in lower case, without the dot at the end of a full name; IPv6 in brackets and its short form."""
    name, colon, port = text.rpartition(":")
    if not colon:
        raise FormError("its port is missing")
    name = name.lower().removesuffix(".")
    if not _HOST.fullmatch(name):
        raise ValueError
    if name.startswith("["):
        name = f"[{ip_address(name[1:-1])}]"
    return f"{name}:{whole_number(1, 65535)(port)}"


def database_url(text: str) -> Secret:
    """A libpq URL (PostgreSQL manual §34.1.1.2)."""
    if not re.match(r"postgres(ql)?://", text):
        raise ValueError
    return Secret(text)


def broker_url(text: str) -> str:
    """An origin, or ``unix:`` with the absolute path of a socket."""
    if not text.startswith("unix:"):
        return base_url(text)
    path = text.removeprefix("unix:")
    if not path.startswith("/") or "\0" in path:
        raise FormError("a socket's path begins with a slash")
    if len(path.encode()) > 100:
        raise FormError("a socket's path has at most 100 bytes")
    return text


def key_keeper(text: str) -> str:
    """Where keys of the vault are: ``file``, or one key of a key service."""
    if not _KEEPER.fullmatch(text):
        raise ValueError
    scheme, _, url = text.partition(":")
    if scheme == "vault-transit":
        parts = urlsplit(url)
        _http_host(parts)
        if parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
            raise FormError("HashiCorp Vault is asked by https; http only for an agent on this machine")
    return text


def key_keepers(text: str) -> tuple[str, ...]:
    """At least one keeper of keys, each once."""
    found = tuple(dict.fromkeys(listed(key_keeper)(text)))
    if not found:
        raise FormError("somebody has to keep the keys")
    return found


def secret(text: str) -> Secret:
    """Any text, wrapped."""
    return Secret(text)


def header_list(text: str) -> tuple[tuple[str, Secret], ...]:
    """``name=value,name=value``, percent-encoded (OpenTelemetry's OTEL_EXPORTER_OTLP_HEADERS)."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if any(not name.strip() or not equals for name, equals, _ in pairs):
        raise ValueError
    return tuple((name.strip().lower(), Secret(unquote(value.strip()))) for name, _, value in pairs)


def _http_url(text: str) -> SplitResult:
    parts = urlsplit(text)
    _http_host(parts)
    if parts.path not in {"", "/"} or parts.query or parts.fragment or "?" in text or "#" in text:
        raise FormError("it has no path and nothing after it")
    return parts


def _http_host(parts: SplitResult) -> None:
    if parts.scheme not in {"http", "https"} or "@" in parts.netloc or not _HOST.fullmatch(_bracketed(parts)):
        raise ValueError
    _ = parts.port  # raises for a port that is none


def _origin_of(parts: SplitResult) -> str:
    usual = {"http": 80, "https": 443}[parts.scheme]
    port = "" if parts.port in {None, usual} else f":{parts.port}"
    return f"{parts.scheme}://{_bracketed(parts)}{port}"


def _bracketed(parts: SplitResult) -> str:
    name = parts.hostname or ""
    return f"[{name}]" if ":" in name else name
