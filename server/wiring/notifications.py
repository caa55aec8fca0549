"""People are told when an account needs them, by the channels that notices.toml names."""

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
    """Tell, until the block is left. Without a file nobody is told, and what would have been is closed.

    Raises:
        core.errors.Invalid: the file is wrong, or others may read it; the text says what.
    """
    chosen = load_notification_settings(settings)
    channels: list[NotificationChannel] = []
    if chosen.mail is not None:
        channels.append(MailChannel(chosen.mail))
    if chosen.webhook is not None:
        channels.append(WebhookChannel(chosen.webhook, zone.oauth_http))
    teller = NotificationDispatcher(
        zone.database, channels, _build_title_lookup(manifests), settings.public_url, clock=zone.clock
    )
    async with run_in_background("sending notifications", teller.run()):
        yield


def _build_title_lookup(manifests: Sequence[ModuleManifest]) -> Callable[[str], str]:
    titles = {name: provider.title for name, provider in load_builtin_providers().known.items()} | {
        module.name: module.title for module in manifests
    }
    return lambda service: titles.get(service, service)
