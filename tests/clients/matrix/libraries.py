"""The libraries of the matrix: each is driven by a program in its own environment (drivers.py, drivers.mjs)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.matrix.installed import install_node, install_python, node_version, python_version
from tests.clients.matrix.plan import RESOURCE_NAME, TOKEN, VIEWS, planned, url_of
from tests.clients.matrix.product import MatrixProduct
from tests.clients.matrix.room import open_room
from tests.support.node import NODE

DRIVERS = Path(__file__).parent
SECONDS = 400.0


@dataclass(frozen=True, slots=True)
class Library:
    """A library of PyPI (`environment` of package.json) or npm (`package`)."""

    name: str
    driver: str
    environment: str = ""
    package: str = ""

    @property
    def version(self) -> str:
        return python_version(self.environment) if self.environment else node_version(self.package)

    def install(self) -> None:
        """Raises NotInstalled."""
        if self.environment:
            install_python(self.environment)
        else:
            install_node()

    async def drive(self, product: MatrixProduct, folder: Path, auth: str) -> dict[str, Any]:
        """The answers of each view, as `judge` takes them."""
        views = {view: {"url": url_of(product.mcp_url, view), "checks": planned(view)} for view in VIEWS}
        plan = {
            "name": self.name,
            "token": product.token if auth == TOKEN else None,
            "resource_name": RESOURCE_NAME,
            "views": views,
        }
        async with open_room(product, folder) as room:
            file = room.home / "plan.json"
            file.write_text(json.dumps(plan))
            ended = await room.run([*self._program(), self.driver, file], SECONDS)
        found = [json.loads(line) for line in ended.out.splitlines() if line.startswith('["')]
        said = f"it ended with {ended.code}: {ended.out[-500:]} {ended.err[-1500:]}"
        return {view: {"connect": {"error": True, "text": said}} for view in VIEWS} | dict(found)

    def _program(self) -> list[str | Path]:
        if self.environment:
            # -P: the modules beside it have names of packages.
            return [install_python(self.environment), "-P", DRIVERS / "drivers.py"]
        # Node looks for packages from the place of a program.
        program = install_node().with_name("drivers.mjs")
        program.write_text((DRIVERS / "drivers.mjs").read_text("utf-8"))
        return [NODE, program]


LIBRARIES = (
    Library("mcp (Python), 2025-11-25", "mcp_1", "mcp 1"),
    Library("mcp (Python), 2026-07-28", "mcp_2_modern", "mcp 2"),
    Library("mcp 2 (Python), 2025-11-25", "mcp_2_legacy", "mcp 2"),
    Library("FastMCP", "fastmcp", "fastmcp"),
    Library("langchain-mcp-adapters", "langchain", "langchain-mcp-adapters"),
    Library("openai-agents (Python)", "openai_agents", "openai-agents"),
    Library("pydantic-ai", "pydantic_ai", "pydantic-ai"),
    Library("mcp-use", "mcp_use", "mcp-use"),
    Library("llama-index-tools-mcp", "llama_index", "llama-index"),
    Library("google-adk", "google_adk", "google-adk"),
    Library("strands-agents", "strands", "strands-agents"),
    Library("smolagents", "smolagents", "smolagents"),
    Library("agno", "agno", "agno"),
    Library("@modelcontextprotocol/sdk", "sdk_v1", package="@modelcontextprotocol/sdk"),
    Library("@modelcontextprotocol/client, 2026-07-28", "sdk_v2_modern", package="@modelcontextprotocol/client"),
    Library("@modelcontextprotocol/client, 2025-11-25", "sdk_v2_handshake", package="@modelcontextprotocol/client"),
    Library("@langchain/mcp-adapters", "langchain", package="@langchain/mcp-adapters"),
    Library("openai-agents (JS)", "openai_agents", package="@openai/agents"),
    Library("Vercel @ai-sdk/mcp", "ai_sdk", package="@ai-sdk/mcp"),
    Library("@mastra/mcp", "mastra", package="@mastra/mcp"),
    Library("mcp-remote", "mcp_remote", package="mcp-remote"),
    Library("supergateway", "supergateway", package="supergateway"),
)
