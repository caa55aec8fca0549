"""The example package, really installed: in one process set up at the command line, and beside a broker of its own."""

import asyncio
import json
import shutil
from pathlib import Path

import aiohttp
import pytest
from raindrop_double import RaindropDouble

from core.directory.services import set_settings
from core.http.origins import get_origin
from core.secret import Secret
from tests.modules.packages.conftest import SOURCE
from tests.modules.packages.installation import install_example
from tests.support.canary import SUITE
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR
from tests.support.running_product import MCPIST, data_folder, environment, free_port, hear_command, log_of, read_ready
from tests.support.split import split_on
from tests.support.vendor_double import serve_double

TOKEN = "a-test-token-of-raindrop-for-the-installed"

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_example(tmp_path_factory.mktemp("installed"))


async def run(variables: dict[str, str], *arguments: str, secret: str = "") -> str:
    """Run a command in a process that is not forked from this one, which knows no installed package."""
    process = await asyncio.create_subprocess_exec(
        str(MCPIST), *arguments, env=variables,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    SUITE.watch(secret)
    out, _ = await process.communicate(secret.encode())
    hear_command(arguments, out, b"")
    assert process.returncode == 0, out.decode()
    return out.decode()


@pytest.mark.long
async def test_in_one_process(site: Path, tmp_path: Path) -> None:
    async with serve_double(RaindropDouble(TOKEN)) as raindrop:
        raindrop.add("https://example.com", "An example")
        base_url, host = f"{raindrop.url}/rest/v1", raindrop.url.split("/")[2]
        provider = tmp_path / "raindrop.toml"
        text = (SOURCE / "raindrop.toml").read_text("utf-8")
        provider.write_text(text.replace("https://api.raindrop.io/rest/v1", base_url))
        with data_folder() as home:
            more = {"PYTHONPATH": str(site), "MCPIST_ALLOWED_PRIVATE_HOSTS": host}
            variables = environment(home, free_port(), **more)
            process = await asyncio.create_subprocess_exec(
                str(MCPIST), "up", "--json", env=variables, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=log_of(home), start_new_session=True,
            )  # fmt: skip
            try:
                assert process.stdout is not None
                async with asyncio.timeout(60):
                    ready = read_ready(await process.stdout.readline())
                await run(variables, "provider", "add", str(provider))
                await run(variables, "service", "enable", "raindrop")
                await run(variables, "service", "set", "raindrop", f"base_url={base_url}")
                told = await run(variables, "credential", "set", "raindrop", "--user", "admin@localhost", secret=TOKEN)
                assert TOKEN not in told
                heard = await call(ready["mcp_url"], ready["api_token"], "search_bookmarks")
                assert [one["title"] for one in heard["bookmarks"]] == ["An example"]
                saved = await call(ready["mcp_url"], ready["api_token"], "save_bookmark", link="https://example.org")
                assert saved["link"] == "https://example.org"
                log = home.with_name("log").read_text()
                assert "module_bookmark_saved" in log
            finally:
                process.terminate()
                assert await process.wait() == 0


async def call(url: str, token: str, tool: str, **params: object) -> dict[str, list[dict[str, str]]]:
    arguments = {"module": "raindrop", "tool_name": tool, "params": params}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "call", "arguments": arguments}}
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession() as http, http.post(url, json=message, headers=headers) as response:
        result = (await response.json())["result"]
    text = result["content"][0]["text"]
    assert not result.get("isError"), text
    return json.loads(text)


WHO_IMPORTS = """
import os, sys
with open(os.environ["IMPORTED_BY"], "a") as file:
    file.write(f"{sys.argv[1]}\\n")
"""


async def test_beside_a_broker_that_runs_none_of_its_code(database: ScratchDatabase, tmp_path: Path) -> None:
    """The package tells which processes import it."""
    source, imported_by = tmp_path / "edited", tmp_path / "imported-by"
    shutil.copytree(SOURCE, source)
    with (source / "raindrop_module" / "__init__.py").open("a") as file:
        file.write(WHO_IMPORTS)
    site = install_example(tmp_path / "installed", source)
    async with serve_double(RaindropDouble(TOKEN)) as raindrop:
        raindrop.add("https://example.com", "An example")
        base_url, host = f"{raindrop.url}/rest/v1", raindrop.url.split("/")[2]
        variables = {"PYTHONPATH": str(site), "IMPORTED_BY": str(imported_by), "MCPIST_ALLOWED_PRIVATE_HOSTS": host}
        async with split_on(
            database, tmp_path, gateways=1, executed=True, program=(str(MCPIST),), variables=variables
        ) as split:
            tenant = await split.product.tenant("acme", services=["knowledge_graph", "raindrop"])
            ada = await split.product.person(tenant, "ada@acme.test", allow=["raindrop.*"])
            values = {"base_url": base_url}
            await set_settings(split.product.console, ACTOR, tenant.id, "raindrop", lambda before: {**before, **values})
            assert "connect" in (await split.call(ada, "raindrop", "search_bookmarks")).text
            owner = await split.credentials.resolve_owner(tenant.id, email=ada.email)
            await split.credentials.put(
                ACTOR, tenant.id, "raindrop", owner, Secret(TOKEN), "Ada", origins=[get_origin(base_url)]
            )
            heard = await split.call(ada, "raindrop", "search_bookmarks")
            assert (heard.status, heard.failed) == (200, False), heard
            assert json.loads(heard.text)["bookmarks"][0]["title"] == "An example"
        assert imported_by.read_text() == "gateway\n"
