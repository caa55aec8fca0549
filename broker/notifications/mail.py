"""Notices by mail (RFC 5321, RFC 6409), one message for each recipient, so that nobody reads who else got it."""

import asyncio
import smtplib
import ssl
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr

from broker.notifications.mail_connection import MailAddressGuard, log_in, open_mail_connection
from broker.notifications.outbox import UserNotification
from broker.notifications.settings import MailSettings
from broker.notifications.templates import NotificationText


class MailChannel:
    """Sends by one mail server; with a `guard` at an address that it allows. For tests: `tls` with another root."""

    name = "mail"

    def __init__(
        self, settings: MailSettings, *, guard: MailAddressGuard | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._settings = settings
        self._guard = guard
        self._tls = tls

    async def send(self, notice: UserNotification, wording: NotificationText, now: datetime) -> bool:
        """Send a mail; return whether the server accepted it.

        Recipients that the server does not serve are ignored. Every attempt has the same Message-ID, so that the
        recipient's system can detect the duplicate that is sent after a crash.
        """
        if not notice.recipients:
            return True
        messages = [self._build_message(notice, wording, recipient, now) for recipient in notice.recipients]
        try:
            settings = self._settings
            address = await self._guard.resolve(settings.server, settings.port) if self._guard is not None else None
            await asyncio.to_thread(self._send_messages, messages, address)
        except (OSError, smtplib.SMTPException):  # their texts hold the server's own words
            return False
        return True

    def _build_message(
        self, notice: UserNotification, wording: NotificationText, recipient: str, now: datetime
    ) -> EmailMessage:
        message_id = f"{notice.id}.{notice.recipients.index(recipient)}"
        return build_mail(self._settings, recipient, wording.subject, wording.body, message_id, now)

    def _send_messages(self, messages: list[EmailMessage], address: str | None) -> None:
        with open_mail_connection(self._settings, self._tls, address) as server:
            log_in(server, self._settings)
            for message in messages:
                try:
                    server.send_message(message)
                except smtplib.SMTPRecipientsRefused:
                    continue  # nobody there any more: the others are told


def build_mail(
    settings: MailSettings, recipient: str, subject: str, body: str, message_id: str, now: datetime
) -> EmailMessage:
    """A mail in plain text. `message_id` is the part before the @."""
    message = EmailMessage()
    message["From"] = settings.sender
    message["To"] = recipient
    message["Subject"] = subject
    message["Date"] = format_datetime(now)
    domain = parseaddr(settings.sender)[1].rpartition("@")[2]
    message["Message-ID"] = f"<{message_id}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834 §5: no answering machine replies
    message.set_content(body)
    return message
