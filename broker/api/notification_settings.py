"""``/notification-settings`` and ``/notification-preferences``: which alerts go out, and to whom."""

from typing import Annotated
from uuid import UUID

from fastapi import Response
from pydantic import Field

from broker.api.identity_dependencies import IdentityDependencies, IdentityDeps
from broker.notifications.preferences import ALERTS_VERSION, MAX_ADDRESSES, Alert, AlertPreference, AlertSettings
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, OwnerRead, OwnerWrite, UserFilter, resolve_owner
from core.api.schemas import Email, RequestModel, ResponseModel
from core.api.versions import ExpectedVersion, describe_conflict, set_etag
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = create_router("notifications")

AlertName = Annotated[
    Alert,
    Field(
        description="Alert: `account` for lost access, `account_end` for access that ends soon, `credential` for a key "
        "that its vendor refuses, `oauth_client` for a refused OAuth client."
    ),
]


class AlertSettingsView(ResponseModel):
    """Settings of one alert of the tenant."""

    alert: Alert = Field(description="Alert that the settings are for.")
    mail: bool = Field(description="True if the alert is sent by mail.")
    webhook: bool = Field(description="True if the alert is sent to the webhook of the deployment.")
    administrators: bool = Field(description="True if administrators are told of personal accounts too.")
    addresses: list[str] = Field(description="Further addresses that get the mail.")


class NotificationSettingsView(ResponseModel):
    """Settings of all alerts of the tenant."""

    alerts: list[AlertSettingsView] = Field(description="Settings, one for each alert.")


class AlertSettingsUpdate(RequestModel):
    """Settings of one alert."""

    alert: AlertName
    mail: bool = Field(description="True to send the alert by mail.")
    webhook: bool = Field(default=True, description="True to send the alert to the webhook of the deployment.")
    administrators: bool = Field(default=False, description="True to tell administrators of personal accounts too.")
    addresses: Annotated[list[Email], Field(max_length=MAX_ADDRESSES)] = Field(
        default_factory=list, description="Further addresses that get the mail."
    )


class AlertPreferenceView(ResponseModel):
    """A person's choice for one alert."""

    alert: Alert = Field(description="Alert that the choice is for.")
    mail: bool = Field(description="True if the person gets the mail.")


class NotificationPreferencesView(ResponseModel):
    """A person's choices for all alerts."""

    alerts: list[AlertPreferenceView] = Field(description="Choices, one for each alert.")


class AlertPreferenceUpdate(RequestModel):
    """A person's choice for one alert."""

    alert: AlertName
    mail: bool = Field(description="True to get the mail.")


@routes.get("/notification-settings")
async def show_notification_settings(
    caller: AdminRead, parts: IdentityDeps, response: Response
) -> NotificationSettingsView:
    """Get which alerts the tenant sends, and to whom."""
    await set_etag(response, parts.notifications.database, caller.tenant_id, "alerts", ALERTS_VERSION)
    return await _load_settings(parts, caller.tenant_id)


@routes.put("/notification-settings")
async def put_notification_settings(
    body: AlertSettingsUpdate,
    caller: AdminWrite,
    parts: IdentityDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> AlertSettingsView:
    """Set whether and to whom the tenant sends an alert.

    It counts for everything that was not sent yet. `If-Match` is the `ETag` of all alerts together.
    """

    async def load_state() -> NotificationSettingsView:
        return await _load_settings(parts, caller.tenant_id)

    wanted = AlertSettings(body.alert, body.mail, body.webhook, body.administrators, tuple(body.addresses))
    saving = parts.notifications.put_settings(caller.actor, caller.tenant_id, wanted, expected_version=expected_version)
    saved = await describe_conflict(saving, load_state)
    await set_etag(response, parts.notifications.database, caller.tenant_id, "alerts", ALERTS_VERSION)
    return _build_settings_view(saved)


@routes.get("/notification-preferences")
async def show_notification_preferences(
    caller: OwnerRead, parts: IdentityDeps, user: UserFilter = None
) -> NotificationPreferencesView:
    """Get which alerts a person wants by mail.

    Returns the caller's own. Administrators can name a `user`.
    """
    owner = resolve_owner(caller, user, ADMIN_READ)
    preferences = await parts.notifications.list_preferences(caller.tenant_id, owner)
    return NotificationPreferencesView(alerts=[AlertPreferenceView.model_validate(one) for one in preferences])


@routes.put("/notification-preferences", status_code=204)
async def put_notification_preference(
    body: AlertPreferenceUpdate, caller: OwnerWrite, parts: IdentityDeps, user: UserFilter = None
) -> None:
    """Set whether a person wants an alert by mail.

    Sets the caller's own, or for administrators that of a `user`. What the tenant does not send stays unsent.
    """
    owner = resolve_owner(caller, user, ADMIN_WRITE)
    preference = AlertPreference(body.alert, body.mail)
    await parts.notifications.put_preference(caller.actor, caller.tenant_id, owner, preference)


async def _load_settings(parts: IdentityDependencies, tenant_id: UUID) -> NotificationSettingsView:
    settings = await parts.notifications.list_settings(tenant_id)
    return NotificationSettingsView(alerts=[_build_settings_view(one) for one in settings])


def _build_settings_view(settings: AlertSettings) -> AlertSettingsView:
    return AlertSettingsView(
        alert=settings.alert,
        mail=settings.mail,
        webhook=settings.webhook,
        administrators=settings.administrators,
        addresses=list(settings.addresses),
    )
