"""Address of a database and the login to use there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from core.secret import Secret

DEFAULT_PORT = 5432


class PasswordSource(Protocol):
    """Passwords of one role, as they are now."""

    def read(self) -> Sequence[Secret]:
        """Return the passwords to try, in this order."""
        ...


class ServerName(NamedTuple):
    """One server that a URL names: a host or the folder of a socket, and its port."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A libpq URL, and the role and password that override those inside it."""

    url: Secret
    user: str | None = None
    password: Secret | None = None
    passwords: PasswordSource | None = None
    """Where the password is read at every login, instead of `password`."""

    def as_role(self, user: str, password: Secret, passwords: "PasswordSource | None" = None) -> "DatabaseAddress":
        """Return the URL of the same database, logged in as another role."""
        return replace(self, user=user, password=password, passwords=passwords)

    def read_passwords(self) -> Sequence[Secret | None]:
        """Return the passwords to try, in this order; None is the URL's own.

        Raises:
            core.errors.Invalid: the file of passwords is of no use.
        """
        return (self.password,) if self.passwords is None else self.passwords.read()

    def connect_args(self) -> dict[str, Any]:
        """Keyword arguments for ``asyncpg.connect`` and ``asyncpg.create_pool``."""
        args: dict[str, Any] = {"dsn": self.url.reveal()}
        if self.user is not None:
            args["user"] = self.user
        if self.password is not None:
            args["password"] = self.password.reveal()
        return args

    def list_servers(self) -> tuple[ServerName, ...]:
        """List the servers that the URL names; empty where it leaves the choice to the client library."""
        return list_servers(self.url.reveal())


def list_servers(url: str) -> tuple[ServerName, ...]:
    """List the servers that a libpq URL names, in its order (PostgreSQL, 34.1.1.3 Specifying Multiple Hosts).

    Raises:
        ValueError: a port is none, or there are more or fewer ports than hosts.
    """
    parts = urlsplit(url)
    named = parts.netloc.rpartition("@")[2]
    options = parse_qs(parts.query)
    hosts = (named or options.get("host", [""])[-1]).split(",")
    if hosts == [""]:
        return ()
    ports = [] if named else [port for port in options.get("port", [""])[-1].split(",") if port]
    if len(ports) == 1:
        ports *= len(hosts)
    if ports and len(ports) != len(hosts):
        raise ValueError(f"{len(hosts)} hosts and {len(ports)} ports")
    if ports:
        return tuple(ServerName(_unbracket(host), int(port)) for host, port in zip(hosts, ports, strict=True))
    return tuple(_parse_server(unquote(host)) for host in hosts)


def _parse_server(text: str) -> ServerName:
    """Parse ``host``, ``host:port``, ``[IPv6]:port`` or the folder of a socket."""
    if text.startswith("/"):
        return ServerName(text, DEFAULT_PORT)
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, port = text, ""
    return ServerName(_unbracket(host), int(port) if port else DEFAULT_PORT)


def _unbracket(host: str) -> str:
    return host.removeprefix("[").removesuffix("]")
