"""Dependencies that all routes of pages and identity endpoints share. A route is given special ones beside them::

def routes(parts: WebDependencies, sign_in: SignInService, sessions: Sessions) -> list[Route]: ...
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from broker.identity.settings import IdentitySettings
from broker.identity.sign_in_state import ACCOUNT_PATH
from broker.web.cookies import Cookies
from broker.web.pages import Pages
from core.config.settings import Settings
from core.http.allowed_hosts import AllowedHosts
from core.http.trusted_proxies import TrustedProxies


@dataclass(frozen=True, slots=True)
class WebDependencies:
    """Build it with :func:`build_web_dependencies`. `get_home_path` returns where somebody begins who asks for nothing
    in particular.
    """

    settings: Settings
    identity: IdentitySettings
    clock: Callable[[], datetime]
    pages: Pages
    cookies: Cookies
    proxies: TrustedProxies
    hosts: AllowedHosts
    get_home_path: Callable[[], str]

    @property
    def issuer(self) -> str:
        """The authorization server's name, which is the public URL."""
        return self.settings.public_url

    def build_url(self, path: str) -> str:
        """The public URL of a path of ours."""
        return self.settings.public_url + path


def get_account_path() -> str:
    """Return the path of the account pages, where people begin who have no console."""
    return ACCOUNT_PATH


def build_web_dependencies(
    settings: Settings,
    identity: IdentitySettings,
    clock: Callable[[], datetime],
    *,
    get_home_path: Callable[[], str] = get_account_path,
) -> WebDependencies:
    """Build the shared dependencies from the settings."""
    return WebDependencies(
        settings,
        identity,
        clock,
        Pages(),
        Cookies(settings.public_url),
        TrustedProxies(settings.trusted_proxies),
        AllowedHosts(settings.public_url),
        get_home_path,
    )
