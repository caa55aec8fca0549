"""The peers: how each is installed, started and asked. One worker each, with authentication, as they come."""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.lab import Lab
from tests.bench.peers.contextforge import Administration, administrator_token, settings
from tests.bench.peers.install import Recipe
from tests.bench.spawn import free_port, module

PROXY = Path(__file__).with_name("fastmcp_proxy.py")
LITELLM = """general_settings: {{master_key: {key}}}
mcp_servers:
  bench: {{url: "{upstream}", transport: http, auth_type: none, allow_all_keys: true}}
"""


@dataclass(frozen=True, slots=True)
class Running:
    """A peer that answers; `pids` are the processes that work for it."""

    port: int
    path: str
    token: str
    tool: str
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Peer:
    """`title` names it in the tables, with what it runs on; `promised` ones are in P2."""

    title: str
    package: str
    recipe: Recipe
    start: Callable[[Lab, Path, str], Running]
    promised: bool = True


def contextforge(lab: Lab, python: Path, upstream: str) -> Running:
    """On a PostgreSQL like the product's own; without Redis."""
    argv = module("servers.database", home=lab.folder / "contextforge-database")
    database = lab.start("contextforge-database", argv)
    given = {**_plain(), **settings(python, database.said["url"])}
    port = free_port()
    argv = [str(python.with_name("mcpgateway")), "--host", "127.0.0.1", "--port", str(port), "--no-access-log"]
    running = lab.listen("contextforge", argv, port, given)
    token = administrator_token(python, given)
    path = Administration(port, token).register(upstream)
    return Running(port, path, token, "bench-echo", (running.pid, database.pid))


def fastmcp(lab: Lab, python: Path, upstream: str) -> Running:
    """Its proxy for one upstream, stateless."""
    port, token = free_port(), secrets.token_hex(16)
    running = lab.listen("fastmcp", [str(python), "-P", str(PROXY), upstream, str(port), token], port, _plain())
    return Running(port, "/mcp", token, "echo", (running.pid,))


def litellm(lab: Lab, python: Path, upstream: str) -> Running:
    """Without a database; the one key is the master key."""
    port, key = free_port(), f"sk-{secrets.token_hex(16)}"
    config = lab.folder / "litellm.yaml"
    config.write_text(LITELLM.format(key=key, upstream=upstream))
    argv = [str(python.with_name("litellm")), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
    running = lab.listen("litellm", [*argv, "--num_workers", "1"], port, {**_plain(), **quiet})
    return Running(port, "/mcp", key, "bench-echo", (running.pid,))


PEERS = (
    Peer(
        "ContextForge on PostgreSQL",
        "mcp-contextforge-gateway",
        Recipe(
            "contextforge",
            ("mcp-contextforge-gateway==1.1.0", "psycopg[binary]", "hiredis"),
            ((3, 12), (3, 13)),
        ),
        contextforge,
    ),
    Peer(
        "FastMCP proxy",
        "fastmcp",
        Recipe("fastmcp", ("fastmcp>=4,<5", "uvloop", "httptools"), ((3, 11), (3, 12), (3, 13))),
        fastmcp,
    ),
    Peer(
        "LiteLLM",
        "litellm",
        Recipe("litellm", ("litellm[proxy]==1.106.2",), ((3, 11), (3, 12), (3, 13))),
        litellm,
        promised=False,
    ),
)


def _plain() -> dict[str, str]:
    """Our environment without what is meant for Python here or for MCPist."""
    ours = ("MCPIST_", "PYTHON", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
