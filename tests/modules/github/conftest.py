"""A GitHub with two people and their repositories, and a caller for each of them."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from modules.github import MODULE
from tests.support.github_double import GitHubDouble, Repository, github_double
from tests.support.module_app import ModuleApp, open_module_app
from tests.support.plain_vendor import VendorCaller, vendor_callers
from tests.support.postgres import DatabaseServer


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


async def scene_on(double: GitHubDouble, callers: Callable[..., VendorCaller]) -> GitHubApp:
    """The app on a double."""
    world = double.world
    for login in ("mona", "hubot", "eve"):
        world.token(f"{login}-token", login)
    app = world.repository("mona", "app", description="The app", writers={"hubot"})
    world.commit(app, {"README.md": "# アプリ\n".encode(), "src/main.py": b"print('one')\n"}, "First")
    secret = world.repository("mona", "secret", private=True)
    world.commit(secret, {"plan.txt": b"world peace"}, "Plan")
    return GitHubApp(double, app, secret, lambda token: callers(MODULE, double.url, token))


@pytest.fixture
async def app() -> AsyncIterator[GitHubApp]:
    async with github_double() as double, vendor_callers() as callers:
        yield await scene_on(double, callers)


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
    async with github_double() as double, open_module_app(database_server, folder, MODULE, double.url) as product:
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
