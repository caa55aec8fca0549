"""The agents of the matrix: command lines with a model of ours, which asks for one tool after another."""

import json
import re
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agents.programs import CODEX, TOKEN_FROM_ENVIRONMENT
from tests.clients.matrix.installed import install_node, node_version
from tests.clients.matrix.plan import (
    META,
    PROMPT,
    PROMPT_TEXT,
    RESOURCE,
    RESOURCE_TEXT,
    TOKEN,
    VIEWS,
    planned,
    url_of,
)
from tests.clients.matrix.product import MatrixProduct
from tests.clients.matrix.room import MODEL_URL, Room, open_room
from tests.support.model_double import DONE, ModelDouble, Wish
from tests.support.node import NODE
from tests.support.without_network import Ended

KEY = "no-key-of-anybody"
ASK = "Greet Ada"
START_SECONDS, TERMINAL_SECONDS = 8, 120
NOT_A_CALL = ("list", "resource", "prompt")
ANSWERED = f"""grep -q '{DONE.split()[-1]}' "$HOME/said" """
Answer = dict[str, Any]


class SignInFailed(Exception):
    """The client has not signed in; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent in its room. `token` is None where it signs in."""

    room: Room
    modules: Path
    url: str
    token: str | None

    @property
    def header(self) -> str:
        return f"Bearer {self.token}"

    @property
    def folder(self) -> Path:
        folder = self.room.home / "work"
        folder.mkdir(exist_ok=True)
        return folder

    def write(self, path: str, text: str) -> None:
        file = self.room.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


Ask = Callable[[Seat, str], Awaitable[Ended]]


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. `settle` writes its settings and signs in; `ask` gives it a prompt. `typed` is what a person types to
    attach the resource or to use the prompt, and `attach` how, where `ask` attaches none; `read` the tool by which its
    model reads a resource. `preface` are wishes that come before those for the tools of the view; `wrap` puts those
    into the call of another tool. `untried` are checks that it may have something for, with the reason."""

    name: str
    package: str
    settle: Callable[[Seat], Awaitable[None]]
    ask: Ask
    typed: dict[str, str]
    read: Wish | None = None
    preface: Callable[[list[str]], tuple[Wish, ...]] = lambda names: ()
    wrap: Callable[[Wish], Wish] = lambda wish: wish
    attach: Ask | None = None
    untried: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def version(self) -> str:
        return node_version(self.package)

    def install(self) -> None:
        """Raises NotInstalled."""
        install_node()

    async def drive(self, product: MatrixProduct, folder: Path, auth: str) -> dict[str, Any]:
        """The answers of each view, as `judge` takes them."""
        return {view: await self._drive_view(product, folder, view, auth) for view in VIEWS}

    async def _drive_view(self, product: MatrixProduct, folder: Path, view: str, auth: str) -> dict[str, Any]:
        checks = [(check, given) for check, given in planned(view) if check not in NOT_A_CALL]
        if view != META:  # its model cannot ask for what is not listed
            checks = [(check, given) for check, given in checks if check not in ("hidden", "made_up")]
        wishes = [Wish(*given) for _, given in checks]
        before = self.preface([wish.tool for wish in wishes])
        reads = () if self.read is None else (self.read,)
        model = ModelDouble(None)
        async with open_room(product, folder, model) as room:
            token = product.token if auth == TOKEN else None
            seat = Seat(room, install_node(), url_of(product.mcp_url, view), token)
            try:
                await self.settle(seat)
            except SignInFailed as error:
                return {"connect": {"error": True, "text": str(error)}}
            model.wish, *then = [*before, *map(self.wrap, wishes), *reads]
            model.then = tuple(then)
            ended = await self.ask(seat, ASK)
            answers: dict[str, Any] = {"list": self._listed(model)}
            given = model.results[len(before) :]
            asked: list[str] = [check for check, _ in checks] + (["resource"] if reads else [])
            for number, check in enumerate(asked):
                said = f"no result; it ended with {ended.code}: {ended.out[-400:]} {ended.err[-600:]}"
                text = str(given[number]) if number < len(given) else said
                answers[check] = {"text": text, "native": False}
            if view != META:
                answers |= {"hidden": {"not_listed": True}, "made_up": {"not_listed": True}}
            for check in ("resource", "prompt"):
                if check in self.typed:
                    answers[check] = await self._typed(seat, model, check)
                elif check in self.untried:
                    answers[check] = {"untried": self.untried[check]}
                elif check not in answers:
                    answers[check] = {"unsupported": "nothing for it in the client"}
            return answers

    def _listed(self, model: ModelDouble) -> Answer:
        """What of ours its model has heard of."""
        text = json.dumps(model.asked[:1])  # some show names first, and tools when the model wants them
        found = [re.match(r".*mcpist(?:__|_|/|-)+(\w+)$", name) for name in model.offered]
        names = {one[1] for one in found if one} | set(re.findall(r"\bmcp__mcpist__(\w+)", text))
        return {"names": sorted(names)}

    async def _typed(self, seat: Seat, model: ModelDouble, check: str) -> Answer:
        """What reaches the model of what a person types."""
        model.wish, model.then = None, ()
        model.asked.clear()
        typed = self.typed[check]
        ask = self.ask if check == "prompt" or self.attach is None else self.attach
        ended = await ask(seat, typed)
        heard = json.dumps(model.asked, ensure_ascii=False)
        if any(text in heard for text in (RESOURCE_TEXT, PROMPT_TEXT)):
            return {"text": heard}
        said = "" if model.asked else f"; nothing was asked: {ended.out[-500:]} {ended.err[-500:]}"
        return {"text": f"`{typed}` did not bring it to the model{said}"}


async def sit_at_terminal(seat: Seat, line: list[str | Path], typed: str, until: str, **variables: str) -> Ended:
    """Start a program at a terminal, type, press Enter to what it asks, again as long as nothing came of it, and end it
    when a shell's test `until` holds; what it has written to the terminal is in `$HOME/said`."""
    program = f"stty cols 200 rows 50; exec {shlex.join(map(str, line))}"
    text = (
        f"while sleep {START_SECONDS}; do printf %s {shlex.quote(typed)}; "
        "for enter in $(seq 12); do sleep 2; printf '\\r'; done; done | "
        f'script -qefc {shlex.quote(program)} /dev/null >"$HOME/said" 2>&1 &\n'
        f'for second in $(seq {TERMINAL_SECONDS}); do sleep 1; {until} && exit 0; done; cat "$HOME/said"; exit 1'
    )
    variables = {"TERM": "xterm-256color", **variables}
    return await seat.room.run(["/bin/sh", "-c", text], TERMINAL_SECONDS + 30, seat.folder, **variables)


def require(ended: Ended, word: str = "") -> None:
    if ended.code != 0 or word not in ended.out + ended.err:
        raise SignInFailed(f"it ended with {ended.code}: {ended.out[-1000:]} {ended.err[-1000:]}")


QUIET_CLAUDE = {
    "ANTHROPIC_BASE_URL": MODEL_URL,
    "ANTHROPIC_API_KEY": KEY,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}


def claude_script(seat: Seat) -> Path:
    return seat.modules / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs"


async def run_claude(seat: Seat, *arguments: str) -> Ended:
    return await seat.room.run([NODE, claude_script(seat), *arguments], 120, seat.folder, **QUIET_CLAUDE)


async def settle_claude(seat: Seat) -> None:
    header = ["--header", f"Authorization: {seat.header}"] if seat.token else []
    add = ["mcp", "add", "--scope", "user", "--transport", "http", "mcpist", seat.url, *header]
    require(await run_claude(seat, *add))
    if not seat.token:
        login = shlex.join([str(NODE), str(claude_script(seat)), "mcp", "login", "mcpist"])
        terminal = ["script", "-qefc", login, "/dev/null"]  # without one it opens no browser
        require(await seat.room.run(terminal, 120, seat.folder, **QUIET_CLAUDE))


async def ask_claude(seat: Seat, prompt: str) -> Ended:
    return await run_claude(seat, "-p", prompt, "--allowedTools", "mcp__mcpist,ReadMcpResourceTool")


async def attach_in_claude(seat: Seat, typed: str) -> Ended:
    """At a terminal, without the questions of the first start: with `-p` it takes a mentioned resource for text."""
    settings = seat.room.home / ".claude.json"
    seated = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(seat.folder): {"hasTrustDialogAccepted": True}},
    }
    settings.write_text(json.dumps(json.loads(settings.read_text()) | seated))
    line = [NODE, claude_script(seat), "--allowedTools", "mcp__mcpist,ReadMcpResourceTool"]
    return await sit_at_terminal(seat, line, typed, ANSWERED, **QUIET_CLAUDE)


def search_tools(names: list[str]) -> tuple[Wish, ...]:
    """Claude Code shows its model names, and loads the tools that it selects; the three are loaded at once."""
    if "call" in names:
        return ()
    return (Wish("ToolSearch", {"query": f"select:{','.join(f'mcp__mcpist__{name}' for name in names)}"}),)


CODEX_SIGN_IN = 'mcp_oauth_credentials_store = "file"\n'


async def run_codex(seat: Seat, *arguments: str) -> Ended:
    script = seat.modules / "@openai" / "codex" / "bin" / "codex.js"
    variables = {"MODEL_KEY": KEY, "MCPIST_TOKEN": seat.token or ""}
    return await seat.room.run([NODE, script, *arguments], 120, seat.folder, **variables)


async def settle_codex(seat: Seat) -> None:
    bearer = TOKEN_FROM_ENVIRONMENT if seat.token else ""
    seat.write(".codex/config.toml", CODEX_SIGN_IN + CODEX.format(model=MODEL_URL, url=seat.url) + bearer)
    if not seat.token:
        require(await run_codex(seat, "mcp", "login", "mcpist"))


async def ask_codex(seat: Seat, prompt: str) -> Ended:
    return await run_codex(seat, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt)


def gemini_settings(seat: Seat) -> dict[str, Any]:
    server: dict[str, Any] = {"httpUrl": seat.url, "trust": True}
    if seat.token:
        server["headers"] = {"Authorization": seat.header}
    return {
        "mcpServers": {"mcpist": server},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
    }


GEMINI = {
    "GEMINI_API_KEY": KEY,
    "GOOGLE_GEMINI_BASE_URL": MODEL_URL,
    "GEMINI_TELEMETRY_ENABLED": "false",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
}


def gemini_line(seat: Seat) -> list[str | Path]:
    return [NODE, seat.modules / "@google" / "gemini-cli" / "bundle" / "gemini.js", "--approval-mode", "yolo"]


async def settle_gemini(seat: Seat) -> None:
    settings = gemini_settings(seat) | {
        "model": {"name": "gemini-2.5-pro"},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    }
    seat.write(".gemini/settings.json", json.dumps(settings))
    if not seat.token:
        tokens = '[ -s "$HOME/.gemini/mcp-oauth-tokens.json" ]'
        require(await sit_at_terminal(seat, gemini_line(seat), "/mcp auth mcpist", tokens, **GEMINI))


async def ask_gemini(seat: Seat, prompt: str) -> Ended:
    return await seat.room.run([*gemini_line(seat), "-p", prompt], 120, seat.folder, **GEMINI)


QWEN = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{MODEL_URL}/v1", "OPENAI_MODEL": "a-model"}


def qwen_line(seat: Seat) -> list[str | Path]:
    return [NODE, seat.modules / "@qwen-code" / "qwen-code" / "cli.js", "--approval-mode", "yolo"]


async def settle_qwen(seat: Seat) -> None:
    security = {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}}
    seat.write(".qwen/settings.json", json.dumps(gemini_settings(seat) | {"security": security}))
    if not seat.token:
        tokens = '[ -s "$HOME/.qwen/mcp-oauth-tokens.json" ]'
        require(await sit_at_terminal(seat, qwen_line(seat), "/mcp auth mcpist", tokens, **QWEN))


async def ask_qwen(seat: Seat, prompt: str) -> Ended:
    return await seat.room.run([*qwen_line(seat), "-p", prompt], 120, seat.folder, **QWEN)


def search_tools_of_qwen(names: list[str]) -> tuple[Wish, ...]:
    selected = ",".join(f"mcp__mcpist__{name}" for name in names)
    return (Wish("tool_search", {"query": f"select:{selected}", "max_results": 20}),)


def wrap_for_qwen(wish: Wish) -> Wish:
    return Wish("tool_call", {"name": f"mcp__mcpist__{wish.tool}", "arguments": wish.arguments})


async def run_opencode(seat: Seat, *arguments: str) -> Ended:
    program = seat.modules / "opencode-linux-x64" / "bin" / "opencode"
    variables = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return await seat.room.run([program, *arguments], 120, seat.folder, **variables)


async def settle_opencode(seat: Seat) -> None:
    server: dict[str, Any] = {"type": "remote", "url": seat.url}
    if seat.token:
        server |= {"headers": {"Authorization": seat.header}, "oauth": False}
    options = {"baseURL": f"{MODEL_URL}/v1", "apiKey": KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"a-model": {"name": "a-model"}}}
    settings = {
        "mcp": {"mcpist": server},
        "provider": {"double": provider},
        "model": "double/a-model",
        "small_model": "double/a-model",
        "autoupdate": False,
        "share": "disabled",
    }
    seat.write(".config/opencode/opencode.json", json.dumps(settings))
    if not seat.token:
        require(await run_opencode(seat, "mcp", "auth", "mcpist"))


async def ask_opencode(seat: Seat, prompt: str) -> Ended:
    name, *given = prompt.split()
    return await run_opencode(seat, "run", *(["--command", name[1:], *given] if name[0] == "/" else [prompt]))


COPILOT = {
    "COPILOT_PROVIDER_BASE_URL": f"{MODEL_URL}/v1",
    "COPILOT_PROVIDER_API_KEY": KEY,
    "COPILOT_MODEL": "a-model",
    "COPILOT_OFFLINE": "true",
}


def copilot_line(seat: Seat) -> list[str | Path]:
    return [NODE, seat.modules / "@github" / "copilot" / "npm-loader.js", "--no-auto-update"]


async def settle_copilot(seat: Seat) -> None:
    server: dict[str, Any] = {"type": "http", "url": seat.url, "tools": ["*"]}
    if seat.token:
        server["headers"] = {"Authorization": seat.header}
    seat.write(".copilot/mcp-config.json", json.dumps({"mcpServers": {"mcpist": server}}))
    if not seat.token:
        seat.write(".copilot/config.json", json.dumps({"trusted_folders": [str(seat.folder)]}))
        tokens = 'grep -qs accessToken "$HOME"/.copilot/mcp-oauth-config/*.tokens.json'
        require(await sit_at_terminal(seat, copilot_line(seat), "/mcp auth mcpist", tokens, **COPILOT))


async def ask_copilot(seat: Seat, prompt: str) -> Ended:
    line = [*copilot_line(seat), "--allow-all-tools"]
    if seat.token:
        return await seat.room.run([*line, "-p", prompt], 120, seat.folder, **COPILOT)
    # With `-p` its model is asked before it has connected by OAuth.
    return await sit_at_terminal(seat, line, prompt, ANSWERED, **COPILOT)


CLAUDE_CODE = Agent(
    "Claude Code",
    "@anthropic-ai/claude-code",
    settle_claude,
    ask_claude,
    {"resource": f"Say what is in @mcpist:{RESOURCE} here", "prompt": f"/mcp__mcpist__{PROMPT} one two"},
    preface=search_tools,
    attach=attach_in_claude,
)
CODEX_CLI = Agent(
    "Codex CLI",
    "@openai/codex",
    settle_codex,
    ask_codex,
    {},
    Wish("read_mcp_resource", {"server": "mcpist", "uri": RESOURCE}),
)
GEMINI_CLI = Agent(
    "Gemini CLI",
    "@google/gemini-cli",
    settle_gemini,
    ask_gemini,
    {"resource": f"Say what is in @mcpist:{RESOURCE} here", "prompt": f'/{PROMPT} --arg1="one" --arg2="two"'},
)
QWEN_CODE = Agent(
    "Qwen Code",
    "@qwen-code/qwen-code",
    settle_qwen,
    ask_qwen,
    {"resource": f"Say what is in @mcpist:{RESOURCE} here", "prompt": f'/{PROMPT} --arg1="one" --arg2="two"'},
    preface=search_tools_of_qwen,
    wrap=wrap_for_qwen,
)
ON_ITS_SCREEN = "its screen was not tried for it"
OPENCODE = Agent(
    "OpenCode",
    "opencode-ai",
    settle_opencode,
    ask_opencode,
    {"prompt": f"/mcpist:{PROMPT} one two"},
    untried={"resource": ON_ITS_SCREEN},
)
COPILOT_CLI = Agent(
    "GitHub Copilot CLI",
    "@github/copilot",
    settle_copilot,
    ask_copilot,
    {},
    untried={"resource": ON_ITS_SCREEN, "prompt": ON_ITS_SCREEN},
)
AGENTS = (CLAUDE_CODE, CODEX_CLI, GEMINI_CLI, QWEN_CODE, OPENCODE, COPILOT_CLI)
