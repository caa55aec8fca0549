"""What deploy/prepare.sh and deploy/compose.yaml make of a machine: their processes, settings and files, with a real
PostgreSQL and a real nginx; only Docker itself is missing, so every container's address is this machine's here."""

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import asyncpg
import pytest

from tests.deploy.compose_files import DEPLOY, read, read_env_file
from tests.support.eventually import within
from tests.support.postgres_process import running_server
from tests.support.running_product import MCPIST, client, command, free_port, start

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
PROCESSES = ("control", "broker", "gateway")
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(400),
    pytest.mark.skipif(NGINX is None, reason="THE COMPOSE FILE WAS NOT TRIED: nginx is missing"),
]


class Machine:
    """The prepared folder, and a port for each process and the proxy."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self.database = database
        self.ports = {name: free_port() for name in (*PROCESSES, "proxy")}
        self.url = f"http://127.0.0.1:{self.ports['proxy']}"
        owner = {"OWNER": f"{os.getuid()}:{os.getgid()}"}
        prepare = ["sh", str(DEPLOY / "prepare.sh"), self.url, str(folder)]
        subprocess.run(prepare, env={**os.environ, **owner}, check=True, capture_output=True)
        self.variables = read_env_file(folder / "compose.env")
        self.services: dict[str, dict[str, Any]] = read("compose.yaml", self.variables)["services"]

    def home(self, name: str) -> Path:
        (volume,) = (one for one in self.services[name]["volumes"] if one.endswith(":/var/lib/mcpist"))
        return Path(volume.split(":")[0])

    def environment(self, name: str) -> dict[str, str]:
        """The service's settings with this machine's addresses."""
        given = {key: str(value) for key, value in self.services[name]["environment"].items()}
        given = {key: value.replace("/var/lib/mcpist", str(self.home(name))) for key, value in given.items()}
        given["MCPIST_DATABASE_URL"] = self._address(given["MCPIST_DATABASE_URL"])
        if "MCPIST_BROKER_URL" in given:
            given["MCPIST_BROKER_URL"] = f"http://127.0.0.1:{self.ports['broker']}"
        if "MCPIST_TRUSTED_PROXIES" in given:
            given |= {"MCPIST_TRUSTED_PROXIES": "127.0.0.1", "MCPIST_DRAIN_DELAY": "0"}
        return given

    def _address(self, url: str) -> str:
        split, here = urlsplit(url), urlsplit(self.database)
        assert (split.hostname, split.path) == ("postgres", "/mcpist")
        return urlunsplit((split.scheme, f"{split.username}:{split.password}@", split.path, here.query, ""))

    async def make_database(self) -> None:
        """What the image of PostgreSQL does with its three variables."""
        given: Mapping[str, str] = self.services["postgres"]["environment"]
        admin = await asyncpg.connect(self.database)
        try:
            user, password = given["POSTGRES_USER"], given["POSTGRES_PASSWORD"]
            await admin.execute(f"CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{password}'")
            await admin.execute(f"CREATE DATABASE {given['POSTGRES_DB']} OWNER {user}")
        finally:
            await admin.close()

    @contextlib.asynccontextmanager
    async def running(self, name: str) -> AsyncGenerator[None]:
        arguments = [*self.services[name]["command"], "--json"]
        process = await start(self.home(name), self.ports[name], *arguments, **self.environment(name))
        try:
            yield
        finally:
            await process.end()

    @contextlib.contextmanager
    def proxy(self) -> Any:
        """nginx with deploy/nginx.conf: its own file but for names, ports and folders."""
        text = (DEPLOY / "nginx.conf").read_text()
        for name in PROCESSES:
            # A name that the map gives becomes the address that Docker's name server would give.
            text = re.sub(rf"(?m)^(        (?:~|/|default).*\s){name};$", rf"\g<1>127.0.0.1:{self.ports[name]};", text)
        text = text.replace("http://$process:8080", "http://$process").replace("listen 8080", "listen %s")
        text = text.replace("/tmp/", f"{self.folder}/nginx/") % f"127.0.0.1:{self.ports['proxy']}"
        (self.folder / "nginx").mkdir()
        (self.folder / "nginx.conf").write_text(f"daemon off;\n{text}")
        process = subprocess.Popen([str(NGINX), "-c", str(self.folder / "nginx.conf")], stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=20)


async def test_the_prepared_machine_serves_people_and_clients_by_one_address(tmp_path: Path) -> None:
    with running_server() as database:
        machine = Machine(tmp_path / "srv", database)
        await machine.make_database()
        migrate = machine.services["migrate"]["command"]
        await command(machine.home("migrate"), 1, *migrate, **machine.environment("migrate"))
        async with contextlib.AsyncExitStack() as stack:
            for name in PROCESSES:  # as depends_on orders them
                await stack.enter_async_context(machine.running(name))
            stack.enter_context(machine.proxy())
            await _use(machine)
        await _back_up(machine)


async def _use(machine: Machine) -> None:
    control = machine.environment("control")
    made = await command(machine.home("control"), 1, "token", "create", "--name", "t", **control)
    async with aiohttp.ClientSession() as http:
        assert await within(20, lambda: _serves(http, f"{machine.url}/readyz")) >= 0
        for path, told in {
            "/console/": "<title>",
            "/api/v1/users": "",
            "/sign-in": "<main",
            "/.well-known/oauth-authorization-server": machine.url,
            "/.well-known/oauth-protected-resource/mcp": machine.url,
        }.items():
            async with http.get(f"{machine.url}{path}") as answer:
                assert answer.status in ((200,) if told else (401,)), path
                assert told in await answer.text(), path
    entity = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    async with client(f"{machine.url}/mcp", made["token"]) as caller:
        assert "Ada" in str(await caller.call("create_entities", entities=[entity]))


async def _serves(http: aiohttp.ClientSession, url: str) -> bool:
    with contextlib.suppress(aiohttp.ClientError):
        async with http.get(url) as answer:
            return answer.status == 200
    return False


async def _back_up(machine: Machine) -> None:
    """The service's own script, with the folder of the backups and the program of this machine."""
    service, folder = machine.services["backup"], machine.folder / "backups"
    old = folder / "mcpist-20200101T000000Z.dump"
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    script = service["command"][0].replace("/backups", str(folder)).replace("mcpist backup", f"{MCPIST} backup")
    home = {"MCPIST_HOME": str(machine.home("backup"))}
    environment = {**os.environ, **machine.environment("backup"), **home}
    process = await asyncio.create_subprocess_exec(*service["entrypoint"], script, env=environment)
    assert await process.wait() == 0
    (made,) = folder.iterdir()
    assert made.read_bytes().startswith(b"PGDMP")
