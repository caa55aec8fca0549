"""ContextForge: one worker, authentication on, its rate limit off, upstreams on loopback allowed."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADMINISTRATOR = "admin@example.com"
PATIENCE = 60.0
SETTINGS = {
    "AUTH_REQUIRED": "true",
    "MCP_CLIENT_AUTH_ENABLED": "true",
    "PLATFORM_ADMIN_EMAIL": ADMINISTRATOR,
    "RATE_LIMITING_ENABLED": "false",
    "TOOL_RATE_LIMIT": "10000000",
    "SSRF_ALLOW_LOCALHOST": "true",
    "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
}


def settings(python: Path, database: str) -> dict[str, str]:
    """Its environment's own part, with fresh secrets; `database` is a libpq URL."""
    made = _output([python, "-m", "mcpgateway.scripts.init_secrets", "--stdout"], {})
    secrets = dict(line.split("=", 1) for line in made.splitlines() if "=" in line and not line.startswith("#"))
    url = database.replace("postgresql://", "postgresql+psycopg://", 1)
    return {**SETTINGS, **secrets, "DATABASE_URL": url}


def administrator_token(python: Path, given: Mapping[str, str]) -> str:
    """A token of its administrator, good for a week."""
    argv = [python, "-m", "mcpgateway.utils.create_jwt_token", "--username", ADMINISTRATOR, "--exp", "10080"]
    return _output([*argv, "--secret", given["JWT_SECRET_KEY"], "--admin"], given).splitlines()[-1]


@dataclass(frozen=True, slots=True)
class Administration:
    """Its REST API."""

    port: int
    token: str

    def register(self, upstream: str) -> str:
        """Have an MCP server's tools served; the path of the new MCP endpoint."""
        server = {"name": "bench", "url": upstream, "transport": "STREAMABLEHTTP", "visibility": "public"}
        made = self._asked("POST", "/gateways", server)
        tools = self._tools(made["id"])
        described = {"name": "bench-server", "description": "bench", "associated_tools": tools}
        served = self._asked("POST", "/servers", {"server": described, "visibility": "public"})
        return f"/servers/{served['id']}/mcp"

    def _tools(self, gateway: str) -> list[str]:
        """It reads the tools of a new server in the background."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            listed = self._asked("GET", "/tools?limit=0&include_inactive=false", None)
            found = listed if isinstance(listed, list) else listed.get("tools") or listed.get("items") or []
            if ours := [
                tool["id"] for tool in found if tool.get("gatewayId", tool.get("compute_gateway_id")) == gateway
            ]:
                return ours
            time.sleep(0.25)
        raise RuntimeError("ContextForge did not read the upstream's tools")

    def _asked(self, method: str, path: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", content, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")


def _output(argv: list[Any], environment: Mapping[str, str]) -> str:
    done = subprocess.run(argv, env={**environment}, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"{argv[2]}: {done.stderr.strip()[-1500:]}")
    return done.stdout
