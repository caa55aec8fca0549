"""A GitHub with two people and their repositories, and a caller for each of them."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import pytest

from core.http.credential_headers import BEARER, CredentialScheme
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.vendor_connection import ConnectionOwner
from modules.github import MODULE
from modules.kit import VendorSettings
from tests.support.github_double import GitHubDouble, Repository, github_double
from tests.support.plain_vendor import VendorCaller, vendor_callers
from tests.support.session_vendor import SessionVendor


@dataclass(frozen=True)
class GitHubApp:
    """mona owns the public `app` and the private `secret`; hubot may write to `app`; eve may nothing."""

    github: GitHubDouble
    app: Repository
    secret: Repository
    caller: Callable[[str], VendorCaller]

    @property
    def mona(self) -> VendorCaller:
        return self.caller("mona-token")

    @property
    def hubot(self) -> VendorCaller:
        return self.caller("hubot-token")

    @property
    def eve(self) -> VendorCaller:
        return self.caller("eve-token")


@dataclass(frozen=True)
class Kept:
    """A credential that is always the same one."""

    access_token: Secret
    origins: tuple[str, ...]
    version: int = 1
    scheme: CredentialScheme = BEARER

    async def lease(self, rejected_version: int | None = None) -> "Kept":
        return self


async def scene_on(double: GitHubDouble, callers: Callable[..., VendorCaller]) -> GitHubApp:
    """The app on a double."""
    world = double.world
    for login in ("mona", "hubot", "eve"):
        world.token(f"{login}-token", login)
    app = world.repository("mona", "app", description="The app", writers={"hubot"})
    world.commit(app, {"README.md": "# アプリ\n".encode(), "src/main.py": b"print('one')\n"}, "First")
    secret = world.repository("mona", "secret", private=True)
    world.commit(secret, {"plan.txt": b"world peace"}, "Plan")
    return GitHubApp(double, app, secret, lambda token: callers(MODULE, double.url, token, double.hosts))


@pytest.fixture
async def app() -> AsyncIterator[GitHubApp]:
    async with github_double() as double, vendor_callers() as callers:
        yield await scene_on(double, callers)


@pytest.fixture
async def session_app() -> AsyncIterator[GitHubApp]:
    """The app on the product's own vendor session and an Enterprise Server."""
    async with github_double("/api/v3") as double:
        sessions = VendorClientFactory(AllowedAddresses.from_hosts([double.url.split("/")[2]]), chance=lambda: 0.0)
        await sessions.open()

        def caller(module: object, base_url: str, secret: str, hosts: Mapping[str, str]) -> VendorCaller:
            assert MODULE.vendor is not None
            further = {f"{name}_url": url for name, url in hosts.items()}
            settings = MODULE.vendor.settings.model_validate({"base_url": base_url, **further})
            assert isinstance(settings, VendorSettings)
            lease = Kept(Secret(secret), (double.url.removesuffix("/api/v3"),))
            owner = ConnectionOwner(secret, secret)
            return VendorCaller(MODULE, SessionVendor(sessions, MODULE.vendor, settings, lease, owner))

        yield await scene_on(double, caller)
        await sessions.close()
