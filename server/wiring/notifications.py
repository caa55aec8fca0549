"""Notifications about accounts that need a person, by the channels that notices.toml names."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence

from broker.notifications.dispatcher import NotificationChannel, NotificationDispatcher
from broker.notifications.mail import MailChannel
from broker.notifications.webhook import WebhookChannel
from broker.providers.catalogue import load_builtin_providers
from core.concurrency.background import run_in_background
from core.config.settings import Settings
from core.module_manifest import ModuleManifest
from server.start_files import load_notification_settings
from server.wiring.broker import BrokerRuntime


@contextlib.asynccontextmanager
async def run_notifications(
    zone: BrokerRuntime, settings: Settings, manifests: Sequence[ModuleManifest]
) -> AsyncGenerator[None]:
    """Send notifications until the block is left. Without a file none is sent, and those that are due are closed.

    Raises:
        core.errors.Invalid: the file is wrong, or others may read it; the text says what.
    """
    channel_settings = load_notification_settings(settings)
    channels: list[NotificationChannel] = []
    if channel_settings.mail is not None:
        channels.append(MailChannel(channel_settings.mail))
    if channel_settings.webhook is not None:
        channels.append(WebhookChannel(channel_settings.webhook, zone.oauth_http))
    dispatcher = NotificationDispatcher(
        zone.database, channels, _build_title_lookup(manifests), settings.public_url, clock=zone.clock
    )
    async with run_in_background("sending notifications", dispatcher.run()):
        yield


def _build_title_lookup(manifests: Sequence[ModuleManifest]) -> Callable[[str], str]:
    titles = {name: provider.title for name, provider in load_builtin_providers().known.items()} | {
        module.name: module.title for module in manifests
    }
    return lambda service: titles.get(service, service)
