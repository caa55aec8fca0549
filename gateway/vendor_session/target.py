"""The vendor's base URL, and the addresses below it. Nothing else can be asked."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import unquote, urljoin, urlsplit

from core.http.outbound_addresses import AllowedAddresses
from gateway.vendor_session.vendor_connection import ConnectionRoute
from modules.kit import VendorProblem
from modules.kit.vendor import percent_encode

MAX_URL_LENGTH = 8000
MAX_HOST_LENGTH = 253

# re.ASCII: without it, IGNORECASE lets the Kelvin sign and the long s pass for letters.
_BASE = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\.?|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>(?:/[a-z0-9._~-]+)*)/?",
    re.IGNORECASE | re.ASCII,
)
# Of encoded characters only visible ones of ASCII that no server reads as an end of a segment or as more encoding.
_HARMLESS = (
    r"(?:[A-Za-z0-9._~!$&'()*+,=:@-]++"
    "|%(?:2[0-46-9A-Da-d]|3[0-9ACDFacdf]|4[0-9A-Fa-f]|5[0-9ABDEFabdef]|6[0-9A-Fa-f]|7[0-9A-Ea-e]))"
)
_PLAIN_PATH = re.compile(rf"(?:/(?!\.){_HARMLESS}++)*+/?", re.ASCII)
_PATH = re.compile(r"(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*/?", re.ASCII)
_VISIBLE = re.compile(r"[!-~]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class VendorTarget:
    """Address of one vendor: scheme, host and port as `origin`, and the path prefix of all requests."""

    origin: str
    base_path: str

    @classmethod
    def from_base_url(cls, base_url: str, allow: AllowedAddresses) -> "VendorTarget":
        """Read a base URL.

        Raises:
            VendorProblem: it is none, or MCPist is not allowed to reach it.
        """
        match = _BASE.fullmatch(base_url)
        if match is None or len(match["host"]) > MAX_HOST_LENGTH or _has_dot_segments(match["path"]):
            raise VendorProblem("refused", "the base URL of this service must look like https://host/path")
        secure = match["scheme"].lower() == "https"
        scheme = "https" if secure else "http"
        port = int(match["port"] or _get_default_port(scheme))
        host = _strip_brackets(match["host"].lower().removesuffix("."))
        if not 0 < port < 65536 or not allow.allows(host, port, secure=secure):
            raise build_refused_host_problem()
        bracketed = f"[{host}]" if ":" in host else host
        return cls(f"{scheme}://{bracketed}{'' if port == _get_default_port(scheme) else f':{port}'}", match["path"])

    @property
    def route(self) -> ConnectionRoute:
        """Route to connect by."""
        split = urlsplit(self.origin)
        assert split.hostname is not None
        return ConnectionRoute(split.hostname, split.port or _get_default_port(split.scheme), split.scheme == "https")

    @property
    def host(self) -> str:
        """The host with its port, unless that is the usual one (RFC 9110 §7.2)."""
        return self.origin.partition("://")[2]

    def build_target(self, path: str, query: Mapping[str, Any] | None) -> str:
        """Build the request target of `path` below the base URL (RFC 9112 §3.2.1).

        Raises:
            VendorProblem: the path would lead elsewhere, or is not encoded; the address is too long.
        """
        check_path(path)
        target = f"{self.base_path}{path}{_encode_query(query)}" if query else f"{self.base_path}{path}"
        if len(self.origin) + len(target) > MAX_URL_LENGTH:
            raise VendorProblem("invalid", "the request's URL would be too long; use fewer or shorter arguments")
        return target

    def resolve_redirect(self, current: str, location: str) -> str | None:
        """Resolve a redirect into a target on our own origin; None if it leads anywhere else."""
        if not _VISIBLE.fullmatch(location) or "\\" in location:
            return None
        try:
            target = urlsplit(urljoin(current, location))
            origin = urlsplit(self.origin)
            same = (target.scheme, target.hostname, target.port or _get_default_port(target.scheme)) == (
                origin.scheme, origin.hostname, origin.port or _get_default_port(origin.scheme)
            )  # fmt: skip
        except ValueError:
            return None
        path = target.path.removeprefix(self.base_path)
        below = target.path.startswith(self.base_path) and _PATH.fullmatch(path) and not _has_dot_segments(path)
        if not same or not below or "@" in target.netloc or len(location) > MAX_URL_LENGTH:
            return None
        return f"{self.origin}{target.path}{'?' if target.query else ''}{target.query}"


def _strip_brackets(host: str) -> str:
    """Strip an IPv6 address of its brackets, to the form of the operator's list."""
    if not host.startswith("["):
        return host
    try:
        return str(ip_address(host[1:-1]))
    except ValueError:
        raise build_refused_host_problem() from None


def build_refused_host_problem() -> VendorProblem:
    """Build one text for a host that may not be reached and for one that does not exist."""
    return VendorProblem(
        "refused",
        "MCPist is not allowed to reach this service's base URL, or its host does not exist. An administrator corrects "
        "the URL; for a host in a private network, the operator adds host:port to MCPIST_ALLOWED_PRIVATE_HOSTS",
    )


def check_path(path: str) -> None:
    """Let a path through that stays one path at every server, however often it is decoded.

    Raises:
        VendorProblem: it does not begin with one slash, is not encoded, or has dot segments in any spelling.
    """
    if _PLAIN_PATH.fullmatch(path):
        return
    if not _PATH.fullmatch(path) or _has_dot_segments(path):
        text = (
            "the URL would leave the vendor's base URL: arguments with line breaks or parts such as .. cannot be sent"
        )
        raise VendorProblem("refused", text)


def _has_dot_segments(path: str) -> bool:
    """Check whether some server could read a dot segment or a control character out of a path.

    Servers differ in what they decode, how often, and in what ends a segment; what any of them does counts.
    """
    for _ in range(4):
        segments = re.split(r"[/\\]", path)
        if _CONTROL.search(path) or any(part.partition(";")[0] in (".", "..") for part in segments):
            return True
        decoded = unquote(path, errors="replace")
        if decoded == path:
            return False
        path = decoded
    return True


def _get_default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _encode_query(query: Mapping[str, Any]) -> str:
    try:
        pairs: list[str] = []
        for name, value in query.items():
            if value is None:
                continue
            key = percent_encode(name)
            if isinstance(value, list | tuple):
                pairs += [f"{key}={percent_encode(_to_text(item))}" for item in cast("Iterable[object]", value)]
                continue
            pairs.append(f"{key}={percent_encode(value if type(value) is str else _to_text(value))}")
    except UnicodeEncodeError:
        raise VendorProblem(
            "invalid", "an argument contains an unpaired surrogate; send the text again without it"
        ) from None
    return "?" + "&".join(pairs) if pairs else ""


def _to_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
