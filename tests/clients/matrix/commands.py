"""Command lines of the matrix that have no model: one command for each check."""

import json
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.matrix.installed import install_node, node_version
from tests.clients.matrix.plan import TOKEN, VIEWS, planned, url_of
from tests.clients.matrix.product import MatrixProduct
from tests.clients.matrix.room import Room, open_room
from tests.support.node import NODE
from tests.support.without_network import Ended

ASKED = ("list", "resource", "prompt")
SIGN_IN_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Desk:
    """A command line in its room. `token` is None where it signs in."""

    room: Room
    modules: Path
    url: str
    token: str | None


@dataclass(frozen=True, slots=True)
class Command:
    """One command line. `line` are the arguments for a check, None where it has nothing for it, and
    names of tools out of what it printed."""

    name: str
    package: str
    script: str
    line: Callable[[Desk, str, list[Any]], list[str] | None]
    sign_in: Callable[[Desk, "Command"], Awaitable[Ended]]

    @property
    def version(self) -> str:
        return node_version(self.package)

    def install(self) -> None:
        """Raises NotInstalled."""
        install_node()

    async def run(self, desk: Desk, arguments: list[str], seconds: float = 60) -> Ended:
        return await desk.room.run([NODE, desk.modules / self.package / self.script, *arguments], seconds)

    async def drive(self, product: MatrixProduct, folder: Path, auth: str) -> dict[str, Any]:
        """The answers of each view, as `judge` takes them."""
        found: dict[str, Any] = {}
        for view in VIEWS:
            async with open_room(product, folder) as room:
                token = product.token if auth == TOKEN else None
                desk = Desk(room, install_node(), url_of(product.mcp_url, view), token)
                found[view] = await self._drive_view(desk, view)
        return found

    async def _drive_view(self, desk: Desk, view: str) -> dict[str, Any]:
        if not desk.token:
            ended = await self.sign_in(desk, self)
            if ended.code != 0:
                text = f"it has not signed in, and ended with {ended.code}: {ended.out[-700:]} {ended.err[-700:]}"
                return {"connect": {"error": True, "text": text}}
        answers: dict[str, Any] = {}
        for check, given in planned(view):
            line = self.line(desk, check, given)
            if line is None:
                answers[check] = {"unsupported": "nothing for it in the client"}
                continue
            ended = await self.run(desk, line)
            answers[check] = self._read(check, ended)
        return answers

    def _read(self, check: str, ended: Ended) -> dict[str, Any]:
        if check != "list":
            return {"text": f"{ended.out} {ended.err if ended.code else ''}", "error": ended.code != 0, "native": False}
        try:
            told = json.loads(ended.out)
        except ValueError:
            return {"error": True, "text": f"{ended.out[-500:]} {ended.err[-500:]}"}
        told = told.get("result", told)
        return {"names": [tool["name"] for tool in told["tools"]]}


def inspect(desk: Desk, check: str, given: list[Any]) -> list[str] | None:
    header = ["--header", f"Authorization: Bearer {desk.token}"] if desk.token else []
    always = ["--cli", desk.url, "--transport", "http", *header, "--stored-auth-only", "-q", "--format", "json"]
    if check == "list":
        return [*always, "--method", "tools/list"]
    if check == "resource":
        return [*always, "--method", "resources/read", "--uri", given[0]]
    if check == "prompt":
        arguments = [f"{name}={value}" for name, value in given[1].items()]
        return [*always, "--method", "prompts/get", "--prompt-name", given[0], "--prompt-args", *arguments]
    return [*always, "--method", "tools/call", "--tool-name", given[0], "--tool-args-json", json.dumps(given[1])]


async def sign_in_inspector(desk: Desk, command: Command) -> Ended:
    """It wants a terminal to ask for a browser, and prints where that should go."""
    script = desk.modules / command.package / command.script
    line = [str(NODE), str(script), "--cli", desk.url, "--transport", "http", "-q", "--format", "json"]
    line += ["--callback-url", "http://127.0.0.1:3456/callback", "--method", "tools/list"]
    opener = 'sed -u -n "s/.*Please navigate to: //p" | while read -r url; do "$BROWSER" "$url"; break; done'
    said = '"$HOME/said"'
    typed = f"script -qefc {shlex.quote(shlex.join(line))} /dev/null | sed -u 's/\\r$//' | tee {said}"
    end = f"grep -q '\"tools\"' {said} || {{ cat {said}; exit 1; }}"
    text = f"{typed} | {opener}; {end}"
    return await desk.room.run(["/bin/sh", "-c", text], SIGN_IN_SECONDS)


def mcporter(desk: Desk, check: str, given: list[Any]) -> list[str] | None:
    settings = desk.room.home / "mcporter.json"
    if not settings.exists():
        server: dict[str, Any] = {"baseUrl": desk.url}
        server |= {"headers": {"Authorization": f"Bearer {desk.token}"}} if desk.token else {"auth": "oauth"}
        settings.write_text(json.dumps({"mcpServers": {"mcpist": server}, "imports": []}))
    always = ["--config", str(settings)]
    if check == "list":
        return [*always, "list", "mcpist", "--schema", "--json"]
    if check == "resource":
        return [*always, "resource", "mcpist", given[0]]
    if check == "prompt":
        return None
    return [*always, "call", f"mcpist.{given[0]}", "--args", json.dumps(given[1]), "--output", "json"]


async def sign_in_mcporter(desk: Desk, command: Command) -> Ended:
    mcporter(desk, "list", [])
    line = ["--config", str(desk.room.home / "mcporter.json"), "auth", "mcpist"]
    return await command.run(desk, line, SIGN_IN_SECONDS)


COMMANDS = (
    Command(
        "MCP Inspector --cli",
        "@modelcontextprotocol/inspector",
        "clients/launcher/build/index.js",
        inspect,
        sign_in_inspector,
    ),
    Command("mcporter", "mcporter", "dist/cli.js", mcporter, sign_in_mcporter),
)
