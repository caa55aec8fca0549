"""Which alerts go out and to whom, at a server."""

import msgspec

from broker.notifications.preferences import AlertPreference, AlertSettings
from cli.client.admin_api import AdminApiClient
from cli.client.users import fetch_user


class _SettingsView(msgspec.Struct):
    alerts: list[AlertSettings]


class _PreferencesView(msgspec.Struct):
    alerts: list[AlertPreference]


def fetch_notification_settings(api: AdminApiClient) -> list[AlertSettings]:
    """Fetch the tenant's settings of every alert."""
    return api.get("/notification-settings", _SettingsView).alerts


def put_notification_settings(api: AdminApiClient, settings: AlertSettings) -> AlertSettings:
    """Store the tenant's settings of one alert."""
    body = {
        "alert": settings.alert,
        "mail": settings.mail,
        "webhook": settings.webhook,
        "administrators": settings.administrators,
        "addresses": list(settings.addresses),
    }
    response = api.change("PUT", "/notification-settings", body)
    return msgspec.convert(response.json(), AlertSettings)


def fetch_notification_preferences(api: AdminApiClient, email: str | None) -> list[AlertPreference]:
    """Fetch what a person wants by mail; without an address what the caller does."""
    user = None if email is None else str(fetch_user(api, email).id)
    return api.get("/notification-preferences", _PreferencesView, user=user).alerts


def put_notification_preference(api: AdminApiClient, email: str | None, alert: str, *, mail: bool) -> None:
    """Store whether a person wants an alert by mail."""
    user = None if email is None else str(fetch_user(api, email).id)
    api.change("PUT", "/notification-preferences", {"alert": alert, "mail": mail}, user=user)
