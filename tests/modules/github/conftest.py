"""A GitHub with two people and their repositories, and a caller for each of them."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from modules.github import MODULE
from tests.support.github_double import GitHubDouble, Repository, github_double
from tests.support.plain_vendor import VendorCaller, vendor_callers


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
