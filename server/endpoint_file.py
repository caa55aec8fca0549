"""Endpoint file of a data folder: the address where its MCPist listens, readable by its own user only."""

import contextlib
import json
import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

ENDPOINT_FILE = "endpoint.json"
PROBE_TIMEOUT = 3.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running product."""

    mcp_url: str
    pid: int


def find_running_server(home: Path) -> RunningServer | None:
    """Return the endpoint of the running product; None where none runs, or a killed one left its file behind."""
    try:
        said: Any = json.loads((home / ENDPOINT_FILE).read_text())
        found = RunningServer(str(said["mcp_url"]), int(said["pid"]))
        os.kill(found.pid, 0)
    except PermissionError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


@contextlib.contextmanager
def announce_server(home: Path, mcp_url: str) -> Generator[None]:
    """Say where the product of `home` listens, for as long as the block lasts."""
    path = home / ENDPOINT_FILE
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"mcp_url": mcp_url, "pid": os.getpid()}, file)
    temporary.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


async def is_answering(mcp_url: str, path: str) -> bool:
    """Check whether the product behind `mcp_url` answers 200 to GET `path`, such as ``/readyz``."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=PROBE_TIMEOUT)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(urljoin(mcp_url, path), allow_redirects=False) as response,
        ):
            return response.status == 200
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
