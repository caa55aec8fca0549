"""Agents of others, as packages of the npm registry: how each is told of MCPist and of its model, and to be quiet.

Each has a home of its own. What reports to its maker, updates itself or looks for more is switched off.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.model_double import ModelDouble
from tests.support.node import NODE
from tests.support.without_network import Ended, NoNetwork

MODEL_PORT = 9911
MODEL = f"http://127.0.0.1:{MODEL_PORT}"
PROMPT = "Remember that Ada likes tea"
KEY = "no-key-of-anybody"


@dataclass(frozen=True, slots=True)
class Started:
    """What to run, where, with which environment."""

    command: list[str]
    environment: dict[str, str]
    folder: Path


@dataclass(frozen=True, slots=True)
class Program:
    """One agent. `prepared(home, node_modules, mcp_url, token)` writes its settings."""

    name: str
    prepared: Callable[[Path, Path, str, str], Started]
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Running:
    """An agent that has ended: what its model was sent, whom it wanted to reach, what it printed."""

    model: ModelDouble
    place: NoNetwork
    ended: Ended


def _environment(home: Path, **more: str) -> dict[str, str]:
    path = f"{NODE.parent}{os.pathsep}{os.defpath}"
    quiet = {"NO_COLOR": "1", "DO_NOT_TRACK": "1", "CI": "1"}
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", **quiet, **more}


def _folders(home: Path, *names: str) -> Path:
    """The agent's working folder; and those in its home."""
    for name in ("work", *names):
        (home / name).mkdir(parents=True)
    return home / "work"


def _claude_code(home: Path, modules: Path, url: str, token: str) -> Started:
    folder = _folders(home)
    server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"mcpist": server}}))
    tools = ",".join(f"mcp__mcpist__{name}" for name in ("call", "batch", "get_module_schema"))
    options = ["--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", tools]
    environment = _environment(
        home,
        ANTHROPIC_BASE_URL=MODEL,
        ANTHROPIC_API_KEY=KEY,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_TELEMETRY="1",
        DISABLE_ERROR_REPORTING="1",
        DISABLE_AUTOUPDATER="1",
    )
    script = modules / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs"
    return Started([str(NODE), str(script), "-p", PROMPT, *options], environment, folder)


CODEX = """
model = "a-model"
model_provider = "double"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false

[model_providers.double]
name = "double"
base_url = "{model}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"

[mcp_servers.mcpist]
url = "{url}"
"""
TOKEN_FROM_ENVIRONMENT = 'bearer_token_env_var = "MCPIST_TOKEN"\n'


def _codex(home: Path, modules: Path, url: str, token: str) -> Started:
    folder = _folders(home, ".codex")
    (home / ".codex" / "config.toml").write_text(CODEX.format(model=MODEL, url=url) + TOKEN_FROM_ENVIRONMENT)
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    environment = _environment(home, MODEL_KEY=KEY, MCPIST_TOKEN=token)
    script = modules / "@openai" / "codex" / "bin" / "codex.js"
    return Started([str(NODE), str(script), "exec", *options, PROMPT], environment, folder)


def _gemini(home: Path, modules: Path, url: str, token: str) -> Started:
    folder = _folders(home, ".gemini")
    settings = {
        "mcpServers": {"mcpist": {"httpUrl": url, "headers": {"Authorization": f"Bearer {token}"}, "trust": True}},
        "model": {"name": "gemini-2.5-pro"},  # without one, it asks another model first which to take
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
    }
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    environment = _environment(
        home,
        GEMINI_API_KEY=KEY,
        GOOGLE_GEMINI_BASE_URL=MODEL,
        GEMINI_TELEMETRY_ENABLED="false",
        GEMINI_CLI_TRUST_WORKSPACE="true",
    )
    script = modules / "@google" / "gemini-cli" / "bundle" / "gemini.js"
    return Started([str(NODE), str(script), "--approval-mode", "yolo", "-p", PROMPT], environment, folder)


CLAUDE_CODE = Program("Claude Code", _claude_code)
CODEX_CLI = Program("Codex", _codex)
GEMINI_CLI = Program("Gemini CLI", _gemini)
PROGRAMS = (CLAUDE_CODE, CODEX_CLI, GEMINI_CLI)
