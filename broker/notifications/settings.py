"""How people are told that an account needs them: by mail, by webhook. Read from one TOML file that holds secrets."""

import base64
import binascii
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from broker.private_toml import read_toml
from core.email_address import normalize_address
from core.errors import Invalid
from core.secret import Secret

SETTINGS_FILE = "notices.toml"
MOST_FILE = 64 * 1024
WEBHOOK_SECRET_PREFIX = "whsec_"  # noqa: S105 the prefix of a form
MIN_SECRET_BYTES = 24
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def _parse_secret(value: object) -> object:
    if isinstance(value, str) and 1 <= len(value) <= 4096 and value.isprintable() and value == value.strip():
        return Secret(value)
    raise ValueError("give a text of 1 to 4096 characters without blanks around it")


def _parse_webhook_secret(value: object) -> object:
    secret = _parse_secret(value)
    try:
        right = len(decode_webhook_secret(secret)) >= MIN_SECRET_BYTES if isinstance(secret, Secret) else False
    except (ValueError, binascii.Error):
        right = False
    if not right:
        raise ValueError(f"give {WEBHOOK_SECRET_PREFIX} and then at least {MIN_SECRET_BYTES} random bytes in base64")
    return secret


def decode_webhook_secret(secret: Secret) -> bytes:
    """The bytes of a secret in the form of Standard Webhooks: ``whsec_`` and base64.

    Raises:
        ValueError: it has another form.
    """
    text = secret.reveal()
    if not text.startswith(WEBHOOK_SECRET_PREFIX):
        raise ValueError("invalid webhook secret")
    return base64.b64decode(text.removeprefix(WEBHOOK_SECRET_PREFIX), validate=True)


def _check_sender(text: str) -> str:
    try:
        normalize_address(parseaddr(text)[1])
    except Invalid:
        raise ValueError("give an address such as MCPist <mcpist@example.com>") from None
    if not text.isprintable():
        raise ValueError("give one line")
    return text


def _check_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("https", "http") or not parts.hostname or "@" in parts.netloc or not text.isascii():
        raise ValueError("give a URL that begins with https://, without a user in it")
    return text


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


class MailSettings(_Table):
    """A server that takes mail (RFC 6409). `security` none is for a server on this machine."""

    server: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[0-9A-Za-z.:-]+$")]
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: Annotated[str, Field(max_length=320)] = ""
    password: Annotated[Secret | None, BeforeValidator(_parse_secret)] = None
    sender: Annotated[str, Field(max_length=320), AfterValidator(_check_sender)]

    @property
    def safe(self) -> bool:
        """Check whether the connection to the mail server is encrypted or local."""
        return self.security != "none" or self.server in LOOPBACK


class WebhookSettings(_Table):
    """A URL that takes every notice of every tenant, signed as Standard Webhooks says."""

    url: Annotated[str, Field(max_length=2000), AfterValidator(_check_url)]
    secret: Annotated[Secret, BeforeValidator(_parse_webhook_secret)]


class NotificationSettings(_Table):
    """The whole file; without a file, nobody is told and the console alone shows how accounts stand."""

    mail: MailSettings | None = None
    webhook: WebhookSettings | None = None


def load_notification_settings(path: Path) -> NotificationSettings:
    """Read the file; a missing one is all defaults.

    Raises:
        core.errors.Invalid: others may read the file, or it is wrong; the text names the key.
    """
    settings = read_toml(path, NotificationSettings, MOST_FILE)
    if settings.mail is not None and not settings.mail.safe:
        raise Invalid(f"{path}: mail.security: none is for a server on this machine; use starttls or tls")
    return settings
