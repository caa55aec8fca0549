"""Parsers of settings: each reads one text and raises ValueError for a wrong form."""

import math
import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from core.database_url import list_servers
from core.secret import Secret

UNIX_PREFIX = "unix:"
"""Of the URL of a Unix socket."""
NONE_WORD = "none"
ANY_PORT_SUFFIX = ":*"

_T = TypeVar("_T")
_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_KEY_PROVIDER = re.compile(
    r"file|aws-kms:arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(?:key|alias)/[A-Za-z0-9/_-]{1,250}"
    r"|gcp-kms:projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}"
    r"|vault-transit:https?://[^/\s@?#,]+(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*){2,6}"
)
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
# Of libpq's (PostgreSQL, 34.1.2 Parameter Key Words); asyncpg hands to the server what it does not know, which ends the
# connection.
_UNSUPPORTED_OPTIONS = frozenset({
    "channel_binding", "connect_timeout", "fallback_application_name", "gssdelegation", "gssencmode", "hostaddr",
    "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "load_balance_hosts",
    "max_protocol_version", "min_protocol_version", "oauth_client_id", "oauth_client_secret", "oauth_issuer",
    "oauth_scope", "replication", "require_auth", "requirepeer", "sslcertmode", "sslcompression", "sslcrldir",
    "sslkeylogfile", "sslsni", "tcp_user_timeout",
})  # fmt: skip
_WRITING_SESSIONS = ("any", "primary", "read-write")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")


class SettingFormatError(ValueError):
    """A ValueError whose text helps the operator. It never repeats the value, which may hold a secret."""


def make_integer_parser(minimum: int, maximum: int) -> Callable[[str], int]:
    """Make a reader of integers from `minimum` to `maximum`."""

    def parse(text: str) -> int:
        # int() alone would also read "1_000", " 7 " and digits of other scripts.
        if not re.fullmatch(r"[0-9]{1,18}", text) or not minimum <= int(text) <= maximum:
            raise ValueError
        return int(text)

    return parse


def make_number_parser(minimum: float, maximum: float) -> Callable[[str], float]:
    """Make a reader of finite numbers from `minimum` to `maximum`."""

    def parse(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or not minimum <= value <= maximum:
            raise ValueError
        return value

    return parse


def make_choice_parser(*choices: str) -> Callable[[str], str]:
    """Make a reader of one of a few words, in any case."""

    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError
        return text.lower()

    return parse


def parse_slug(text: str) -> str:
    """Parse a tenant's slug; the word ``none`` is no tenant."""
    if text.lower() == NONE_WORD:
        return ""
    if not _SLUG.fullmatch(text):
        raise ValueError
    return text


def parse_model_name(text: str) -> str:
    """The name of an embedding model, which may have the owner of a hub's repository before it and its dimensions after
    it: ``owner/name@768``."""
    if len(text) > 200 or not re.fullmatch(r"(?:openai:)?[\w.-]+(?:/[\w.-]+)?(?:@[0-9]{1,4})?", text, re.ASCII):
        raise ValueError
    return text


def parse_path(text: str) -> Path:
    """Parse an absolute path; a relative one counts from the current folder."""
    if text.startswith("~"):
        raise SettingFormatError("~ is expanded by shells only; write the whole path")
    if "\0" in text:
        raise ValueError
    return Path(text).absolute()


def parse_host(text: str) -> str:
    """Parse an address or host name to listen on, IPv6 without brackets."""
    bare = text.strip("[]")
    if not _HOST.fullmatch(bare if ":" not in bare else f"[{bare}]"):
        raise ValueError
    return bare


def make_list_parser(read: Callable[[str], _T]) -> Callable[[str], tuple[_T, ...]]:
    """Make a reader of values separated by commas; the word ``none`` is the empty list."""

    def parse_all(text: str) -> tuple[_T, ...]:
        if text.strip().lower() == NONE_WORD:
            return ()
        return tuple(read(part.strip()) for part in text.split(",") if part.strip())

    return parse_all


def parse_network(text: str) -> str:
    """Parse an address, or a network such as ``10.0.0.0/8``, to a network."""
    return str(ip_network(text, strict=False))


def parse_origin(text: str) -> str:
    """``scheme://host[:port]`` as browsers write it: lower case, default port left out (RFC 6454 §6.2).

    ``:*`` at the end stands for any port.
    """
    if text == "*":
        raise SettingFormatError("all origins cannot be allowed at once; list those that you trust")
    if text.endswith(ANY_PORT_SUFFIX):
        return _format_origin(_split_http_url(text.removesuffix(ANY_PORT_SUFFIX))) + ANY_PORT_SUFFIX
    return _format_origin(_split_http_url(text))


def parse_base_url(text: str) -> str:
    """Parse a URL of an origin's form; a single slash at the end is removed."""
    return _format_origin(_split_http_url(text))


def parse_endpoint_url(text: str) -> str:
    """Parse an http or https URL with any path."""
    url = urlsplit(text)
    _check_http_host(url)
    return text


def parse_host_and_port(text: str) -> str:
    """``host:port`` in lower case, without the dot at the end of a full name; IPv6 in brackets and its short form."""
    name, colon, port = text.rpartition(":")
    if not colon:
        raise SettingFormatError("its port is missing")
    name = name.lower().removesuffix(".")
    if not _HOST.fullmatch(name):
        raise ValueError
    if name.startswith("["):
        name = f"[{ip_address(name[1:-1])}]"
    return f"{name}:{make_integer_parser(1, 65535)(port)}"


def parse_database_url(text: str) -> Secret:
    """Parse a libpq URL (PostgreSQL manual §34.1.1.2)."""
    if not re.match(r"postgres(ql)?://", text):
        raise ValueError
    try:
        list_servers(text)
    except ValueError:
        raise SettingFormatError("each of its hosts has to have a port that is a number, or none has one") from None
    options = parse_qs(urlsplit(text).query)
    if options.get("target_session_attrs", ["any"])[-1] not in _WRITING_SESSIONS:
        raise SettingFormatError("MCPist writes: target_session_attrs has to be read-write")
    if unknown := sorted(_UNSUPPORTED_OPTIONS & options.keys()):
        raise SettingFormatError(f"MCPist does not know its option {unknown[0]}; take it out")
    if options.get("sslmode", ["prefer"])[-1] not in _SSL_MODES:
        raise SettingFormatError(f"sslmode has to be one of {', '.join(_SSL_MODES)}")
    return Secret(text)


def parse_redis_url(text: str) -> Secret:
    """Parse the URL of a Valkey or Redis, without options (IANA provisional URI scheme ``redis``)."""
    url = urlsplit(text)
    if url.scheme not in {"redis", "rediss"} or not url.hostname or url.query or url.fragment:
        raise ValueError
    _ = url.port  # raises for a port that is none
    if not re.fullmatch(r"/?|/[0-9]{1,3}", url.path):
        raise SettingFormatError("behind the host there is the number of a database alone, such as /0")
    return Secret(text)


def parse_broker_url(text: str) -> str:
    """Parse an origin, or ``unix:`` with the absolute path of a socket."""
    if not text.startswith(UNIX_PREFIX):
        return parse_base_url(text)
    path = text.removeprefix(UNIX_PREFIX)
    if not path.startswith("/") or "\0" in path:
        raise SettingFormatError("a socket's path begins with a slash")
    if len(path.encode()) > 100:
        raise SettingFormatError("a socket's path has at most 100 bytes")
    return text


def parse_key_provider(text: str) -> str:
    """Parse one key provider of the vault: ``file``, or one key of a key service."""
    if not _KEY_PROVIDER.fullmatch(text):
        raise ValueError
    scheme, _, url = text.partition(":")
    if scheme == "vault-transit":
        endpoint = urlsplit(url)
        _check_http_host(endpoint)
        if endpoint.scheme == "http" and endpoint.hostname not in {"localhost", "127.0.0.1", "::1"}:
            raise SettingFormatError(
                "HashiCorp Vault must be reached by https; http is for an agent on this machine only"
            )
    return text


def parse_key_providers(text: str) -> tuple[str, ...]:
    """Parse a list of key providers: at least one, none twice."""
    providers = tuple(dict.fromkeys(make_list_parser(parse_key_provider)(text)))
    if not providers:
        raise SettingFormatError("name at least one key provider")
    return providers


def wrap_secret(text: str) -> Secret:
    """Any text, wrapped."""
    return Secret(text)


def parse_header_list(text: str) -> tuple[tuple[str, Secret], ...]:
    """``name=value,name=value``, percent-encoded (OpenTelemetry's OTEL_EXPORTER_OTLP_HEADERS)."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if any(not name.strip() or not equals for name, equals, _ in pairs):
        raise ValueError
    return tuple((name.strip().lower(), Secret(unquote(value.strip()))) for name, _, value in pairs)


def _split_http_url(text: str) -> SplitResult:
    url = urlsplit(text)
    _check_http_host(url)
    if url.path not in {"", "/"} or url.query or url.fragment or "?" in text or "#" in text:
        raise SettingFormatError("it must not have a path, a query or a fragment")
    return url


def _check_http_host(url: SplitResult) -> None:
    if url.scheme not in {"http", "https"} or "@" in url.netloc or not _HOST.fullmatch(_bracket_ipv6(url)):
        raise ValueError
    _ = url.port  # raises for a port that is none


def _format_origin(url: SplitResult) -> str:
    default_port = {"http": 80, "https": 443}[url.scheme]
    port = "" if url.port in {None, default_port} else f":{url.port}"
    return f"{url.scheme}://{_bracket_ipv6(url)}{port}"


def _bracket_ipv6(url: SplitResult) -> str:
    name = url.hostname or ""
    return f"[{name}]" if ":" in name else name


def get_reachable_host(host: str) -> str:
    """Return the host of a URL that reaches a listener on `host` from this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1"
    return f"[{host}]" if address.version == 6 else host
