"""`mcpist service check` against the double of GitHub: what it tells of good, refused and changed answers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.canary import SUITE
from tests.support.fork_server import create_forked_process
from tests.support.github_double import GitHubDouble, github_double
from tests.support.running_product import MCPIST, data_folder, environment, free_port, hear_command
from tests.support.vendor_contract import contract

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzCH"
SECRET_TITLE = "A title that nobody may read"

pytestmark = pytest.mark.timeout(180)


async def run(home: Path, allowed: str, *arguments: str, secret: str = "") -> tuple[int, str]:
    process = await create_forked_process(
        str(MCPIST), *arguments, env=environment(home, free_port(), MCPIST_ALLOWED_PRIVATE_HOSTS=allowed),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    SUITE.watch(secret)
    out, _ = await process.communicate(secret.encode())
    hear_command(arguments, out, b"")
    assert process.returncode is not None
    return process.returncode, out.decode()


async def check(home: Path, allowed: str) -> tuple[int, dict[str, Any]]:
    code, out = await run(home, allowed, "service", "check", "github", "--json")
    assert SECRET_TITLE not in out
    return code, {one["tool"]: one for one in json.loads(out.splitlines()[-1])["tools"]}


def furnish(github: GitHubDouble) -> None:
    github.world.token(TOKEN, "mona")
    app = github.world.repository("mona", "app", description="アプリ")
    github.world.commit(app, {"README.md": "# アプリ\n".encode()}, "First")
    github.world.issue(app, SECRET_TITLE, "mona")


async def test_what_the_check_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    contract("github")  # skips where the description is missing
    async with github_double("/api/v3") as github:
        furnish(github)
        allowed = github.url.split("/")[2]
        with data_folder() as home:
            await run(home, allowed, "tenant", "create", "acme", "--admin", "ada@acme.test")
            await run(home, allowed, "service", "set", "github", f"base_url={github.url}")
            code, told = await run(
                home, allowed, "credential", "set", "github", "--user", "ada@acme.test", secret=TOKEN
            )
            assert code == 0, told
            _, tools = await check(home, allowed)
            assert {tools[name]["state"] for name in ("list_repositories", "list_issues", "get_issue", "get_me")} == {
                "ok"
            }, tools
            assert tools["get_pull_request"]["state"] == "skipped"
            assert "list_pull_requests gave none" in tools["get_pull_request"]["reason"]
            assert "create_issue" not in tools
            assert not any(one.startswith(("POST", "PUT", "PATCH", "DELETE")) for one in github.seen)

            github.world.tokens.clear()
            code, tools = await check(home, allowed)
            assert code == 1
            assert tools["list_repositories"]["state"] == "refused"
            assert tools["list_issues"]["state"] == "skipped"
