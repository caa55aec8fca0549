"""Which alerts a tenant tells and to whom, and of which a person wants no mail."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.directory.versions import lock_version, record_change
from core.email_address import normalize_address
from core.errors import Invalid, NotFound

Alert = Literal["account", "account_end", "credential", "oauth_client"]
ALERTS: tuple[Alert, ...] = get_args(Alert)
MAX_ADDRESSES = 20


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """How a tenant tells one alert. `administrators` get it beside the owner of a personal account; what is shared is
    theirs anyway. `addresses` get it too, whoever reads there."""

    alert: Alert
    mail: bool = True
    webhook: bool = True
    administrators: bool = False
    addresses: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class AlertPreference:
    """Whether a person wants mails of one alert."""

    alert: Alert
    mail: bool = True


ALERTS_VERSION = "all"
"""The object whose version is that of all alerts of a tenant."""


class NotificationPreferences:
    """Both, of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def database(self) -> Database:
        """The database with the versions of what is kept here."""
        return self._database

    async def list_settings(self, tenant_id: UUID) -> list[AlertSettings]:
        """The tenant's settings of every alert."""
        async with self._database.tenant(tenant_id) as work:
            return await _fetch_settings(work)

    async def put_settings(
        self, actor: Actor, tenant_id: UUID, settings: AlertSettings, *, expected_version: int | None = None
    ) -> AlertSettings:
        """Store a tenant's settings of one alert; they count for what is not sent yet. All alerts have one version.

        Raises:
            VersionConflict: the version of the tenant's alerts is not the expected one.
            Invalid: an address has the wrong form, or there are too many.
        """
        if len(settings.addresses) > MAX_ADDRESSES:
            raise Invalid(f"addresses: give at most {MAX_ADDRESSES}")
        addresses = sorted({normalize_address(address) for address in settings.addresses})
        columns = settings.mail, settings.webhook, settings.administrators, addresses
        wanted = AlertSettings(
            settings.alert, settings.mail, settings.webhook, settings.administrators, tuple(addresses)
        )
        async with self._database.tenant(tenant_id) as work:
            await lock_version(work, "alerts", ALERTS_VERSION, expected_version)
            if wanted not in await _fetch_settings(work):
                await record_change(work, actor, "alerts", ALERTS_VERSION)
            await work.execute(_PUT_SETTINGS, settings.alert, *columns)
            await audit_change(
                work,
                actor,
                AuditEventKind.NOTIFICATIONS_CHANGED,
                alert=settings.alert,
                mail=_say(settings.mail),
                webhook=_say(settings.webhook),
                administrators=_say(settings.administrators),
                addresses=", ".join(addresses),
            )
        return wanted

    async def list_preferences(self, tenant_id: UUID, user_id: UUID) -> list[AlertPreference]:
        """List what a person wants of every alert."""
        async with self._database.tenant(tenant_id) as work:
            rows = {row["alert"]: row["mail"] for row in await work.fetch(_PREFERENCES, user_id)}
        return [AlertPreference(alert, rows.get(alert, True)) for alert in ALERTS]

    async def put_preference(self, actor: Actor, tenant_id: UUID, user_id: UUID, preference: AlertPreference) -> None:
        """Store what a person wants of one alert.

        Raises:
            NotFound: the tenant has no such user.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await work.execute(_PUT_PREFERENCE, user_id, preference.alert, preference.mail):
                raise NotFound("there is no user of this id")
            detail = {"user": str(user_id), "alert": preference.alert, "mail": _say(preference.mail)}
            await audit_change(work, actor, AuditEventKind.NOTIFICATIONS_CHANGED, **detail)


async def _fetch_settings(work: UnitOfWork) -> list[AlertSettings]:
    rows = {row["alert"]: row for row in await work.fetch(_SETTINGS)}
    return [
        AlertSettings(
            alert,
            rows[alert]["mail"],
            rows[alert]["webhook"],
            rows[alert]["administrators"],
            tuple(rows[alert]["addresses"]),
        )
        if alert in rows
        else AlertSettings(alert)
        for alert in ALERTS
    ]


def _say(is_on: bool) -> str:
    return "on" if is_on else "off"


_SETTINGS = """SELECT alert, mail, webhook, administrators, addresses FROM vault.notification_settings
    WHERE tenant_id = $1"""
_PUT_SETTINGS = """INSERT INTO vault.notification_settings
    (tenant_id, alert, mail, webhook, administrators, addresses) VALUES ($1, $2, $3, $4, $5, $6::text[])
    ON CONFLICT (tenant_id, alert) DO UPDATE SET mail = excluded.mail, webhook = excluded.webhook,
    administrators = excluded.administrators, addresses = excluded.addresses"""
_PREFERENCES = "SELECT alert, mail FROM vault.notification_preferences WHERE tenant_id = $1 AND user_id = $2"
_PUT_PREFERENCE = """INSERT INTO vault.notification_preferences (tenant_id, user_id, alert, mail)
    SELECT tenant_id, id, $3, $4 FROM core.users WHERE tenant_id = $1 AND id = $2
    ON CONFLICT (tenant_id, user_id, alert) DO UPDATE SET mail = excluded.mail"""
