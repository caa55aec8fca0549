"""Notifications about accounts that need a person, by the senders of notices.toml and of the database."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime

from broker.notifications.dispatcher import NotificationDispatcher
from broker.notifications.mail_connection import MailAddressGuard
from broker.notifications.sender_trial import SenderTrial
from broker.notifications.stored_senders import NotificationSenders, SenderAdministration
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.catalogue import load_builtin_providers
from broker.vault.deployment_settings import DeploymentSettingsStore
from core.concurrency.background import run_in_background
from core.config.settings import Settings
from core.module_manifest import ModuleManifest
from server.start_files import load_notification_settings
from server.wiring.broker import BrokerRuntime


@contextlib.asynccontextmanager
async def run_notifications(
    zone: BrokerRuntime, settings: Settings, manifests: Sequence[ModuleManifest]
) -> AsyncGenerator[None]:
    """Send notifications until the block is left. Without a sender none is sent, and those that are due are closed.

    Raises:
        core.errors.Invalid: the file is wrong, or others may read it; the text says what.
    """
    senders = NotificationSenders(
        zone.deployment_settings,
        load_notification_settings(settings),
        MailAddressGuard(settings.allowed_private_hosts),
        zone.oauth_http,
    )
    dispatcher = NotificationDispatcher(
        zone.database, senders.list_channels, _build_title_lookup(manifests), settings.public_url, clock=zone.clock
    )
    async with run_in_background("sending notifications", dispatcher.run()):
        yield


def build_sender_administration(
    store: DeploymentSettingsStore, http: VendorHttpClient, settings: Settings, clock: Callable[[], datetime]
) -> SenderAdministration:
    """Build what changes the stored senders, and tries them before.

    Raises:
        core.errors.Invalid: the file is wrong, or others may read it; the text says what.
    """
    trial = SenderTrial(MailAddressGuard(settings.allowed_private_hosts), http, clock=clock)
    return SenderAdministration(store, load_notification_settings(settings), trial)


def _build_title_lookup(manifests: Sequence[ModuleManifest]) -> Callable[[str], str]:
    titles = {name: provider.title for name, provider in load_builtin_providers().known.items()} | {
        module.name: module.title for module in manifests
    }
    return lambda service: titles.get(service, service)
