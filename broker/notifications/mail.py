"""Notices by mail (RFC 5321, RFC 6409), one message for each recipient, so that nobody reads who else got it."""

import asyncio
import smtplib
import ssl
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr

from broker.notifications.outbox import UserNotification
from broker.notifications.settings import MailSettings
from broker.notifications.templates import NotificationText

SMTP_SECONDS = 15.0


class MailChannel:
    """Sends by one mail server. For tests: `tls` with another root."""

    name = "mail"

    def __init__(self, settings: MailSettings, *, tls: ssl.SSLContext | None = None) -> None:
        self._settings = settings
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
            await asyncio.to_thread(self._send_messages, messages)
        except (OSError, smtplib.SMTPException):  # their texts hold the server's own words
            return False
        return True

    def _build_message(
        self, notice: UserNotification, wording: NotificationText, recipient: str, now: datetime
    ) -> EmailMessage:
        message = EmailMessage()
        message["From"] = self._settings.sender
        message["To"] = recipient
        message["Subject"] = wording.subject
        message["Date"] = format_datetime(now)
        domain = parseaddr(self._settings.sender)[1].rpartition("@")[2]
        message["Message-ID"] = f"<{notice.id}.{notice.recipients.index(recipient)}@{domain}>"
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834 §5: no answering machine replies
        message.set_content(wording.body)
        return message

    def _send_messages(self, messages: list[EmailMessage]) -> None:
        with self._connect() as server:
            for message in messages:
                try:
                    server.send_message(message)
                except smtplib.SMTPRecipientsRefused:
                    continue  # nobody there any more: the others are told

    def _connect(self) -> smtplib.SMTP:
        settings, tls = self._settings, self._tls or ssl.create_default_context()
        if settings.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(settings.server, settings.port, timeout=SMTP_SECONDS, context=tls)
        else:
            server = smtplib.SMTP(settings.server, settings.port, timeout=SMTP_SECONDS)
        try:
            if settings.security == "starttls":
                server.starttls(context=tls)
            if settings.user and settings.password is not None:
                server.login(settings.user, settings.password.reveal())
        except BaseException:
            server.close()
            raise
        return server
