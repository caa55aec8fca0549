"""How people are told that an account needs them: by mail, by webhook. Read from one TOML file that holds secrets."""

import base64
import binascii
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from broker.private_toml import read_toml
from core.email_address import normal_address
from core.errors import Invalid
from core.secret import Secret

FILE = "notices.toml"
MOST_FILE = 64 * 1024
WEBHOOK_SECRET = "whsec_"  # noqa: S105 the prefix of a form
LEAST_SECRET = 24
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def _secret(value: object) -> object:
    if isinstance(value, str) and 1 <= len(value) <= 4096 and value.isprintable() and value == value.strip():
        return Secret(value)
    raise ValueError("give a text of 1 to 4096 characters without blanks around it")


def _webhook_secret(value: object) -> object:
    secret = _secret(value)
    try:
        right = len(webhook_key(secret)) >= LEAST_SECRET if isinstance(secret, Secret) else False
    except (ValueError, binascii.Error):
        right = False
    if not right:
        raise ValueError(f"give {WEBHOOK_SECRET} and then at least {LEAST_SECRET} random bytes in base64")
    return secret


def webhook_key(secret: Secret) -> bytes:
    """The bytes of a secret in the form of Standard Webhooks: ``whsec_`` and base64.

    Raises:
        ValueError: it has another form.
    """
    text = secret.reveal()
    if not text.startswith(WEBHOOK_SECRET):
        raise ValueError("no webhook secret")
    return base64.b64decode(text.removeprefix(WEBHOOK_SECRET), validate=True)


def _sender(text: str) -> str:
    try:
        normal_address(parseaddr(text)[1])
    except Invalid:
        raise ValueError("give an address such as MCPist <mcpist@example.com>") from None
    if not text.isprintable():
        raise ValueError("give one line")
    return text


def _url(text: str) -> str:
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
    password: Annotated[Secret | None, BeforeValidator(_secret)] = None
    sender: Annotated[str, Field(max_length=320), AfterValidator(_sender)]

    @property
    def safe(self) -> bool:
        """Whether nobody on the way can read along."""
        return self.security != "none" or self.server in LOOPBACK


class WebhookSettings(_Table):
    """A URL that takes every notice of every tenant, signed as Standard Webhooks says."""

    url: Annotated[str, Field(max_length=2000), AfterValidator(_url)]
    secret: Annotated[Secret, BeforeValidator(_webhook_secret)]


class NoticeSettings(_Table):
    """The whole file; without a file, nobody is told and the console alone shows how accounts stand."""

    mail: MailSettings | None = None
    webhook: WebhookSettings | None = None


def load(path: Path) -> NoticeSettings:
    """Read the file; a missing one is all defaults.

    Raises:
        core.errors.Invalid: others may read the file, or it is wrong; the text names the key.
    """
    settings = read_toml(path, NoticeSettings, MOST_FILE)
    if settings.mail is not None and not settings.mail.safe:
        raise Invalid(f"{path}: mail.security: none is for a server on this machine; use starttls or tls")
    return settings
