"""An application on a loopback socket, as the product serves it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from tests.support.http_server import served as served_with


@contextlib.asynccontextmanager
async def served(app: Any) -> AsyncIterator[int]:
    """The port under which `app` answers while the context is open."""
    async with served_with(app) as (_, port):
        yield port
