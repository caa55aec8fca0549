"""The examples of docs/clients.md for Python and TypeScript, run as they stand there."""

import contextlib
import io
import re
import textwrap
from pathlib import Path

import httpx2
import mcp
import mcp.client.streamable_http

from tests.clients.story import Gateway
from tests.support.node import run_node

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "clients.md").read_text("utf-8")


def example(language: str) -> str:
    """The only block of that language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)
    return found


async def test_python(gateway: Gateway) -> None:
    names = {"httpx2": httpx2, "mcp": mcp, "url": gateway.mcp_url, "token": gateway.token}
    exec("async def run():\n" + textwrap.indent(example("python"), "    "), names)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        await names["run"]()
    assert "is_error=False" in printed.getvalue()


async def test_typescript(gateway: Gateway, node_packages: Path, tmp_path: Path) -> None:
    imports = "import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';"
    given = f"const url = '{gateway.mcp_url}', token = '{gateway.token}';"
    program = node_packages / f"example-{tmp_path.name}.mjs"
    program.write_text("\n".join((imports, given, example("typescript"), "await client.close();")))
    try:
        run = await run_node(program, home=tmp_path)
    finally:
        program.unlink()
    assert (run.exit_code, "isError: true" in run.stdout, "entities" in run.stdout) == (0, False, True), run
