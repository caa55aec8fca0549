"""What every route of the pages and endpoints of identity needs. What only some need, they are given beside it::

def routes(parts: WebParts, sign_in: SignIn, sessions: Sessions) -> list[Route]: ...
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from broker.identity.settings import IdentitySettings
from broker.web.cookies import Cookies
from broker.web.pages import Pages
from core.hosts import Hosts
from core.proxies import TrustedProxies
from core.settings import Settings


@dataclass(frozen=True, slots=True)
class WebParts:
    """Build it with :func:`web_parts`."""

    settings: Settings
    identity: IdentitySettings
    clock: Callable[[], datetime]
    pages: Pages
    cookies: Cookies
    proxies: TrustedProxies
    hosts: Hosts

    @property
    def issuer(self) -> str:
        """The authorization server's name, which is the public URL."""
        return self.settings.public_url

    def url(self, path: str) -> str:
        """The public URL of a path of ours."""
        return self.settings.public_url + path


def web_parts(settings: Settings, identity: IdentitySettings, clock: Callable[[], datetime]) -> WebParts:
    """What the settings say, put together."""
    return WebParts(
        settings,
        identity,
        clock,
        Pages(),
        Cookies(settings.public_url),
        TrustedProxies(settings.trusted_proxies),
        Hosts(settings.public_url),
    )
