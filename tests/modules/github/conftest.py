"""A GitHub with two people and their repositories, and a caller for each of them."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from core.http.credential_headers import BEARER, CredentialScheme
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.vendor_connection import ConnectionOwner
from modules.github import MODULE
from modules.kit import VendorSettings
from tests.support.github_double import GitHubDouble, Repository, github_double
from tests.support.module_app import ModuleApp, open_module_app
from tests.support.plain_vendor import VendorCaller, vendor_callers
from tests.support.postgres import DatabaseServer
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


@dataclass(frozen=True)
class Hub:
    """A started product before a GitHub: ada is connected as mona, eve as eve. Each test makes its own repositories."""

    github: GitHubDouble
    product: ModuleApp

    async def call(self, tool_name: str, /, **params: Any) -> Any:
        """Call a tool as mona, which works."""
        answer = await self.product.call(tool_name, **params)
        assert not answer.failed, answer.text
        return answer.value

    async def refuse(self, tool_name: str, /, **params: Any) -> str:
        """Call a tool as mona, which fails, and return the text."""
        answer = await self.product.call(tool_name, **params)
        assert answer.failed, answer.text
        return answer.text


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def hub(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hub]:
    folder = tmp_path_factory.mktemp("github")
    async with github_double("/api/v3") as double:  # below which the file store is not
        further: dict[str, Any] = {f"{name}_url": url for name, url in double.hosts.items()}
        async with open_module_app(database_server, folder, MODULE, double.url, **further) as product:
            for login in ("mona", "hubot", "eve"):
                double.world.token(f"{login}-token", login)
            await product.connect(product.ada, "mona-token")
            await product.connect(product.eve, "eve-token")
            yield Hub(double, product)


@pytest.fixture
def home(hub: Hub) -> Iterator[Repository]:
    """A repository of its own, to which hubot may write, with two files on `main`."""
    hub.github.wrong.clear()
    hub.github.next_answers.clear()
    world = hub.github.world
    made = world.repository("mona", f"app-{world.id()}", description="The app", writers={"hubot"})
    world.commit(made, {"README.md": "# アプリ\n".encode(), "src/main.py": b"print('one')\n"}, "First")
    yield made
    assert hub.github.wrong == []


def named(home: Repository) -> dict[str, str]:
    """The parameters that name a repository."""
    return {"owner": home.owner, "repo": home.name}
