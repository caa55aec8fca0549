"""People are told when an account needs them, by the channels that notices.toml names."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from broker.notices.mail import Mail
from broker.notices.teller import Channel, Teller
from broker.notices.webhook import Webhook
from broker.providers.catalogue import own_providers
from core.settings import Settings
from gateway.catalogue import Catalogue
from gateway.single.start_files import notice_settings
from gateway.single.trust_zone import TrustZone


@contextlib.asynccontextmanager
async def notices(zone: TrustZone, settings: Settings, catalogue: Catalogue) -> AsyncGenerator[None]:
    """Tell, until the block is left. Without a file nobody is told, and what would have been is closed.

    Raises:
        core.errors.Invalid: the file is wrong, or others may read it; the text says what.
    """
    chosen = notice_settings(settings)
    channels: list[Channel] = []
    if chosen.mail is not None:
        channels.append(Mail(chosen.mail))
    if chosen.webhook is not None:
        channels.append(Webhook(chosen.webhook, zone.http))
    teller = Teller(zone.database, channels, _titles(catalogue), settings.public_url, clock=zone.clock)
    telling = asyncio.create_task(teller.run(), name="notices")
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.wait([telling])


def _titles(catalogue: Catalogue) -> Callable[[str], str]:
    titles = {name: provider.title for name, provider in own_providers().known.items()} | {
        module.name: module.title for module in catalogue.modules
    }
    return lambda service: titles.get(service, service)
