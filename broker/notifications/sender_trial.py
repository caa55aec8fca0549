"""The trial of a sender before it is saved: a message is sent, and each step has its outcome."""

import asyncio
import smtplib
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import uuid4

from broker.notifications.mail import build_mail
from broker.notifications.mail_connection import MailAddressGuard, log_in, open_mail_connection
from broker.notifications.settings import MailSettings, WebhookSettings
from broker.notifications.webhook import post_event
from broker.oauth_client.vendor_http import VendorHttpClient
from core.bilingual_text import BilingualText, say
from core.http.outbound_addresses import AddressNotAllowed, HostNotFound

SenderCheckName = Literal["address", "connection", "login", "message"]
SUBJECT = "MCPist: trial message / テストメッセージ"
BODY = """This is a trial message of MCPist: notifications about connections come from this address.

これは MCPist のテストメッセージです。接続に関する通知はこのアドレスから届きます。
"""
_LOGGED_IN = say("the server takes the user", "サーバーがユーザーを受け付けました")
_NO_USER = say("no user", "ユーザーなし")
_NOT_FOUND = say(
    "the name of the server does not resolve: check its spelling, and that this machine's name server knows it",
    "サーバーの名前を解決できません。つづりと、このマシンのネームサーバーに登録されているかを確認してください",
)
_NOT_ASKED = say("the name server cannot be asked now", "ネームサーバーに問い合わせできません")
_NOT_ALLOWED = say(
    "this address may not be reached: a host in a private network, and a port that is none of mail's (25, 465, 587, "
    "2525), have to be in MCPIST_ALLOWED_PRIVATE_HOSTS",
    "このアドレスには接続できません。プライベートネットワークのホストと、"
    "メール用（25、465、587、2525）以外のポートは MCPIST_ALLOWED_PRIVATE_HOSTS に追加してください",
)


@dataclass(frozen=True, slots=True)
class SenderCheck:
    """One step of a trial. `message` is a text of ours; what a server says is never shown."""

    check: SenderCheckName
    outcome: Literal["ok", "failed"]
    message: BilingualText

    @property
    def message_ja(self) -> str:
        return self.message.ja


class SenderTrial:
    """Sends trial messages. For tests: `tls` with another root."""

    def __init__(
        self,
        guard: MailAddressGuard,
        http: VendorHttpClient,
        *,
        clock: Callable[[], datetime],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._guard = guard
        self._http = http
        self._clock = clock
        self._tls = tls

    async def try_mail(self, settings: MailSettings, recipient: str) -> tuple[SenderCheck, ...]:
        """Send a mail to `recipient`; the steps up to the first that fails."""
        try:
            address = await self._guard.resolve(settings.server, settings.port)
        except HostNotFound:  # an operator asks, who may know which names exist
            return (SenderCheck("address", "failed", _NOT_FOUND),)
        except AddressNotAllowed:
            return (SenderCheck("address", "failed", _NOT_ALLOWED),)
        except OSError:
            return (SenderCheck("address", "failed", _NOT_ASKED),)
        checks = await asyncio.to_thread(self._send_trial, settings, recipient, address)
        return (
            SenderCheck(
                "address", "ok", say("the server's address may be reached", "サーバーのアドレスに接続できます")
            ),
            *checks,
        )

    async def try_webhook(self, settings: WebhookSettings) -> tuple[SenderCheck, ...]:
        """Post an event of the type `mcpist.test`."""
        now = self._clock()
        event = {"type": "mcpist.test", "timestamp": now.isoformat(), "data": {"meaning": "a trial of the sender"}}
        if await post_event(self._http, settings, str(uuid4()), event, now):
            return (
                SenderCheck(
                    "message",
                    "ok",
                    say(
                        "the receiver has taken an event of the type mcpist.test",
                        "受信側が mcpist.test 型のイベントを受け付けました",
                    ),
                ),
            )
        text = say(
            "the receiver did not answer 2xx, or its address may not be reached (MCPIST_ALLOWED_PRIVATE_HOSTS)",
            "受信側が 2xx を返さないか、アドレスに接続できません（MCPIST_ALLOWED_PRIVATE_HOSTS）",
        )
        return (SenderCheck("message", "failed", text),)

    def _send_trial(self, settings: MailSettings, recipient: str, address: str) -> list[SenderCheck]:
        checks: list[SenderCheck] = []
        step: SenderCheckName = "connection"
        try:
            with open_mail_connection(settings, self._tls, address) as server:
                checks.append(
                    SenderCheck(
                        step,
                        "ok",
                        say(
                            "the server answers, encrypted as the settings say",
                            "サーバーは設定どおりの暗号化で応答しました",
                        ),
                    )
                )
                step = "login"
                log_in(server, settings)
                checks.append(SenderCheck(step, "ok", _LOGGED_IN if settings.user else _NO_USER))
                step = "message"
                now = self._clock()
                server.send_message(build_mail(settings, recipient, SUBJECT, BODY, f"trial.{uuid4()}", now))
                checks.append(
                    SenderCheck(
                        step,
                        "ok",
                        say(
                            "the server has taken a mail for {to}",
                            "サーバーが {to} 宛てのメールを受け付けました",
                            to=recipient,
                        ),
                    )
                )
        except (OSError, smtplib.SMTPException):
            if len(checks) < len(_FAILURES):  # what goes wrong while the connection is closed is no failure
                checks.append(SenderCheck(step, "failed", _FAILURES[step]))
        return checks


_FAILURES: dict[SenderCheckName, BilingualText] = {
    "connection": say(
        "the server does not answer, does not encrypt, or its certificate is not valid for its name",
        "サーバーが応答しないか、暗号化に対応していないか、証明書が名前と一致しません",
    ),
    "login": say(
        "the server refuses the user or the password, or offers no login",
        "サーバーがユーザーまたはパスワードを拒否したか、ログインに対応していません",
    ),
    "message": say("the server refuses the sender or the recipient", "サーバーが送信元または宛先を拒否しました"),
}
