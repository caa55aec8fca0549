"""What deploy/prepare.sh and deploy/compose.yaml make of a machine: their processes, settings and files, with a real
PostgreSQL, Valkey and nginx; only Docker itself is missing, so every container's address is this machine's here."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import aiohttp
import asyncpg
import pytest

from tests.deploy.compose_files import DEPLOY, read, read_env_file
from tests.support.eventually import within
from tests.support.postgres_process import running_server
from tests.support.running_product import MCPIST, Client, Product, client, command, free_port, start
from tests.support.valkey import find_program

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
GATEWAYS = ("gateway-1", "gateway-2")
PROCESSES = ("broker", "control", *GATEWAYS)
ROLES = {"broker": "mcpist_broker", "control": "mcpist_console", "gateway": "mcpist_gateway"}
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
        self.ports = {name: free_port() for name in (*PROCESSES, "proxy", "valkey")}
        self.url = f"http://127.0.0.1:{self.ports['proxy']}"
        owner = {"OWNER": f"{os.getuid()}:{os.getgid()}"}
        prepare = ["sh", str(DEPLOY / "prepare.sh"), self.url, str(folder)]
        subprocess.run(prepare, env={**os.environ, **owner}, check=True, capture_output=True)
        self.variables = read_env_file(folder / "compose.env")
        self.services: dict[str, dict[str, Any]] = read("compose.yaml", self.variables)["services"]
        self.running: dict[str, Product] = {}

    def get_service(self, name: str) -> dict[str, Any]:
        """The service of a process; of a replica, the one that it is a replica of."""
        return self.services[name.partition("-")[0]]

    def home(self, name: str) -> Path:
        (volume,) = (one for one in self.get_service(name)["volumes"] if one.endswith(":/var/lib/mcpist"))
        return Path(volume.split(":")[0])

    def environment(self, name: str) -> dict[str, str]:
        """The service's settings with this machine's addresses."""
        given = {key: str(value) for key, value in self.get_service(name)["environment"].items()}
        given = {key: value.replace("/var/lib/mcpist", str(self.home(name))) for key, value in given.items()}
        given["MCPIST_DATABASE_URL"] = self._address(given["MCPIST_DATABASE_URL"])
        if "MCPIST_BROKER_URL" in given:
            given["MCPIST_BROKER_URL"] = f"http://127.0.0.1:{self.ports['broker']}"
        if "MCPIST_REDIS_URL" in given:
            url = urlsplit(given["MCPIST_REDIS_URL"])
            assert (url.hostname, url.port) == ("valkey", 6379)
            given["MCPIST_REDIS_URL"] = f"redis://{url.username}:{url.password}@127.0.0.1:{self.ports['valkey']}/0"
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

    async def start(self, name: str) -> None:
        """Start a process as its service says, and wait until it is ready."""
        arguments = [*self.get_service(name)["command"], "--json"]
        self.running[name] = await start(self.home(name), self.ports[name], *arguments, **self.environment(name))

    @contextlib.asynccontextmanager
    async def all_running(self) -> AsyncGenerator[None]:
        """All processes, in the order of depends_on."""
        try:
            for name in PROCESSES:
                await self.start(name)
            yield
        finally:
            for one in self.running.values():
                if one.process.returncode is None:
                    await one.end()

    @contextlib.contextmanager
    def valkey(self) -> Any:
        """Valkey with the service's own command, of its wheel."""
        program, *arguments = self.services["valkey"]["command"]
        assert program == "valkey-server"
        listen = ["--port", str(self.ports["valkey"]), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        process = subprocess.Popen([str(find_program()), *arguments, *listen], stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=20)

    @contextlib.contextmanager
    def proxy(self) -> Any:
        """nginx with deploy/nginx.conf: its own file but for ports and folders. A group of servers is a name of
        which Docker's name server gives all replicas."""
        groups = {"broker": ["broker"], "control": ["control"], "gateway": GATEWAYS}
        servers = {
            group: " ".join(f"server 127.0.0.1:{self.ports[name]} max_fails=0;" for name in names)
            for group, names in groups.items()
        }
        upstreams = "".join(f"    upstream {group} {{ {text} }}\n" for group, text in servers.items())
        text = (DEPLOY / "nginx.conf").read_text().replace("http {\n", f"http {{\n{upstreams}")
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


@contextlib.asynccontextmanager
async def prepared(folder: Path) -> AsyncGenerator[Machine]:
    """A machine after prepare.sh and `migrate`, on which nothing runs yet."""
    with running_server() as database:
        machine = Machine(folder / "srv", database)
        await machine.make_database()
        migrate, environment = machine.services["migrate"]["command"], machine.environment("migrate")
        made = await command(machine.home("migrate"), 1, *migrate, **environment)
        assert made["changed"] is True
        assert Path(made["first_access_file"]).parent == machine.home("broker")
        again = await command(machine.home("migrate"), 1, *migrate, **environment)
        assert (again["changed"], "first_access_file" in again) == (False, False)
        yield machine


async def test_the_prepared_machine_serves_people_and_clients_by_one_address(tmp_path: Path) -> None:
    async with prepared(tmp_path) as machine:
        with machine.valkey(), machine.proxy():
            async with machine.all_running():
                await _use(machine)
                await _sign_in(machine)
                await _check_roles(machine)
                await _kill_a_replica(machine)
        await _shorten_the_log(machine)
        await _back_up(machine)


async def _use(machine: Machine) -> None:
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
        for name in GATEWAYS:
            assert await within(10, lambda name=name: _shares_limits(http, machine.ports[name])) >= 0
    entity = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    async with client(f"{machine.url}/mcp", _read_token(machine)) as caller:
        assert "Ada" in str(await caller.call("create_entities", entities=[entity]))


async def _sign_in(machine: Machine) -> None:
    """The link of the first access ends at the console, and so does one of the operator's, which names no page."""
    await _use_link(machine, _read_first_access(machine)["sign_in_link"])
    operator, variables = machine.home("operator"), machine.environment("operator")
    made = await command(operator, 1, "user", "link", "admin@localhost", **variables)
    await _use_link(machine, made["sign_in_link"])


async def _use_link(machine: Machine, link: str) -> None:
    asked = dict(parse_qsl(urlsplit(link).query))
    jar, origin = aiohttp.CookieJar(unsafe=True), {"Origin": machine.url}
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        async with http.post(f"{machine.url}/sign-in/link", data=asked, headers=origin) as page:
            assert (page.status, page.url.path.rstrip("/")) == (200, "/console"), page.url
        async with http.get(f"{machine.url}/api/v1/me") as me:
            assert (await me.json())["email"] == "admin@localhost"


async def _check_roles(machine: Machine) -> None:
    """Each process is logged in as its own role, and none as the administrator."""
    admin = await asyncpg.connect(machine.environment("migrate")["MCPIST_DATABASE_URL"])
    try:
        rows = await admin.fetch(
            "SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = 'mcpist' AND pid <> pg_backend_pid()"
        )
    finally:
        await admin.close()
    assert {row["usename"] for row in rows} == set(ROLES.values())
    for name in PROCESSES:
        expected = ROLES[name.partition("-")[0]]
        assert urlsplit(machine.environment(name)["MCPIST_DATABASE_URL"]).username == expected


async def _kill_a_replica(machine: Machine) -> None:
    """While it is away every call is answered by the other; after its start it answers again."""
    dead = machine.running[GATEWAYS[0]]
    async with client(f"{machine.url}/mcp", _read_token(machine)) as caller:
        await dead.end(signal.SIGKILL)
        for _ in range(10):
            assert "Ada" in str(await caller.call("read_graph"))
        await machine.start(GATEWAYS[0])
        before = _count_calls(machine, GATEWAYS[0])
        await within(20, lambda: _is_served_by(caller, machine, GATEWAYS[0], before))


async def _is_served_by(caller: Client, machine: Machine, name: str, before: int) -> bool:
    await caller.call("read_graph")
    return _count_calls(machine, name) > before


def _count_calls(machine: Machine, name: str) -> int:
    """How many lines of the call log have this process's id."""
    log = machine.home(name).with_name("log").read_text().splitlines()
    own = f'"pid":{machine.running[name].process.pid}'
    return sum('"operation":"tool_run"' in line and own in line for line in log)


async def _shorten_the_log(machine: Machine) -> None:
    """The service's own command, once: its loop is the shell's."""
    script = machine.services["retention"]["command"][0]
    assert script == "while mcpist audit retention apply; do sleep 3600; done"
    environment = machine.environment("retention") | {"MCPIST_AUDIT_KEEP_MONTHS": "1"}
    done = await command(machine.home("retention"), 1, "audit", "retention", "apply", **environment)
    assert done == {"dropped_months": []}


def _read_first_access(machine: Machine) -> dict[str, str]:
    path = machine.home("broker") / "first-access.json"
    assert path.stat().st_mode & 0o777 == 0o600
    return json.loads(path.read_text())


def _read_token(machine: Machine) -> str:
    return _read_first_access(machine)["api_token"]


async def _shares_limits(http: aiohttp.ClientSession, port: int) -> bool:
    async with http.get(f"http://127.0.0.1:{port}/readyz") as answer:
        parts = {one["name"]: one["state"] for one in (await answer.json())["components"]}
        return parts["limits"] == "up"


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
