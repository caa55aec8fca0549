"""The senders of notifications: those of notices.toml, and those that operators store; at most one of each kind.

Stored ones are read when something may be sent, so a change counts on every process without a restart. A sender of the
file hides a stored one of its kind.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import ValidationError

from broker.notifications.dispatcher import NotificationChannel
from broker.notifications.mail import MailChannel
from broker.notifications.mail_connection import MailAddressGuard
from broker.notifications.outbox import UserNotification
from broker.notifications.sender_trial import SenderCheck, SenderTrial
from broker.notifications.settings import MailSettings, NotificationSettings, WebhookSettings
from broker.notifications.templates import NotificationText
from broker.notifications.webhook import WebhookChannel
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.private_toml import build_invalid
from broker.vault.deployment_settings import (
    MAX_SECRET_LENGTH,
    DeploymentSetting,
    DeploymentSettingsStore,
    get_setting_version,
)
from broker.vault.envelope import DecryptionError
from core.directory.audit_trail import Actor
from core.directory.versions import check_version
from core.errors import Conflict, Invalid, InvalidFields, NotFound
from core.secret import Secret

SenderKind = Literal["mail", "webhook"]
SENDER_KINDS: tuple[SenderKind, ...] = ("mail", "webhook")
SenderSettings = MailSettings | WebhookSettings
_SECRET_KEYS: Mapping[SenderKind, str] = {"mail": "password", "webhook": "secret"}
_DESTINATION_KEYS: Mapping[SenderKind, tuple[str, ...]] = {
    "mail": ("server", "port", "security", "user"),
    "webhook": ("url",),
}
"""What decides where the secret is sent, and how: the stored one is used in no other way."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SenderOverview:
    """A sender as its operator sees it. Times and version are None for one of the file."""

    kind: SenderKind
    values: Mapping[str, Any]
    source: Literal["file", "database"]
    in_use: bool
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class SenderChange:
    """What an operator gives. Without a `secret` the stored one stays, if it is used as before; a mail server without a
    user has none. The trial's mail goes to `recipient`."""

    kind: SenderKind
    values: Mapping[str, Any]
    secret: Secret | None = None
    recipient: str = ""


class NotificationSenders:
    """The senders that count now. `of_file` are those of notices.toml."""

    def __init__(
        self,
        store: DeploymentSettingsStore,
        of_file: NotificationSettings,
        guard: MailAddressGuard,
        http: VendorHttpClient,
    ) -> None:
        self._store = store
        self._of_file = of_file
        self._guard = guard
        self._http = http
        self._built: dict[str, tuple[int, NotificationChannel]] = {}

    async def list_channels(self) -> Sequence[NotificationChannel]:
        """The channels to tell by.

        Raises:
            core.errors.Unavailable: the database or the key-encryption key is away.
        """
        channels: list[NotificationChannel] = []
        if self._of_file.mail is not None:
            channels.append(MailChannel(self._of_file.mail))
        if self._of_file.webhook is not None:
            channels.append(WebhookChannel(self._of_file.webhook, self._http))
        taken = {channel.name for channel in channels}
        rows = await self._store.list("notification_sender")
        return [*channels, *[await self._get_channel(row) for row in rows if row.name not in taken]]

    async def _get_channel(self, row: DeploymentSetting) -> NotificationChannel:
        kept = self._built.get(row.name)
        if kept is None or kept[0] != row.version:
            kept = self._built[row.name] = row.version, await self._build(row)
        return kept[1]

    async def _build(self, row: DeploymentSetting) -> NotificationChannel:
        try:
            settings = build_sender_settings(_get_kind(row), row.settings, await self._store.unwrap_secret(row))
        except (DecryptionError, Invalid):
            log.error(
                "stored sender of notifications cannot be used; store it again",
                extra={"event": "stored_setting_unusable", "kind": row.kind, "setting": row.name},
            )
            return _UnusableChannel(row.name)
        if isinstance(settings, MailSettings):
            return MailChannel(settings, guard=self._guard)
        return WebhookChannel(settings, self._http)


class _UnusableChannel:
    """Delivers nothing, so that what is due waits for the sender to be stored again. Implements NotificationChannel."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def send(self, notice: UserNotification, wording: NotificationText, now: datetime) -> bool:
        return False


class SenderAdministration:
    """The senders in the hands of the deployment's operator."""

    def __init__(self, store: DeploymentSettingsStore, of_file: NotificationSettings, trial: SenderTrial) -> None:
        self._store = store
        self._of_file = of_file
        self._trial = trial

    async def list(self) -> list[SenderOverview]:
        """Those of the file, then the stored ones, by kind."""
        of_file = [
            SenderOverview(kind, _get_values(settings), "file", in_use=True)
            for kind in SENDER_KINDS
            if (settings := self._get_of_file(kind)) is not None
        ]
        taken = {sender.kind for sender in of_file}
        rows = await self._store.list("notification_sender")
        return [*of_file, *(_build_overview(row, in_use=row.name not in taken) for row in rows)]

    async def get(self, kind: SenderKind) -> SenderOverview:
        """The stored sender of that kind, else that of the file.

        Raises:
            NotFound: there is neither.
        """
        of_file, row = self._get_of_file(kind), await self._store.find("notification_sender", kind)
        if row is not None:
            return _build_overview(row, in_use=of_file is None)
        if of_file is None:
            raise NotFound("there is no sender of this kind")
        return SenderOverview(kind, _get_values(of_file), "file", in_use=True)

    async def test(self, change: SenderChange) -> tuple[SenderCheck, ...]:
        """Send a trial message; nothing is stored.

        Raises:
            Invalid: the values are no sender's, or the secret is missing.
        """
        before = await self._store.find("notification_sender", change.kind)
        settings = await self._resolve(change, before)
        return await self._try(settings, change.recipient)

    async def put(
        self,
        actor: Actor,
        change: SenderChange,
        *,
        despite_failures: bool = False,
        expected_version: int | None = None,
    ) -> tuple[SenderOverview, tuple[SenderCheck, ...]]:
        """Send a trial message and store the sender; with `despite_failures` though a check fails. The version of one
        that is not stored yet is 0.

        Raises:
            VersionConflict: the stored version is not the expected one.
            Invalid: a check failed, the values are no sender's, or the secret is missing; nothing is stored.
            Conflict: the file has a sender of this kind, or somebody else changed it meanwhile.
        """
        if self._get_of_file(change.kind) is not None:
            raise Conflict(f"notices.toml has a sender of the kind {change.kind}: change it there")
        before = await self._store.find("notification_sender", change.kind)
        check_version(get_setting_version(before), expected_version)
        settings = await self._resolve(change, before)
        checks = await self._try(settings, change.recipient)
        failed = [f"{check.check}: {check.message}" for check in checks if check.outcome == "failed"]
        if failed and not despite_failures:
            raise Invalid("the sender was not saved, because a check failed. " + "; ".join(failed))
        secret = settings.password if isinstance(settings, MailSettings) else settings.secret
        kind, values = change.kind, _get_values(settings)
        row = await self._store.put(actor, "notification_sender", kind, values, secret, before)
        return _build_overview(row, in_use=True), checks

    async def remove(self, actor: Actor, kind: SenderKind) -> None:
        """Forget a stored sender.

        Raises:
            Conflict: the file has it.
            NotFound: there is none.
        """
        try:
            await self._store.remove(actor, "notification_sender", kind)
        except NotFound:
            if self._get_of_file(kind) is not None:
                raise Conflict(f"notices.toml has a sender of the kind {kind}: remove it there") from None
            raise

    def _get_of_file(self, kind: SenderKind) -> SenderSettings | None:
        return self._of_file.mail if kind == "mail" else self._of_file.webhook

    async def _try(self, settings: SenderSettings, recipient: str) -> tuple[SenderCheck, ...]:
        if isinstance(settings, WebhookSettings):
            return await self._trial.try_webhook(settings)
        if not recipient:
            raise Invalid("recipient is missing: the address that the trial's mail goes to")
        return await self._trial.try_mail(settings, recipient)

    async def _resolve(self, change: SenderChange, before: DeploymentSetting | None) -> SenderSettings:
        secret, name = change.secret, _SECRET_KEYS[change.kind]
        if secret is not None and len(secret.reveal()) > MAX_SECRET_LENGTH:
            raise InvalidFields({name: f"give at most {MAX_SECRET_LENGTH} characters"})
        needs_secret = change.kind == "webhook" or bool(change.values.get("user"))
        if secret is None and needs_secret:
            secret = await self._store.unwrap_secret(before) if before is not None else None
            if before is None or secret is None:
                raise InvalidFields({name: "give it"}, f"{name} is missing")
            if any(change.values.get(key) != before.settings.get(key) for key in _DESTINATION_KEYS[change.kind]):
                remedy = "the stored one is sent to no other server; give it again"
                raise InvalidFields({name: remedy}, f"{name} is missing: {remedy}")
        return build_sender_settings(change.kind, change.values, secret if needs_secret else None)


def build_sender_settings(kind: SenderKind, values: Mapping[str, Any], secret: Secret | None) -> SenderSettings:
    """The settings of a stored sender.

    Raises:
        Invalid: they are none; the text names each key and never a value.
    """
    given = {**values, **({} if secret is None else {_SECRET_KEYS[kind]: secret.reveal()})}
    try:
        if kind == "webhook":
            return WebhookSettings.model_validate(given)
        settings = MailSettings.model_validate(given)
    except ValidationError as error:
        raise build_invalid(error) from None
    if not settings.safe:
        raise InvalidFields({"security": "none is for a server on this machine; use starttls or tls"})
    return settings


def _get_values(settings: SenderSettings) -> Mapping[str, Any]:
    return settings.model_dump(exclude={"password", "secret"})


def _get_kind(row: DeploymentSetting) -> SenderKind:
    return "mail" if row.name == "mail" else "webhook"


def _build_overview(row: DeploymentSetting, *, in_use: bool) -> SenderOverview:
    return SenderOverview(_get_kind(row), row.settings, "database", in_use, row.created_at, row.updated_at, row.version)
