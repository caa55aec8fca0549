"""`mcpist stdio` as a process, before a running product and without one."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import LONG, Home, Product
from tests.support.running_product import hear_command

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def call(id: int, tool: str = "read_graph", **params: Any) -> dict[str, Any]:
    arguments = {"module": "knowledge_graph", "tool_name": tool, "params": params}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "call", "arguments": arguments}}


def answers(out: str) -> dict[int, Any]:
    """By id; nothing else may be on standard output."""
    return {one["id"]: one for one in map(json.loads, out.splitlines())}


class Session:
    """A client that talks, and waits for each answer."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def ask(self, message: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(lines(message))
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=LONG)[1].decode()
        return json.loads(line)

    def end(self) -> None:
        out, err = self.process.communicate(timeout=LONG)
        hear_command(("stdio",), out, err)
        assert self.process.returncode == 0, err.decode()
        assert b"Traceback" not in err


@contextlib.contextmanager
def session(home: Home, *arguments: str, **more: str) -> Iterator[Session]:
    with home.start("stdio", *arguments, stdin=subprocess.PIPE, **more) as process:
        try:
            yield Session(process)
        finally:
            if process.poll() is None:
                process.kill()


def tokens(home: Home, *more: str) -> list[dict[str, Any]]:
    return home.run("token", "list", "--all", *more, "--json").json()


def test_it_joins_a_running_product(cli: Home, tenant: str) -> None:
    with session(cli, "--tenant", tenant) as client:
        assert client.ask(HELLO)["result"]["serverInfo"]["name"] == "mcpist"
        assert not client.ask(call(1))["result"]["isError"]
        [token] = tokens(cli, "--tenant", tenant)
        assert token["revoked_at"] is None
        assert token["expires_at"] is not None
        client.end()
    [token] = tokens(cli, "--tenant", tenant)
    assert token["revoked_at"] is not None


def test_it_needs_to_know_for_whom(cli: Home, tenant: str) -> None:
    ended = cli.process("stdio", given=lines(HELLO))
    assert ended.code == 2
    assert "--tenant" in ended.err
    assert "--tenant" in answers(ended.out)[0]["error"]["message"]
    ended = cli.process("stdio", "--tenant", tenant, "--user", "nobody@example.com", given=lines(HELLO))
    assert ended.code == 4
    assert "nobody@example.com" in answers(ended.out)[0]["error"]["message"]


def test_it_starts_a_product_for_as_long_as_it_lives(fresh: Home) -> None:
    made = call(1, "create_entities", entities=[{"name": "Ada", "entityType": "person", "observations": []}])
    ended = fresh.process("stdio", given=lines(HELLO, made))
    assert ended.code == 0, ended.err
    assert answers(ended.out)[1]["result"]["structuredContent"]["created"] == 1
    assert "Traceback" not in ended.err
    assert not (fresh.path / "endpoint.json").exists()
    # Nobody has ever seen the token of the first start, so it is void; the one of the relay went with it.
    assert all(token["revoked_at"] is not None for token in tokens(fresh))
    assert len(tokens(fresh)) == 2
    again = answers(fresh.process("stdio", given=lines(HELLO, call(1))).out)
    assert again[1]["result"]["structuredContent"]["entities"][0]["name"] == "Ada"


@pytest.mark.long
def test_the_second_goes_on_when_the_first_ends(fresh: Home) -> None:
    with session(fresh) as first:
        first.ask(HELLO)
        with session(fresh) as second:
            second.ask(HELLO)
            assert "result" in second.ask(call(1))
            first.end()
            assert "result" in second.ask(call(2))
            second.end()


def test_a_signal_ends_it_in_order(fresh: Home) -> None:
    with session(fresh) as client:
        client.ask(HELLO)
        client.process.send_signal(signal.SIGTERM)
        client.end()
    assert not (fresh.path / "endpoint.json").exists()
    assert all(token["revoked_at"] is not None for token in tokens(fresh))


def test_it_relays_to_a_url(cli: Home, product: Product, tenant: str, fresh: Home) -> None:
    token = cli.run("token", "create", "--tenant", tenant, "--json").json()["token"]
    url = product.ready["mcp_url"]
    for given in (url, url.removesuffix("/mcp")):
        ended = fresh.process("stdio", given=lines(HELLO, call(1)), MCPIST_URL=given, MCPIST_TOKEN=token)
        assert ended.code == 0, ended.err
        assert not answers(ended.out)[1]["result"]["isError"]
    assert not fresh.path.exists()
    ended = fresh.process("stdio", given=lines(HELLO), MCPIST_URL=url, MCPIST_TOKEN="mcpist_wrong")
    assert "refuses the token" in answers(ended.out)[0]["error"]["message"]
    assert "mcpist_wrong" not in ended.out + ended.err


def test_a_url_without_a_token(fresh: Home) -> None:
    ended = fresh.process("stdio", MCPIST_URL="https://mcp.example.com")
    assert (ended.code, ended.out) == (2, "")
    assert "MCPIST_TOKEN" in ended.err


def test_help_imports_nothing_heavy(fresh: Home) -> None:
    code = "import sys; from cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    shown = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, env=fresh.environment, timeout=LONG
    )
    loaded = set(shown.stderr.split())
    assert "typer" in loaded
    assert not loaded & {"sqlalchemy", "alembic", "asyncpg", "aiohttp", "pydantic", "uvicorn", "starlette"}
