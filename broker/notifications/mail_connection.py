"""One conversation with a mail server (RFC 5321, RFC 6409), blocking: it is used in a thread.

A server that an operator names over the network is reached under the same rules as any host: its address has to be
public, or the machine's settings list it, and the address that was checked is the one that is connected to.
"""

import contextlib
import smtplib
import socket
import ssl
from collections.abc import Generator
from typing import Any

from broker.notifications.settings import MailSettings
from core.http.outbound_addresses import AddressNotAllowed, AllowedAddresses, GuardedResolver, Lookup, SystemLookup

SMTP_SECONDS = 15.0
MAIL_PORTS = frozenset({25, 465, 587, 2525})


class MailAddressGuard:
    """Finds an address of a mail server that may be connected to.

    `private_hosts` is the value of MCPIST_ALLOWED_PRIVATE_HOSTS.
    """

    def __init__(self, private_hosts: tuple[str, ...], lookup: Lookup | None = None) -> None:
        listed = AllowedAddresses.from_hosts(private_hosts).private_hosts
        self._allow = AllowedAddresses(listed, MAIL_PORTS)
        self._resolver = GuardedResolver(self._allow, lookup or SystemLookup())

    async def resolve(self, server: str, port: int) -> str:
        """The numeric address to connect to.

        Raises:
            HostNotFound: the name does not resolve.
            AddressNotAllowed: the host or port may not be reached.
            OSError: the name server cannot be asked now.
        """
        if not self._allow.allows(server.lower(), port, secure=True):
            raise AddressNotAllowed
        return (await self._resolver.resolve(server.lower(), port))[0][1]


@contextlib.contextmanager
def open_mail_connection(
    settings: MailSettings, tls: ssl.SSLContext | None, address: str | None
) -> Generator[smtplib.SMTP]:
    """Connect to the server, by TLS as the settings say, at `address` if there is one; nobody is logged in yet.

    Raises:
        OSError, smtplib.SMTPException: it is away, or something is wrong with its certificate.
    """
    context = tls or ssl.create_default_context()
    if settings.security == "tls":
        server: smtplib.SMTP = _PinnedSmtpSsl(address, settings, context)
    else:
        server = _PinnedSmtp(address, settings)
    with server:
        if settings.security == "starttls":
            server.starttls(context=context)
        yield server


def log_in(server: smtplib.SMTP, settings: MailSettings) -> None:
    """Log in, where the settings have a user.

    Raises:
        OSError, smtplib.SMTPException: the server refuses.
    """
    if settings.user and settings.password is not None:
        server.login(settings.user, settings.password.reveal())


class _PinnedSmtp(smtplib.SMTP):
    def __init__(self, address: str | None, settings: MailSettings) -> None:
        self._address = address
        super().__init__(settings.server, settings.port, timeout=SMTP_SECONDS)

    def _get_socket(self, host: str, port: int, timeout: float) -> Any:  # what smtplib documents for subclasses
        return socket.create_connection((self._address or host, port), timeout)


class _PinnedSmtpSsl(smtplib.SMTP_SSL):
    def __init__(self, address: str | None, settings: MailSettings, context: ssl.SSLContext) -> None:
        self._address = address
        self._tls = context
        super().__init__(settings.server, settings.port, timeout=SMTP_SECONDS, context=context)

    def _get_socket(self, host: str, port: int, timeout: float) -> Any:
        plain = socket.create_connection((self._address or host, port), timeout)
        try:
            return self._tls.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
