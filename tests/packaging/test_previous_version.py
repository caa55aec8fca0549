"""The version before and this one serve the same database at the same time, after this one has migrated it.

The version before is the commit of the last change that was released, taken out of the repository's history.
"""

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import pytest

from tests.support.eventually import within
from tests.support.postgres import own_server
from tests.support.running_product import Client, client, command, data_folder, environment, free_port

ROOT = Path(__file__).parents[2]
PREVIOUS = "9a141c404e4f1db4c137a799ee86e3dccca466d7"
"""Schema 0027."""

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of the version before."""
    made = subprocess.run(["git", "archive", PREVIOUS], cwd=ROOT, capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"the history has no commit {PREVIOUS[:8]}: clone it whole")
    folder = tmp_path_factory.mktemp("previous")
    with tarfile.open(fileobj=BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@contextlib.asynccontextmanager
async def running_tree(tree: Path, home: Path, database_url: str) -> AsyncIterator[dict[str, str]]:
    """`mcpist up` of a tree of files; gives what it printed when it was ready."""
    port = free_port()
    home.mkdir(mode=0o700, exist_ok=True)
    variables = environment(home, port, MCPIST_DATABASE_URL=database_url, PYTHONPATH=str(tree))
    with (home / f"log-{tree.name}").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from cli import main; main()", "up", "--json",
            cwd=tree, env=variables, stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            async with asyncio.timeout(90):
                line = await process.stdout.readline()
            assert line, (home / f"log-{tree.name}").read_text()[-3000:]
            yield json.loads(line)
        finally:
            process.terminate()
            async with asyncio.timeout(60):
                await process.wait()


async def create_entity(caller: Client, name: str) -> None:
    await caller.call("create_entities", entities=[{"name": name, "entityType": "t", "observations": []}])


async def list_names(caller: Client) -> set[str]:
    return {entity["name"] for entity in (await caller.call("read_graph"))["entities"]}


@pytest.mark.long
async def test_both_serve_the_migrated_database(previous: Path) -> None:
    with own_server() as server, data_folder(migrated=False) as home:
        async with server.database(migrated=False) as database:
            url = database.admin.url.reveal()
            async with running_tree(previous, home, url) as old, client(old["mcp_url"], old["api_token"]) as at_old:
                await create_entity(at_old, "before")
                assert (await command(home, 1, "migrate", MCPIST_DATABASE_URL=url))["revision"]
                await create_entity(at_old, "old on the new schema")
                new_home = home.with_name("new")
                shutil.copytree(home, new_home, ignore=shutil.ignore_patterns("log-*", "*.sock", "server.json"))
                async with running_tree(ROOT, new_home, url) as new, client(new["mcp_url"], old["api_token"]) as at_new:
                    await create_entity(at_new, "new")
                    both = {"before", "old on the new schema", "new"}
                    assert await list_names(at_old) == await list_names(at_new) == both
                    made = await command(new_home, 1, "token", "create", MCPIST_DATABASE_URL=url)
                    async with client(old["mcp_url"], made["token"]) as caller:
                        assert await list_names(caller) == both, "a token of the new one is good at the old one"
                        await command(new_home, 1, "token", "revoke", made["id"], MCPIST_DATABASE_URL=url)
                        await within(5, lambda: is_refused(caller))
                await create_entity(at_old, "after the new one ended")


async def is_refused(caller: Client) -> bool:
    try:
        await list_names(caller)
    except Exception as error:  # noqa: BLE001 the class is that of the HTTP client
        return getattr(error, "status", 0) == 401
    return False
