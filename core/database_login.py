"""Logins at a database whose server changes, and of roles whose password changes, while processes run."""

import asyncio
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from core.database_tls import find_tls_problem
from core.database_url import DatabaseAddress, ServerName
from core.errors import Invalid, Unavailable
from core.private_file import read_private
from core.secret import Secret

PATIENCE_SECONDS = 3.0
"""So long a refused login is tried again: a rotation changes the database and the file one after the other."""
RETRY_SECONDS = 0.2
MOST_PASSWORDS = 2
DEFAULT_TIMEOUT_SECONDS = 60.0

# By the simple protocol, as a pooler in transaction mode would mix up prepared statements before it is refused.
_REFUSE_READ_ONLY = """DO $$ BEGIN
    IF current_setting('transaction_read_only')::boolean THEN RAISE read_only_sql_transaction; END IF;
END $$"""

_primaries: dict[tuple[ServerName, ...], ServerName] = {}
"""Of the servers that a URL names, the one that took writes last: a login begins there."""


class LoginRefused(Unavailable):
    """The database refuses the login of a role, with every password that is known; `user` is the role."""

    component_state = "login refused"

    def __init__(self, user: str) -> None:
        super().__init__("MCPist is not ready: the database refuses its login")
        self.user = user


class DatabaseReadOnly(Unavailable):
    """No server of the database accepts writes: only standbys can be reached, or the primary is set to read-only."""

    component_state = "read-only"

    def __init__(self) -> None:
        super().__init__(
            "MCPist is not ready: its database accepts no writes; it is a standby or read-only, and "
            "MCPIST_DATABASE_URL has to lead to the primary"
        )


class TLSFilesUnusable(Unavailable):
    """A file of the database's URL (certificate, key, authority) is missing or cannot be used."""

    component_state = "TLS files unusable"

    def __init__(self) -> None:
        super().__init__("MCPist is not ready: a TLS file of its database cannot be used; `mcpist doctor` names it")


class ClientCertificateRefused(Unavailable):
    """The database ends the connection over the certificate that it is shown, or over the lack of one."""

    component_state = "certificate refused"

    def __init__(self) -> None:
        super().__init__(
            "MCPist is not ready: the database refuses its TLS certificate; sslcert and sslkey in MCPIST_DATABASE_URL "
            "have to name one of an authority that the server trusts"
        )


@dataclass(frozen=True, slots=True)
class PasswordFile:
    """A file of passwords that is read at every login. Without `member` it has a password on each line, with it it is a
    JSON object of passwords, or of lists of them. Of several each is tried: during a rotation the old and the new."""

    path: Path
    member: str = ""

    def read(self) -> tuple[Secret, ...]:
        """Read the passwords, at most two.

        Raises:
            Invalid: the file is missing, can be read by others, or is damaged.
        """
        try:
            text = read_private(self.path)
        except FileNotFoundError:
            raise Invalid(f"{self.path} is missing") from None
        try:
            values = text.split("\n") if not self.member else json.loads(text)[self.member]
        except (ValueError, KeyError, TypeError):
            values = []
        values = [values] if isinstance(values, str) else values
        passwords = tuple(Secret(str(one).strip()) for one in values if str(one).strip())
        if not 1 <= len(passwords) <= MOST_PASSWORDS:
            raise Invalid(f"{self.path} must contain one password, or during a rotation two")
        return passwords


async def log_in(address: DatabaseAddress, **options: Any) -> Any:
    """Open a connection to a server that accepts writes. A login that is refused is tried with every password of the
    address's file, which is read again, for some seconds.

    Raises:
        LoginRefused: no password is right, or the server has no rule that lets this role in.
        DatabaseReadOnly: no server accepts writes.
        TLSFilesUnusable, ClientCertificateRefused: as they say.
        Unavailable: the file of passwords is of no use.
        OSError, asyncpg.PostgresError: as ``asyncpg.connect``.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + PATIENCE_SECONDS
    while True:
        connection, refused = await _try_passwords(address, options)
        if refused is None:
            return connection
        if address.passwords is None or loop.time() > give_up:
            raise LoginRefused(address.user or "") from refused
        await asyncio.sleep(RETRY_SECONDS)


async def _try_passwords(
    address: DatabaseAddress, options: Mapping[str, Any]
) -> tuple[Any, asyncpg.InvalidAuthorizationSpecificationError | None]:
    """Open a connection with the first password that is right; else give the last refusal."""
    refused: asyncpg.InvalidAuthorizationSpecificationError | None = None
    for password in _read_passwords(address):
        arguments = {**address.connect_args(), **options}
        if password is not None:
            arguments["password"] = password.reveal()
        try:
            return await _connect_to_primary(address, arguments), None
        except asyncpg.InvalidAuthorizationSpecificationError as error:
            refused = error
        except ssl.SSLCertVerificationError:
            raise
        except (OSError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError) as error:
            if find_tls_problem(address.url.reveal()):
                raise TLSFilesUnusable from error
            if _refuses_certificate(error) or await _is_certificate_refused(error, arguments):
                raise ClientCertificateRefused from error
            raise
    return None, refused


def _refuses_certificate(error: Exception) -> bool:
    """Check for an alert of TLS about our certificate (RFC 8446, 6.2), as OpenSSL names it. It may come after the
    handshake, and is then the cause of a lost connection."""
    alert = error if isinstance(error, ssl.SSLError) else error.__cause__
    reason = (isinstance(alert, ssl.SSLError) and alert.reason) or ""
    return "ALERT" in reason and any(part in reason for part in ("CERT", "UNKNOWN_CA", "DECRYPT_ERROR"))


async def _is_certificate_refused(error: Exception, arguments: Mapping[str, Any]) -> bool:
    """Find out why a connection was lost on which a certificate was shown: by TLS 1.2, where the alert is part of the
    handshake. In TLS 1.3 it comes later, and may be lost with the connection."""
    if not isinstance(error, ConnectionResetError | asyncpg.PostgresConnectionError):
        return False
    if "sslcert=" not in arguments["dsn"]:
        return False
    try:
        connection = await _connect(**{**arguments, "dsn": f"{arguments['dsn']}&ssl_max_protocol_version=TLSv1.2"})
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as second_error:
        return _refuses_certificate(second_error)
    connection.terminate()
    return False


def _read_passwords(address: DatabaseAddress) -> Sequence[Secret | None]:
    try:
        return address.read_passwords()
    except Invalid as error:
        raise Unavailable(str(error)) from None


async def _connect_to_primary(address: DatabaseAddress, arguments: Mapping[str, Any]) -> Any:
    """Open a connection to the first server that accepts writes, beginning with the one that did so last.

    asyncpg has one time-out for all servers of a URL: one whose machine is gone would take it up alone. Here each has
    its share of it.
    """
    servers = address.list_servers()
    if len(servers) < 2:
        return await _connect_writable(arguments)
    loop = asyncio.get_running_loop()
    end = loop.time() + float(arguments.get("timeout") or DEFAULT_TIMEOUT_SECONDS)
    failures: list[Exception] = []
    order = sorted(servers, key=lambda server: server != _primaries.get(servers))
    for tried, server in enumerate(order):
        share = max(end - loop.time(), 0.0) / (len(order) - tried)
        try:
            connection = await _connect_writable({**arguments, **server._asdict(), "timeout": share})
        except (OSError, asyncpg.PostgresError, DatabaseReadOnly) as error:
            failures.append(error)
            continue
        _primaries[servers] = server
        return connection
    _primaries.pop(servers, None)
    raise min(failures, key=_rank)


def _rank(failure: Exception) -> int:
    """Order failures of several servers by how much they tell of what to do."""
    telling = (
        asyncpg.InvalidAuthorizationSpecificationError, ssl.SSLCertVerificationError, asyncpg.PostgresError,
        DatabaseReadOnly, ssl.SSLError,
    )  # fmt: skip
    return next((rank for rank, kind in enumerate(telling) if isinstance(failure, kind)), len(telling))


async def _connect_writable(arguments: Mapping[str, Any]) -> Any:
    """Open a connection to one server.

    Raises:
        DatabaseReadOnly: it accepts no writes.
    """
    connection = await _connect(**{**arguments, "target_session_attrs": "any"})
    try:
        if await _accepts_writes(connection):
            return connection
    except BaseException:
        connection.terminate()
        raise
    connection.terminate()
    raise DatabaseReadOnly


async def _accepts_writes(connection: Any) -> bool:
    """Check what the server has reported at the login (PostgreSQL 14 and later); ask where a pooler left it out."""
    settings = connection.get_settings()
    reported = [getattr(settings, name, None) for name in ("in_hot_standby", "default_transaction_read_only")]
    if None not in reported:
        return reported == ["off", "off"]
    try:
        await connection.execute(_REFUSE_READ_ONLY)
    except asyncpg.ReadOnlySQLTransactionError:
        return False
    return True


_connect: Any = asyncpg.connect
