"""What the client tests run against. Everything else in this folder knows only these fixtures."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.story import Gateway, StdioCommand
from tests.support.node import require_node_packages

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def gateway() -> Iterator[Gateway]:
    """Temporary: a toy server of the SDK; the product takes its place."""
    command = [sys.executable, "-m", "tests.clients.toy_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        yield Gateway(ready["mcp_url"], ready["api_token"])
        server.terminate()


@pytest.fixture(scope="session")
def stdio_command() -> StdioCommand:
    """The command that a client starts to reach the gateway over standard input and output; it skips until then."""
    pytest.skip("`mcpist stdio` does not exist yet")


@pytest.fixture(scope="session")
def node_packages() -> Path:
    """The folder with the Node clients; tests that ask for it are skipped where npm could not install them."""
    return require_node_packages()
