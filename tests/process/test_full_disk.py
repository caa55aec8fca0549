"""A full disk, and one that is read-only, are told as that: at the first start, at later ones, and while MCPist runs,
on its own database and on one of the operator's.
Each test has a small file system of its own, which only root may mount."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from core.token_format import generate_token
from tests.support.eventually import within
from tests.support.fork_server import create_forked_process
from tests.support.postgres_process import running_server, server_user
from tests.support.running_product import (
    MCPIST,
    START_SECONDS,
    Product,
    client,
    data_folder,
    environment,
    free_port,
    hear_command,
    running,
    start,
)

pytestmark = pytest.mark.timeout(180)

UNTOLD = ("unexpected", "MCPIST_LOG_LEVEL", "Traceback")


class SmallDisk:
    """A small file system at `path`; the data folder is `home`, and the product's log lies elsewhere."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.home = path / "home"
        self.log = path.with_name(path.name + ".log")

    def fill(self) -> None:
        """Leave not a single block."""
        with contextlib.suppress(OSError), (self.path / "filled").open("ab", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass

    def free(self) -> None:
        (self.path / "filled").unlink(missing_ok=True)

    def remount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.path)], check=True)


@contextlib.contextmanager
def small_disk(mebibytes: int) -> Iterator[SmallDisk]:
    if os.geteuid() != 0:
        pytest.skip("NOT TRIED: only root may mount a small file system")
    path = Path(tempfile.mkdtemp(prefix="mcpist-disk-", dir="/tmp"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0755", "tmpfs", str(path)], capture_output=True
    )
    if mounted.returncode != 0:
        shutil.rmtree(path)
        pytest.skip(f"NOT TRIED: no file system can be mounted here: {mounted.stderr.decode().strip()}")
    disk = SmallDisk(path)
    os.environ["MCPIST_TEST_LOG"] = str(disk.log)
    try:
        yield disk
    finally:
        del os.environ["MCPIST_TEST_LOG"]
        subprocess.run(["umount", "--lazy", str(path)], check=True)
        shutil.rmtree(path)
        disk.log.unlink(missing_ok=True)


async def refused(disk: SmallDisk, *arguments: str) -> str:
    """What a command says that fails."""
    process = await create_forked_process(
        str(MCPIST), *arguments, env=environment(disk.home, free_port()),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    async with asyncio.timeout(START_SECONDS):
        out, err = await process.communicate()
    hear_command(arguments, out, err)
    assert process.returncode not in (0, None), (arguments, out, err)
    told = err.decode().splitlines()[-1] if err else out.decode()
    assert not any(one in told for one in UNTOLD), told
    return told


@pytest.mark.parametrize("mebibytes", [8, 40, 60])
async def test_the_first_start_on_a_disk_that_is_too_small(mebibytes: int) -> None:
    """It fails while the programs are copied, while the database is made, or later in that."""
    with small_disk(mebibytes) as disk:
        told = await refused(disk, "up", "--json")
    assert f"the disk of {disk.home} is full" in told
    assert "make room" in told


@pytest.mark.long
async def test_later_commands_on_a_full_disk() -> None:
    with small_disk(100) as disk:
        async with running(disk.home):
            pass
        disk.fill()
        for command in (("up", "--json"), ("user", "list"), ("backup", str(disk.path / "x.dump"))):
            told = await refused(disk, *command)
            assert f"the disk of {disk.home} is full" in told, command
        found = await refused_doctor(disk)
        assert any(f"the disk of {disk.home} is full" in one for one in found)
        disk.free()
        async with running(disk.home):
            pass


async def test_a_read_only_disk() -> None:
    with small_disk(100) as disk:
        disk.remount("ro")
        assert "ead-only file system" in await refused(disk, "up", "--json")
        disk.remount("rw")
        async with running(disk.home):
            pass
        disk.remount("ro")
        for command in (("up", "--json"), ("user", "list")):
            told = await refused(disk, *command)
            assert f"{disk.home} is on a read-only file system" in told, command
        assert any("read-only file system" in one for one in await refused_doctor(disk))


async def refused_doctor(disk: SmallDisk) -> list[str]:
    process = await create_forked_process(
        str(MCPIST), "doctor", "--json", env=environment(disk.home, free_port()), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 1
    return [one["message"] for one in json.loads(out)["checks"] if one["state"] == "error"]


@pytest.fixture
async def filled() -> AsyncIterator[tuple[SmallDisk, Product]]:
    """A product whose disk has become full while it ran."""
    with small_disk(140) as disk:
        async with running(disk.home) as product:
            disk.fill()
            yield disk, product
            disk.free()


async def readiness(product: Product) -> dict[str, str]:
    return await get_readiness(product.url.replace("/mcp", "/readyz"))


async def get_readiness(url: str) -> dict[str, str]:
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        parts = await answer.json()
        assert answer.status == (200 if parts["ready"] else 503)
        return {one["name"]: one["state"] for one in parts["components"]}


async def test_a_disk_that_becomes_full(filled: tuple[SmallDisk, Product]) -> None:
    disk, product = filled
    async with client(product.url, product.ready["api_token"]) as caller:

        async def names_the_disk() -> bool:
            try:
                await caller.call("create_entities", entities=[entity()])
            except Exception as error:  # noqa: BLE001 whatever it is, its text is looked at
                return "its database's disk is full" in str(error)
            return False

        await within(20, names_the_disk)
        assert (await readiness(product))["disk"] == "full"
        assert "disk is full" in disk.log.read_text()
        disk.free()
        await within(20, lambda: works(caller))
    await within(20, lambda: is_ready(product))


@pytest.mark.long
async def test_a_database_that_ends_because_of_it(filled: tuple[SmallDisk, Product]) -> None:
    """PostgreSQL ends where it cannot begin the next segment of its log; it is started again until there is room."""
    disk, product = filled

    async def told() -> bool:
        await fill_log(disk)
        return f"exited with code 1: the disk of {disk.home} is full" in disk.log.read_text()

    await within(60, told)
    assert (await readiness(product))["disk"] == "full"
    disk.free()
    await within(30, lambda: is_ready(product))
    async with client(product.url, product.ready["api_token"]) as caller:
        assert await works(caller)


@pytest.fixture
async def own_database() -> AsyncIterator[tuple[SmallDisk, Product, str]]:
    """A product on a server of the operator's that has room for everything but this database's tables."""
    with small_disk(60) as disk, running_server() as url, data_folder(migrated=False) as home:
        tables = disk.path / "tables"
        tables.mkdir(mode=0o700)
        if user := server_user():
            os.chown(tables, user.pw_uid, user.pw_gid)
        connection = await asyncpg.connect(url)
        await connection.execute(f"CREATE TABLESPACE small LOCATION '{tables}'")
        await connection.execute("CREATE DATABASE mcpist TABLESPACE small")
        await connection.close()
        url = url.replace("/postgres?", "/mcpist?")
        async with running(home, MCPIST_DATABASE_URL=url) as product:
            yield disk, product, url
        disk.free()


@pytest.mark.long
async def test_the_disk_of_an_own_database_that_becomes_full(own_database: tuple[SmallDisk, Product, str]) -> None:
    """PostgreSQL goes on (SQLSTATE 53100), so only what is written fails."""
    disk, product, url = own_database
    kept: list[str] = []
    async with client(product.url, product.ready["api_token"]) as caller:

        async def is_told() -> bool:
            one = entity()
            try:
                await caller.call("create_entities", entities=[one])
            except Exception as error:  # noqa: BLE001 whatever it is, its text is looked at
                return "its database's disk is full" in str(error) or await is_503(product)
            kept.append(one["name"])
            return False

        assert await works(caller)
        disk.fill()
        await within(60, is_told)

        async def is_known() -> bool:
            await is_told()
            return (await readiness(product))["audit"] == "disk full"

        await within(60, is_known)
        assert "database's disk is full" in disk.log.read_text()
        found = await refused_doctor_of(product, url)
        assert any("the disk of the database server is full: free space there" in one for one in found), found
        disk.free()
        await within(20, lambda: works(caller))
        await within(40, lambda: is_ready(product))
        for name in kept:
            assert (await caller.call("get_nodes", names=[name]))["entities"], name


@pytest.fixture
async def small_folder() -> AsyncIterator[tuple[SmallDisk, Product]]:
    """A product whose data folder has no room, and whose database is elsewhere."""
    with small_disk(40) as disk, running_server() as url:
        async with running(disk.home, MCPIST_DATABASE_URL=url) as product:
            disk.fill()
            yield disk, product
            disk.free()


async def test_a_data_folder_without_room_beside_an_own_database(small_folder: tuple[SmallDisk, Product]) -> None:
    """Only what the database cannot take for now would have to be stored there: everything is served."""
    disk, product = small_folder

    async def is_told() -> bool:
        return (await readiness(product))["disk"] == "degraded: full"

    await within(10, is_told)
    async with client(product.url, product.ready["api_token"]) as caller:
        assert await works(caller)
    disk.free()
    await within(10, lambda: is_ready(product))


@pytest.mark.long
async def test_a_broker_says_that_its_database_has_no_room(own_database: tuple[SmallDisk, Product, str]) -> None:
    """Its gateways go on to ask it: what it cannot record it refuses, and what it need not record it does."""
    disk, product, url = own_database
    await product.end()
    port = free_port()
    variables = {"MCPIST_DATABASE_URL": url, "MCPIST_FAILED_AUTH_PER_MINUTE": "100000"}
    broker = await start(product.home, port, "broker", "--json", **variables)
    try:
        disk.fill()

        async def is_told() -> bool:
            await present_wrong_token(port)
            answer = await get_readiness(f"http://127.0.0.1:{port}/readyz")
            return answer["audit"] == "degraded: disk full"

        await within(60, is_told)
        disk.free()

        async def is_over() -> bool:
            await present_wrong_token(port)
            return (await get_readiness(f"http://127.0.0.1:{port}/readyz"))["audit"] == "up"

        await within(40, is_over)
    finally:
        await broker.end()


async def present_wrong_token(port: int) -> None:
    """What is recorded: a token of the right form that nobody has. It fills what is left of the last block."""
    headers = {"Authorization": f"Bearer {generate_token()[1].reveal()}"}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.get(f"http://127.0.0.1:{port}/api/v1/tokens") as answer,
    ):
        assert answer.status in (401, 429, 503), await answer.text()


async def is_503(product: Product) -> bool:
    """Whether a write is refused as unavailable, and by that name."""
    arguments = {"module": "knowledge_graph", "tool_name": "create_entities", "params": {"entities": [entity()]}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "call", "arguments": arguments}}
    headers = {"Authorization": f"Bearer {product.ready['api_token']}", "Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession() as http, http.post(product.url, json=message, headers=headers) as answer:
        return answer.status == 503 and "its database's disk is full" in await answer.text()


async def refused_doctor_of(product: Product, url: str) -> list[str]:
    """What the doctor finds wrong beside a product that runs."""
    process = await create_forked_process(
        str(MCPIST), "doctor", "--json", env=environment(product.home, product.port, MCPIST_DATABASE_URL=url),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    return [one["message"] for one in json.loads(out)["checks"] if one["state"] == "error"]


async def fill_log(disk: SmallDisk) -> None:
    """Write to the write-ahead log until the server breaks, which it first tries to survive by itself."""
    password = (disk.home / "postgres" / "superuser.password").read_text().strip()
    folder = str(disk.home / "postgres" / "run")
    with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        connection = await asyncpg.connect(host=folder, user="postgres", password=password, database="postgres")
        while True:
            await connection.execute("SELECT pg_logical_emit_message(false, 'fill', repeat('x', 1000000), true)")


async def works(caller: Any) -> bool:
    try:
        await caller.call("create_entities", entities=[entity()])
    except Exception:  # noqa: BLE001 it does not yet
        return False
    return True


async def is_ready(product: Product) -> bool:
    return set((await readiness(product)).values()) == {"up"}


def entity() -> dict[str, Any]:
    return {"name": os.urandom(6).hex(), "entityType": "x", "observations": [os.urandom(900).hex()]}
