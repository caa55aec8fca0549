"""A broker and its gateways as processes of their own on one Postgres, each with nothing but what it needs.

Every process has a folder of its own and one database role's login. A gateway's folder holds the key of the argument
digests and its own key; the broker's holds the peppers, the vault's keys and the gateways' public keys.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp

from broker.rpc.gateway_keys import make_key_pair
from broker.vault.credential_store import CredentialStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.db import Database
from core.secret import Secret
from server.deployment import KEYS_FOLDER, PASSWORDS_FILE
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import VAULT_KEYS_FILE
from tests.support.canary_homes import hear_home
from tests.support.fork_server import create_forked_process
from tests.support.front import Front, front
from tests.support.postgres import PASSWORDS, ScratchDatabase
from tests.support.product import ACTOR, Person, Product, product_on
from tests.support.round_robin import round_robin
from tests.support.running_product import START_SECONDS, command, environment, free_port
from tests.support.toy_vendor import Shop, shop

CALL_TIMEOUT = 5.0
PROGRAM = (sys.executable, "-m", "tests.support.shop_program")


@dataclass
class Process:
    """One process of ours, which can be killed and started again as a supervisor would."""

    command: str
    home: Path
    port: int
    variables: dict[str, str]
    ready: dict[str, Any] = field(default_factory=dict)
    running: asyncio.subprocess.Process | None = None
    create: Callable[..., Coroutine[Any, Any, asyncio.subprocess.Process]] = create_forked_process
    program: tuple[str, ...] = PROGRAM

    async def start(self) -> None:
        """Start it and wait for its one line."""
        log = os.open(self.home / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.running = await self.create(
                *self.program, self.command, "--json", env=environment(self.home, self.port, **self.variables),
                stdout=asyncio.subprocess.PIPE, stderr=log, stdin=asyncio.subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(log)
        assert self.running.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = await self.running.stdout.readline()
        assert line, f"{self.command} ended before it was ready: {self.log()[-2000:]}"
        self.ready = json.loads(line)

    async def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        assert self.running is not None
        if self.running.returncode is None:
            self.running.send_signal(number)
        async with asyncio.timeout(START_SECONDS):
            return await self.running.wait()

    async def kill(self) -> None:
        """As the kernel does where memory is short."""
        await self.end(signal.SIGKILL)

    def send(self, number: int) -> None:
        """Send a signal and go on."""
        assert self.running is not None
        self.running.send_signal(number)

    @property
    def metrics_port(self) -> int:
        """Where its metrics are, if it shows them."""
        return int(self.variables["MCPIST_METRICS_PORT"])

    def log(self) -> str:
        """What it said."""
        return (self.home / "log").read_text()


@dataclass(frozen=True, slots=True)
class Heard:
    """What a client got for one call. `text` is the tool's; `retry_after` is in seconds."""

    status: int
    failed: bool
    text: str
    retry_after: float | None


@dataclass
class Split:
    """The processes, and the operator's hands."""

    product: Product
    credentials: CredentialStore
    shop: Shop
    broker: Process
    gateways: list[Process]
    url: str
    """The gateways', one after the other."""

    public_url: str
    """What people and clients are told."""

    front: Front
    operator: Database
    """In the broker's role."""

    http: aiohttp.ClientSession

    async def add(self, person: Person, token: str) -> None:
        """Store a person's own credential for the shop."""
        self.shop.tokens[token] = person.email
        owner = await self.credentials.resolve_owner(person.tenant.id, email=person.email)
        await self.credentials.put(ACTOR, person.tenant.id, "shop", owner, Secret(token), "")

    async def call(self, person: Person, module: str, tool: str, *, at: int | None = None, **params: Any) -> Heard:
        """Call a tool through the load balancer, or at one gateway.

        Raises:
            aiohttp.ClientError: the connection broke.
        """
        url = self.url if at is None else f"http://127.0.0.1:{self.gateways[at].port}/mcp"
        arguments = {"module": module, "tool_name": tool, "params": params}
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "call", "arguments": arguments},
        }
        headers = {
            "Authorization": f"Bearer {person.token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
            "Host": urlsplit(self.public_url).netloc,
        }
        async with self.http.post(url, json=message, headers=headers) as response:
            body = await response.read()
            return _heard(response, body)

    async def said(self, person: Person, tool: str, *, at: int | None = None, what: str = "tea") -> str:
        """What the shop said; the call must work."""
        heard = await self.call(person, "shop", tool, at=at, what=what)
        assert heard.status == 200, heard
        assert not heard.failed, heard
        return json.loads(heard.text)["said"]


def _heard(response: aiohttp.ClientResponse, body: bytes) -> Heard:
    retry_after = response.headers.get("Retry-After")
    waiting = float(retry_after) if retry_after else None
    if response.status != 200:
        return Heard(response.status, True, body.decode(), waiting)
    message = json.loads(body)
    if "error" in message:
        return Heard(response.status, True, message["error"]["message"], waiting)
    result = message["result"]
    return Heard(response.status, bool(result.get("isError")), result["content"][0]["text"], waiting)


@contextlib.asynccontextmanager
async def split_on(
    database: ScratchDatabase,
    folder: Path,
    *,
    gateways: int = 2,
    unix: bool = False,
    executed: bool = False,
    program: tuple[str, ...] = PROGRAM,
    variables: Mapping[str, str] = MappingProxyType({}),
    hosts: Sequence[str] = (),
    prepare: Callable[[Process], None] | None = None,
) -> AsyncIterator[Split]:
    """A deployment in `folder`, its shop, and every process ready. With `unix` the broker listens on a socket there,
    and nowhere else. With `executed` the processes are not forked, so that /proc tells of them alone. `program` runs in
    them, with `variables` in their environment; they may ask `hosts` on this machine beside the shop's. `prepare` may
    change each before it starts."""
    async with contextlib.AsyncExitStack() as stack:
        vendor = await stack.enter_async_context(shop())
        product = await stack.enter_async_context(product_on(database, folder / "broker"))
        operator = await stack.enter_async_context(
            open_role_database(product.deployment, BROKER_ROLE, max_connections=2)
        )
        vault = await open_vault(
            operator,
            InMemoryKeyProvider.from_file(folder / "broker" / KEYS_FOLDER / VAULT_KEYS_FILE),
            clock=get_utc_now,
        )
        port, public_port = free_port(), free_port()
        public_url = f"http://127.0.0.1:{public_port}"
        broker, nodes = _processes(product, vendor, folder, public_url, gateways, hosts)
        if unix:
            for process in (broker, *nodes):
                process.variables["MCPIST_BROKER_URL"] = f"unix:{folder}/broker.sock"
        for process in (broker, *nodes):
            process.program = program
            process.variables.update(variables)
            if prepare is not None:
                prepare(process)
        if executed:
            for process in (broker, *nodes):
                process.create = asyncio.create_subprocess_exec
        await stack.enter_async_context(round_robin(port, [node.port for node in nodes]))
        before = await stack.enter_async_context(front(public_port, broker=broker.port, gateways=port))
        await stack.enter_async_context(running([broker]))
        await stack.enter_async_context(running(nodes))
        connector = aiohttp.TCPConnector(force_close=True)  # a kept connection would stay with one gateway
        timeout = aiohttp.ClientTimeout(total=3 * CALL_TIMEOUT)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=connector, timeout=timeout))
        credentials = CredentialStore(operator, vault, clock=get_utc_now)
        url = f"http://127.0.0.1:{port}/mcp"
        yield Split(product, credentials, vendor, broker, nodes, url, public_url, before, operator, http)


def _processes(
    product: Product, vendor: Shop, folder: Path, public_url: str, count: int, hosts: Sequence[str]
) -> tuple[Process, list[Process]]:
    broker_port, known = free_port(), folder / "gateways.pem"
    shared = {
        "SHOP_URL": vendor.url,
        "MCPIST_ALLOWED_PRIVATE_HOSTS": ",".join([vendor.host, *hosts]),
        "MCPIST_PUBLIC_URL": public_url,
    }
    nodes: list[Process] = []
    for number in range(count):
        home = folder / f"gateway-{number}"
        (home / KEYS_FOLDER).mkdir(parents=True)
        digest = home / KEYS_FOLDER / "audit-digest.json"
        digest.write_text(json.dumps({"key": product.deployment.digest_key.reveal()}))
        digest.chmod(0o600)
        make_key_pair(home / "own.pem", home / "public.pem")
        with known.open("ab") as file:
            file.write((home / "public.pem").read_bytes())
        variables = {
            **shared,
            "MCPIST_DATABASE_URL": build_role_url(product.database, "mcpist_gateway"),
            "MCPIST_BROKER_URL": f"http://127.0.0.1:{broker_port}",
            "MCPIST_GATEWAY_KEY": str(home / "own.pem"),
            "MCPIST_CALL_TIMEOUT": str(CALL_TIMEOUT),
        }
        nodes.append(Process("gateway", home, free_port(), variables))
    make_key_pair(folder / "worker.pem", folder / "workers.pem")
    variables = {
        **shared,
        "MCPIST_DATABASE_URL": build_role_url(product.database, "mcpist_broker"),
        "MCPIST_BROKER_GATEWAYS": str(known),
        "MCPIST_BROKER_WORKERS": str(folder / "workers.pem"),
    }
    return Process("broker", folder / "broker", broker_port, variables), nodes


def build_role_url(database: ScratchDatabase, role: str) -> str:
    """The database with the login of one role, and nobody else's."""
    parts = urlsplit(database.admin.url.reveal())
    where = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{role}:{quote(PASSWORDS[role].reveal())}@{where}{parts.path}?{parts.query}"


def show_metrics(process: Process) -> None:
    """Have a process show its metrics at a port of its own."""
    process.variables["MCPIST_METRICS_PORT"] = str(free_port())


async def run_operator_command(deployment: Split, *arguments: str, given: str = "") -> Any:
    """Run a command on the broker's machine as the operator, who has the administrator's login to the database and the
    roles' passwords; what it printed."""
    passwords = deployment.broker.home / KEYS_FOLDER / PASSWORDS_FILE
    passwords.touch(0o600)
    passwords.write_text(json.dumps({role: password.reveal() for role, password in PASSWORDS.items()}))
    variables = {
        "MCPIST_DATABASE_URL": deployment.product.database.admin.url.reveal(),
        "MCPIST_ALLOWED_PRIVATE_HOSTS": deployment.broker.variables["MCPIST_ALLOWED_PRIVATE_HOSTS"],
        "MCPIST_PUBLIC_URL": deployment.public_url,
    }
    return await command(deployment.broker.home, deployment.broker.port, *arguments, given=given, **variables)


def add_console(deployment: Split, folder: Path, **variables: str) -> Process:
    """A control plane in a process of its own, which is not started yet; the broker is started again to know it."""
    home = folder / "console"
    home.mkdir()
    make_key_pair(home / "own.pem", folder / "consoles.pem")
    deployment.broker.variables["MCPIST_BROKER_CONSOLES"] = str(folder / "consoles.pem")
    variables = {
        "MCPIST_PUBLIC_URL": deployment.public_url,
        "MCPIST_DATABASE_URL": build_role_url(deployment.product.database, "mcpist_console"),
        "MCPIST_BROKER_URL": deployment.gateways[0].variables["MCPIST_BROKER_URL"],
        "MCPIST_GATEWAY_URL": f"http://127.0.0.1:{deployment.gateways[0].port}",
        "MCPIST_CONSOLE_KEY": str(home / "own.pem"),
        **variables,
    }
    return Process("console", home, free_port(), variables, program=deployment.broker.program)


def add_worker(deployment: Split, folder: Path, **variables: str) -> Process:
    """A worker in a process of its own, which is not started yet."""
    home = folder / "worker"
    (home / KEYS_FOLDER).mkdir(parents=True)
    shutil.copy2(deployment.gateways[0].home / KEYS_FOLDER / "audit-digest.json", home / KEYS_FOLDER)
    variables = {
        **deployment.gateways[0].variables,
        "MCPIST_DATABASE_URL": build_role_url(deployment.product.database, "mcpist_worker"),
        "MCPIST_WORKER_KEY": str(folder / "worker.pem"),
        **variables,
    }
    del variables["MCPIST_GATEWAY_KEY"]
    return Process("worker", home, free_port(), variables, program=deployment.broker.program)


@contextlib.asynccontextmanager
async def running(processes: Iterable[Process]) -> AsyncIterator[None]:
    """Keep them running until the block is left."""
    processes = list(processes)
    try:
        await asyncio.gather(*(one.start() for one in processes))
        yield
    finally:
        for one in processes:
            if one.running is not None:
                one.send(signal.SIGCONT) if one.running.returncode is None else None
                await one.end()
                hear_home(one.home)
