"""A mail server that takes what a test sends, and refuses on demand."""

import contextlib
import ssl
from collections.abc import Generator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from tests.support.running_product import free_port


@dataclass(slots=True)
class MailServer:
    """`away` answers 451 to every message; `unknown` are recipients that it refuses for good."""

    port: int
    away: bool = False
    unknown: set[str] = field(default_factory=set[str])
    messages: list[EmailMessage] = field(default_factory=list[EmailMessage])
    users: list[str] = field(default_factory=list[str])

    def to(self, recipient: str) -> list[EmailMessage]:
        return [message for message in self.messages if message["To"] == recipient]

    async def handle_RCPT(  # noqa: N802 aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.unknown:
            return "550 nobody of that name"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.away:
            return "451 try again later"
        content = envelope.content
        assert isinstance(content, bytes)
        self.messages.append(message_from_bytes(content, policy=policy.default))  # type: ignore[arg-type]
        return "250 OK"


@contextlib.contextmanager
def mail_server(tls: ssl.SSLContext | None = None, password: str = "") -> Generator[MailServer]:
    """With `tls` it wants STARTTLS; with `password`, a login."""
    server = MailServer(free_port())  # the controller wants to know it before it listens

    def authenticate(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
        right = data.password == password.encode()
        if right:
            server.users.append(data.login.decode())
        return AuthResult(success=right, handled=right)  # what is not handled gets 535

    controller = Controller(
        server,
        hostname="127.0.0.1",
        port=server.port,
        tls_context=tls,
        require_starttls=tls is not None,
        auth_required=bool(password),
        authenticator=authenticate if password else None,
    )
    controller.start()
    try:
        yield server
    finally:
        controller.stop()
