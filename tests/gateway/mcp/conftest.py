"""The transport runs on uvloop, as the product does."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import uvloop

from tests.gateway.mcp.client import Client
from tests.gateway.mcp.toys import Toys


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, Callable[[], Any]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
def toys() -> Toys:
    """Handlers and the gate in front of them, with their memories."""
    return Toys()


@pytest.fixture
def client(toys: Toys) -> Client:
    """A client of an endpoint with the toy handlers, without a socket."""
    return Client(toys.endpoint())
