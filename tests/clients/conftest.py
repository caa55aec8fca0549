"""What the client tests run against: the product in a process of its own. Everything else here knows these fixtures."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.deployment import ClientsDeployment, running_deployment
from tests.clients.story import Gateway, StdioCommand
from tests.support.node import require_node_packages
from tests.support.running_product import (
    MCPIST,
    START_SECONDS,
    data_folder,
    environment,
    free_port,
    log_of,
    read_ready,
)


@pytest.fixture(scope="session")
def product_environment() -> Iterator[dict[str, str]]:
    """The environment of one product's processes, with a data folder that ends with the session."""
    with data_folder() as home:
        yield environment(home, free_port())


@pytest.fixture(scope="session")
def gateway(product_environment: dict[str, str]) -> Iterator[Gateway]:
    """`mcpist up --json`."""
    command, log = [str(MCPIST), "up", "--json"], log_of(Path(product_environment["MCPIST_HOME"]))
    # Started as users start it, unlike the other tests' products.
    with subprocess.Popen(command, env=product_environment, stdout=subprocess.PIPE, stderr=log) as server:
        os.close(log)
        assert server.stdout is not None
        line = server.stdout.readline()
        ready = read_ready(line)
        yield Gateway(ready["mcp_url"], ready["api_token"])
        server.send_signal(signal.SIGTERM)
        server.wait(START_SECONDS)


@pytest.fixture(scope="session")
def stdio_command(product_environment: dict[str, str], gateway: Gateway) -> StdioCommand:
    """`mcpist stdio` beside a running product: it joins it."""
    return StdioCommand(str(MCPIST), ["stdio"], product_environment)


@pytest.fixture(scope="session")
def node_packages() -> Path:
    """The folder with the Node clients; tests that ask for it are skipped where npm could not install them."""
    return require_node_packages()


@pytest.fixture(scope="session")
def deployment() -> Iterator[ClientsDeployment]:
    """A product that clients sign in to."""
    with running_deployment() as deployment:
        yield deployment
