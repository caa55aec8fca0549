"""Endpoint file of a data folder: the running product's addresses and operator credential, for its own user alone."""

import contextlib
import json
import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from core.secret import Secret
from server.operator_access import OperatorAccess

ENDPOINT_FILE = "endpoint.json"
PROBE_TIMEOUT = 3.0
MAX_ANSWER, MAX_REASON = 64 * 1024, 500
"""Bytes that are read of an answer, and characters that are told of it."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running product. `operator` is None where its admin API has no address for this machine alone."""

    mcp_url: str
    pid: int
    operator: OperatorAccess | None = None


def find_running_server(home: Path) -> RunningServer | None:
    """Return the endpoint of the running product; None where none runs, or a killed one left its file behind."""
    try:
        document: Any = json.loads((home / ENDPOINT_FILE).read_text())
        server = RunningServer(str(document["mcp_url"]), int(document["pid"]), _parse_operator(document))
        os.kill(server.pid, 0)
        noted = str(document.get("started", ""))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    started = _read_start_time(server.pid)
    return server if not noted or not started or noted == started else None


def _read_start_time(pid: int) -> str:
    """Read when a process was started, in ticks since the start of the machine (Linux, proc(5)); "" where it cannot be
    known. Numbers of processes come again soon in a container, where each start begins with the same ones."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (OSError, UnicodeDecodeError):
        return ""
    return status.rpartition(")")[2].split()[19]


def _parse_operator(document: dict[str, Any]) -> OperatorAccess | None:
    """Return the operator's access; None in the file of an older product, or of one that is not for this machine."""
    if "operator_url" not in document:
        return None
    return OperatorAccess(str(document["operator_url"]), Secret(str(document["operator_token"])))


@contextlib.contextmanager
def announce_server(home: Path, mcp_url: str, operator: OperatorAccess | None = None) -> Generator[None]:
    """Say where the product of `home` listens, for as long as the block lasts."""
    path = home / ENDPOINT_FILE
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)  # a killed product left it, perhaps with another mode
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    document = {"mcp_url": mcp_url, "pid": os.getpid(), "started": _read_start_time(os.getpid())}
    if operator is not None:
        document |= {"operator_url": operator.url, "operator_token": operator.token.reveal()}
    with os.fdopen(descriptor, "w") as file:
        json.dump(document, file)
    temporary.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


async def is_answering(mcp_url: str, path: str) -> bool:
    """Check whether the product behind `mcp_url` answers 200 to GET `path`, such as ``/healthz``."""
    answer = await _fetch(mcp_url, path)
    return answer is not None and answer[0] == 200


async def find_unready_reason(mcp_url: str) -> str:
    """Find why the product behind `mcp_url` is not ready: the parts that do not serve; empty if it is."""
    answer = await _fetch(mcp_url, "/readyz")
    if answer is None:
        return f"no answer within {PROBE_TIMEOUT:.0f} seconds"
    status, body = answer
    if status == 200:
        return ""
    try:
        parts = [
            f"{part['name']} is {part['state']}" for part in json.loads(body)["components"] if part["state"] != "up"
        ]
    except (ValueError, KeyError, TypeError):
        parts = []
    return ", ".join(parts)[:MAX_REASON] or f"status {status}"


async def _fetch(mcp_url: str, path: str) -> tuple[int, bytes] | None:
    """Fetch `path` below the origin of `mcp_url`: status and body, or None where nothing comes in time."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=PROBE_TIMEOUT)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(urljoin(mcp_url, path), allow_redirects=False) as response,
        ):
            return response.status, await response.content.read(MAX_ANSWER)
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None
