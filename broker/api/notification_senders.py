"""``/deployment/notification-senders``: the mail server and the webhook of notifications; for the operator."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Path, Query, Response
from pydantic import Field, SecretStr, StringConstraints

from broker.api.deployment_dependencies import DeploymentDependencies, DeploymentDeps
from broker.notifications.sender_trial import SenderCheck, SenderCheckName
from broker.notifications.stored_senders import SenderChange, SenderKind, SenderOverview
from broker.vault.deployment_settings import MAX_SECRET_LENGTH
from core.api.app import create_router
from core.api.dependencies import OperatorRead, OperatorWrite, RecentlySignedInOperator
from core.api.pagination import Cursor, PageLimit, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import NO_CONTROL_CHARACTERS, Email, PageOf, RequestModel, ResponseModel, ShortText
from core.api.versions import ExpectedVersion, describe_conflict, set_version
from core.secret import Secret
from core.text_folding import fold_text, matches_all_words

routes = create_router("deployment")

SenderPath = Annotated[SenderKind, Path(description="Kind of the sender: `mail` or `webhook`.")]
Text = Annotated[str, StringConstraints(max_length=320, pattern=NO_CONTROL_CHARACTERS)]
SenderSecret = Annotated[SecretStr, Field(min_length=1, max_length=MAX_SECRET_LENGTH)]
SourceKey = tuple[bool, Annotated[str, msgspec.Meta(pattern="^(?:mail|webhook)$")]]


class NotificationSenderView(ResponseModel):
    """A sender of notifications, without its secret. Properties of the other kind are empty."""

    kind: SenderKind = Field(description="Kind of the sender.")
    source: Literal["file", "database"] = Field(
        description="Place of the sender: `file` for notices.toml, which can only be changed there."
    )
    in_use: bool = Field(description="False for a stored sender that one of the file with the same kind hides.")
    server: str = Field(default="", description="Host name of the mail server.")
    port: int | None = Field(default=None, description="Port of the mail server; null for a webhook.")
    security: str = Field(default="", description="Encryption of the mail connection: `starttls`, `tls` or `none`.")
    user: str = Field(default="", description="User at the mail server; empty if nobody logs in.")
    sender: str = Field(default="", description="Address that mails are sent from.")
    url: str = Field(default="", description="URL of the webhook.")
    created_at: datetime | None = Field(description="Time of creation; null for one of the file.")
    updated_at: datetime | None = Field(description="Time of the latest change; null for one of the file.")


class SenderCheckView(ResponseModel):
    """One step of a trial."""

    check: SenderCheckName = Field(description="Subject of the step: address, connection, login or message.")
    outcome: Literal["ok", "failed"] = Field(description="Outcome of the step.")
    message: str = Field(description="Explanation, and the remedy of a failure.")
    message_ja: str = Field(description="Japanese text of `message`.")


class SenderTrialView(ResponseModel):
    """Result of a trial; nothing was stored."""

    passed: bool = Field(description="True if no step failed.")
    checks: list[SenderCheckView] = Field(description="Steps, up to the first that failed.")


class SavedSenderView(ResponseModel):
    """A stored sender, and the trial before."""

    sender: NotificationSenderView = Field(description="The sender as it is stored now.")
    checks: list[SenderCheckView] = Field(description="Steps of the trial.")


class MailSenderSettings(RequestModel):
    """A mail server."""

    server: Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=NO_CONTROL_CHARACTERS)] = Field(
        description="Host name of the server."
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(default=587, description="Port of the server.")
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="Encryption of the connection; `none` only for a server on this machine."
    )
    user: Text = Field(default="", description="User to log in as; empty for nobody.")
    password: SenderSecret | None = Field(
        default=None,
        description="Password of the user; null keeps the stored one if server, port, security and user do not change.",
    )
    sender: Text = Field(description="Address that mails are sent from, such as `MCPist <mcpist@example.com>`.")
    recipient: Email | None = Field(
        default=None, description="Address that the trial's mail is sent to; default the caller's own."
    )


class WebhookSenderSettings(RequestModel):
    """A receiver of events in the form of Standard Webhooks."""

    url: Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=NO_CONTROL_CHARACTERS)] = Field(
        description="URL that events are posted to."
    )
    secret: SenderSecret | None = Field(
        default=None,
        description="Signing secret: `whsec_` and at least 24 random bytes in base64; null keeps the stored one if "
        "`url` does not change.",
    )


DespiteFailures = Annotated[
    bool, Field(description="True to store the sender although the trial fails, such as while its server is away.")
]


class MailSenderUpsert(MailSenderSettings):
    """A mail server to store."""

    despite_failures: DespiteFailures = False


class WebhookSenderUpsert(WebhookSenderSettings):
    """A receiver of events to store."""

    despite_failures: DespiteFailures = False


@routes.get("/deployment/notification-senders")
async def list_notification_senders(
    caller: OperatorRead,
    parts: DeploymentDeps,
    q: Annotated[ShortText, Query(description="Words that kind, server, user, sender or URL contain.")] = "",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[NotificationSenderView]:
    """List the senders of notifications.

    Those of notices.toml come first. Width, case and kana do not count in `q`.
    """
    words = fold_text(q)
    senders = [one for one in await parts.notification_senders.list() if matches_all_words(words, _describe(one))]
    if cursor is not None:
        last = decode_cursor(cursor, SourceKey)
        senders = [sender for sender in senders if _get_key(sender) > last]
    shown, following = split_page(senders, limit, _get_key)
    return PageOf(items=[_build_view(sender) for sender in shown], next_cursor=following)


@routes.get("/deployment/notification-senders/{sender_kind}")
async def show_notification_sender(
    sender_kind: SenderPath, caller: OperatorRead, parts: DeploymentDeps, response: Response
) -> NotificationSenderView:
    """Get a sender of notifications.

    The stored one of this kind, else that of notices.toml, which has no `ETag`.
    """
    sender = await parts.notification_senders.get(sender_kind)
    set_version(response, sender.version)
    return _build_view(sender)


@routes.post("/deployment/notification-senders/mail/test")
async def test_mail_sender(body: MailSenderSettings, caller: OperatorWrite, parts: DeploymentDeps) -> SenderTrialView:
    """Send a trial mail by a server, without storing the server."""
    return _build_trial_view(await parts.notification_senders.test(_build_mail_change(body, caller.email)))


@routes.post("/deployment/notification-senders/webhook/test")
async def test_webhook_sender(
    body: WebhookSenderSettings, caller: OperatorWrite, parts: DeploymentDeps
) -> SenderTrialView:
    """Post a trial event to a receiver, without storing the receiver."""
    return _build_trial_view(await parts.notification_senders.test(_build_webhook_change(body)))


@routes.put("/deployment/notification-senders/mail")
async def put_mail_sender(
    body: MailSenderUpsert,
    caller: RecentlySignedInOperator,
    parts: DeploymentDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> SavedSenderView:
    """Store or replace the mail server of notifications.

    A trial mail is sent first, and nothing is stored if that fails. Notifications of all tenants go this way, so a
    sign-in within the last ten minutes is required. It counts without a restart.
    `If-Match: "v0"` stores a new one only.
    """
    change = _build_mail_change(body, caller.email)
    return await _put(parts, caller, response, change, body.despite_failures, expected_version)


@routes.put("/deployment/notification-senders/webhook")
async def put_webhook_sender(
    body: WebhookSenderUpsert,
    caller: RecentlySignedInOperator,
    parts: DeploymentDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> SavedSenderView:
    """Store or replace the webhook of notifications.

    A trial event is posted first, and nothing is stored if that fails. Notifications of all tenants go this way, so a
    sign-in within the last ten minutes is required. It counts without a restart.
    `If-Match: "v0"` stores a new one only.
    """
    change = _build_webhook_change(body)
    return await _put(parts, caller, response, change, body.despite_failures, expected_version)


@routes.delete("/deployment/notification-senders/{sender_kind}", status_code=204)
async def remove_notification_sender(sender_kind: SenderPath, caller: OperatorWrite, parts: DeploymentDeps) -> None:
    """Remove a stored sender.

    Notifications that are due go by what is left; where nothing is, nobody is told.
    """
    await parts.notification_senders.remove(caller.actor, sender_kind)


async def _put(
    parts: DeploymentDependencies,
    caller: Principal,
    response: Response,
    change: SenderChange,
    despite_failures: bool,
    expected_version: int | None,
) -> SavedSenderView:
    senders = parts.notification_senders

    async def load_state() -> NotificationSenderView:
        return _build_view(await senders.get(change.kind))

    saving = senders.put(caller.actor, change, despite_failures=despite_failures, expected_version=expected_version)
    saved, checks = await describe_conflict(saving, load_state)
    set_version(response, saved.version)
    return SavedSenderView(sender=_build_view(saved), checks=_build_check_views(checks))


def _describe(sender: SenderOverview) -> str:
    return fold_text(" ".join([sender.kind, *(str(value) for value in sender.values.values())]))


def _get_key(sender: SenderOverview) -> tuple[bool, str]:
    return sender.source == "database", sender.kind


def _build_mail_change(body: MailSenderSettings, own_address: str) -> SenderChange:
    values = {name: getattr(body, name) for name in ("server", "port", "security", "user", "sender")}
    recipient = body.recipient or (own_address if "@" in own_address else "")
    return SenderChange("mail", values, _unwrap(body.password), recipient)


def _build_webhook_change(body: WebhookSenderSettings) -> SenderChange:
    return SenderChange("webhook", {"url": body.url}, _unwrap(body.secret))


def _unwrap(secret: SecretStr | None) -> Secret | None:
    return None if secret is None else Secret(secret.get_secret_value())


def _build_view(sender: SenderOverview) -> NotificationSenderView:
    values: dict[str, Any] = dict(sender.values)
    return NotificationSenderView(
        kind=sender.kind,
        source=sender.source,
        in_use=sender.in_use,
        created_at=sender.created_at,
        updated_at=sender.updated_at,
        **values,
    )


def _build_trial_view(checks: Sequence[SenderCheck]) -> SenderTrialView:
    passed = all(check.outcome == "ok" for check in checks)
    return SenderTrialView(passed=passed, checks=_build_check_views(checks))


def _build_check_views(checks: Sequence[SenderCheck]) -> list[SenderCheckView]:
    return [SenderCheckView.model_validate(check) for check in checks]
