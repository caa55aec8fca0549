"""A 401 of a vendor's API on the path of a call: told once, renewed once, gone through or clearly refused."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.directory.services import set_service
from gateway.catalogue import load_installed_modules
from tests.broker.doctor.doctor_app import Case, DoctorApp, Heard, doctor_app_on
from tests.support.github_double import GitHubDouble, github_double
from tests.support.github_double.world import Token
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Node
from tests.support.vendor_contract import contract
from tests.support.vendor_tokens import VendorTokens

REFRESHES = b"grant_type=refresh_token"


class Alive(dict[str, Token]):
    """GitHub's API knows the tokens that GitHub's OAuth server has given and not ended; never those of `refused`."""

    def __init__(self, vendor: VendorTokens) -> None:
        super().__init__()
        self._vendor = vendor
        self.refused = False

    def get(self, secret: str, default: Any = None) -> Any:
        return Token("mona") if self._vendor.state.alive(secret) and not self.refused else default


@pytest.fixture
async def github() -> AsyncIterator[GitHubDouble]:
    contract("github")  # skips where the description is missing
    async with github_double("/api/v3") as double:
        app = double.world.repository("mona", "app", description="An app")
        double.world.commit(app, {"README.md": b"# App\n"}, "First")
        yield double


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path, github: GitHubDouble) -> AsyncIterator[DoctorApp]:
    host = github.url.split("/")[2]
    modules = [module for module in load_installed_modules().modules if module.name == "github"]
    async with doctor_app_on(database, tmp_path, "github", more=modules, hosts=[host]) as made:
        yield made


@pytest.fixture
async def case(app: DoctorApp, github: GitHubDouble) -> Case:
    """Mona's account at GitHub, connected for the product's own GitHub module."""
    tenant = await app.identity.product.tenant("acme", services=[])
    await app.add_vendor(tenant, "github", "github")
    await set_service(app.identity.product.console, ACTOR, tenant.id, "github", enabled=True)
    settings = f'{{"base_url": "{github.url}"}}'
    await app.execute("UPDATE core.services SET settings = $1::jsonb WHERE module = 'github'", settings)
    made = await app.case("github", tenant=tenant)
    made.module = "github"
    await made.connect()
    github.world.tokens = Alive(made.vendor)
    return made


async def asks(node: Node, case: Case, tool: str = "list_repositories", **params: Any) -> Heard:
    answer = await node.call(case.person.token, "github", tool, params)
    return Heard(answer.failed, answer.text, 0.0)


def refreshes(case: Case) -> int:
    return sum(REFRESHES in one.body for one in case.vendor.asked)


async def test_the_first_401_renews_the_access_and_the_same_call_goes_through(
    app: DoctorApp, case: Case, github: GitHubDouble
) -> None:
    assert "app" in (await asks(app.node, case)).text
    case.vendor.state.grants[0].access.clear()
    before = len(github.seen)
    heard = await asks(app.node, case)
    assert (heard.failed, "app" in heard.text) == (False, True)
    assert len(github.seen) - before == 2, "refused once, then answered"
    assert refreshes(case) == 1
    assert [one["kind"] for one in await case.history()] == ["refreshed", "connected"]
    assert case.vendor.state.reused == 0


async def test_many_calls_with_one_refused_token_cost_one_refresh(app: DoctorApp, case: Case) -> None:
    """Two gateways, each with a broker of its own, and two tools of each; GitHub forgives no second refresh."""
    async with app.identity.product.gateway(allowed_private_hosts=app.hosts) as other:
        nodes = (app.node, other)
        tools: tuple[tuple[str, dict[str, str]], ...] = (
            ("list_repositories", {}),
            ("list_commits", {"owner": "mona", "repo": "app"}),
        )
        for node in nodes:
            for tool, params in tools:
                assert not (await asks(node, case, tool, **params)).failed
        case.vendor.state.grants[0].access.clear()
        heard = await asyncio.gather(
            *(asks(node, case, tool, **params) for _ in range(15) for node in nodes for tool, params in tools)
        )
    assert [one.text for one in heard if one.failed] == []
    assert refreshes(case) == 1
    assert case.vendor.state.reused == 0


async def test_a_second_401_is_a_clear_error_and_no_storm(app: DoctorApp, case: Case, github: GitHubDouble) -> None:
    """GitHub's API refuses what GitHub's OAuth server has just given: another token would be refused too."""
    assert not (await asks(app.node, case)).failed
    assert isinstance(github.world.tokens, Alive)
    github.world.tokens.refused = True
    before = len(github.seen)
    first = await asks(app.node, case)
    assert len(github.seen) - before == 2, "never a third time"
    assert "GitHub refuses an access that it has just renewed for your account; try again in" in first.text
    for heard in await asyncio.gather(*(asks(app.node, case) for _ in range(10))):
        assert heard.failed
        assert "try again in" in heard.text
    assert refreshes(case) == 1, "a renewed token that is refused is not renewed again at once"
    assert (await case.account())["status"] == "active", "and nobody is blamed"
    github.world.tokens.refused = False
    assert not (await asks(app.node, case)).failed


async def test_a_grant_that_is_over_is_a_link_in_the_same_call(app: DoctorApp, case: Case) -> None:
    assert not (await asks(app.node, case)).failed
    (grant,) = case.vendor.state.grants
    grant.access.clear()
    grant.dead = True
    heard = await asks(app.node, case)
    assert heard.failed
    assert f"Connect it again at {app.identity.url}/connect/github" in heard.text


async def test_where_no_other_token_can_be_had_one_stray_401_costs_nothing(
    app: DoctorApp, case: Case, github: GitHubDouble
) -> None:
    """An account without refresh token, as of a GitHub OAuth app: a second 401 holds it back, and does not end it."""
    await app.execute("UPDATE vault.accounts SET refresh = NULL, expires_at = NULL")
    github.slow_down(status=401, retry_after=None)
    assert not (await asks(app.node, case)).failed
    assert (await case.account())["status"] == "active"
    case.vendor.state.grants[0].access.clear()
    heard = await asks(app.node, case)
    assert "refuses your account or key just now" in heard.text
    assert f"connect it again at {app.identity.url}/connect/github" in heard.text
    assert (await case.account())["status"] == "active"
    assert (await case.standing())["state"] == "refused"
    assert refreshes(case) == 0
