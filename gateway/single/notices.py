"""People are told when an account needs them, by the channels that notices.toml names."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from broker.notices.mail import Mail
from broker.notices.settings import FILE, load
from broker.notices.teller import Channel, Teller
from broker.notices.webhook import Webhook
from broker.providers.catalogue import own_providers
from broker.vendor_oauth.wire import VendorHttp
from core.outbound.addresses import AllowedAddresses
from core.settings import Settings
from gateway.catalogue import Catalogue
from gateway.single.trust_zone import TrustZone


@contextlib.asynccontextmanager
async def notices(zone: TrustZone, settings: Settings, catalogue: Catalogue) -> AsyncGenerator[None]:
    """Tell, until the block is left. Without a file nobody is told, and what would have been is closed.

    Raises:
        core.errors.Invalid: the file is wrong, or others may read it; the text says what.
    """
    chosen = load(settings.notices_file or settings.home / FILE)
    async with contextlib.AsyncExitStack() as stack:
        channels: list[Channel] = []
        if chosen.mail is not None:
            channels.append(Mail(chosen.mail))
        if chosen.webhook is not None:
            http = VendorHttp(AllowedAddresses.of(settings.allowed_private_hosts))
            await http.open()
            stack.push_async_callback(http.close)
            channels.append(Webhook(chosen.webhook, http))
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
