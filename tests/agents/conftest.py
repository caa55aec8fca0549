"""The product in a process of its own, and agents that reach it, a double of their model, and nothing else."""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.agents.programs import MODEL_PORT, Program, Running
from tests.clients.conftest import gateway, product_environment
from tests.clients.story import Gateway
from tests.support.model_double import ModelDouble, Wish, serving
from tests.support.node import require_node_packages
from tests.support.running_product import command
from tests.support.without_network import led_to, missing, no_network

__all__ = ["gateway", "product_environment"]

PACKAGES = Path(__file__).parent
Run = Callable[[Program, Wish, str], AbstractAsyncContextManager[Running]]


@pytest.fixture(scope="session")
def packages() -> Path:
    """The installed programs; tests that ask for them are skipped where npm or a place without network is missing."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"AGENTS WERE NOT TRIED: there is no way to keep them from the network: {reason}")
    return require_node_packages(PACKAGES)


@pytest.fixture
async def short_token(product_environment: dict[str, str], gateway: Gateway) -> str:
    """A token whose client is said to show its model the structured part."""
    home, port = Path(product_environment["MCPIST_HOME"]), int(product_environment["MCPIST_PORT"])
    return (await command(home, port, "token", "create", "--name", "agent", "--tool-result-format", "short"))["token"]


@pytest.fixture
def run(gateway: Gateway, packages: Path, tmp_path: Path) -> Run:
    """``async with run(program, wish, token) as running``: the agent has run to its end."""

    @contextlib.asynccontextmanager
    async def running(program: Program, wish: Wish, token: str) -> AsyncIterator[Running]:
        double, own = ModelDouble(wish), Path(tempfile.mkdtemp(dir=tmp_path))
        port = urlsplit(gateway.mcp_url).port
        assert port is not None
        product, model = own / "product.sock", own / "model.sock"
        started = program.prepared(own / "home", packages / "node_modules", gateway.mcp_url, token)
        async with (
            led_to(port, product),
            serving(double.application(), model),
            no_network({port: product, MODEL_PORT: model}, own) as place,
        ):
            ended = await place.run(started.command, started.environment, started.folder, program.seconds)
            yield Running(double, place, ended)

    return running
