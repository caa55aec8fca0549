"""The servers that measurements share, each started when it is first needed."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tests.bench.access_token import access_token, prepare
from tests.bench.client import Client
from tests.bench.github import connect_github
from tests.bench.options import Options
from tests.bench.processes import child_named
from tests.bench.servers.bearer import TOKEN
from tests.bench.spawn import Started, free_port, listening, module, started
from tests.bench.wrk import Request, Target


@dataclass(frozen=True, slots=True)
class Product:
    """A running product with the toy module and GitHub, whose place the upstream takes. `token` is the first
    administrator's; `pid` is the gateway's worker."""

    home: Path
    port: int
    pid: int
    token: str
    upstream: int

    def client(self) -> Client:
        """A client that is the first administrator."""
        return Client(self.port, self.token)

    @property
    def postgres(self) -> int:
        """The pid of its PostgreSQL."""
        return child_named(self.pid, "postgres")


@dataclass(frozen=True, slots=True)
class Reference:
    """A running server; the one token of a reference is ``servers.bearer.TOKEN``."""

    port: int
    pid: int


class Lab:
    """Servers, their folder, the options, and where to tell progress."""

    def __init__(
        self, options: Options, folder: Path, progress: Callable[[str], None], stack: contextlib.ExitStack
    ) -> None:
        self.options = options
        self.folder = folder
        self.progress = progress
        self._stack = stack
        self._ours: list[int] = []

    @cached_property
    def product(self) -> Product:
        """The product that most measurements share."""
        return self.new_product("product")

    @cached_property
    def upstream(self) -> Reference:
        """What stands for GitHub."""
        return self.reference("upstream")

    @cached_property
    def floor(self) -> Reference:
        """The bare proxy: the reference of budgets.md."""
        return self.reference("floor", upstream=self.upstream.port)

    def new_product(self, name: str, upstream: Reference | None = None) -> Product:
        """One more product, on a fresh data folder; `upstream` is what stands for GitHub, if not the usual one."""
        upstream = upstream or self.upstream
        self.progress(f"starting the product on a new data folder ({name})")
        home, port = self.folder / name, free_port()
        if self.options.jwt:
            prepare(home)
        given = {"home": home, "port": port, "upstream": upstream.port}
        running = self.start(name, module("product", **given))
        connect_github(home, upstream.port)
        token = access_token(home, port) if self.options.jwt else running.said["api_token"]
        return Product(home, port, running.pid, token, upstream.port)

    def new_workers(self, name: str, workers: int) -> Product:
        """One more product, as `mcpist up --workers` starts it; without the toy module."""
        self.progress(f"starting the product with {workers} workers ({name})")
        home, port = self.folder / name, free_port()
        unlimited = {"MCPIST_RATE_PER_SECOND": "1000000", "MCPIST_RATE_BURST": "1000000", "MCPIST_CONCURRENCY": "10000"}
        given = {"MCPIST_HOME": str(home), "MCPIST_PORT": str(port)}
        reach = {"MCPIST_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{self.upstream.port}"}
        command = [str(Path(sys.executable).with_name("mcpist")), "up", "--json", "--workers", str(workers)]
        running = self.start(name, command, {**os.environ, **unlimited, **given, **reach})
        connect_github(home, self.upstream.port)
        return Product(home, port, running.pid, running.said["api_token"], self.upstream.port)

    def reference(self, name: str, **given: object) -> Reference:
        """A server of tests/bench/servers."""
        running = self.start(name, module(f"servers.{name}", **given))
        return Reference(running.said["port"], running.pid)

    def of_product(self, label: str, request: Request, product: Product | None = None) -> Target:
        """The product as a target: its worker, its database and whatever else it started count."""
        at = product or self.product
        return self.target(label, at.port, request, at.pid)

    def of_reference(self, label: str, request: Request, reference: Reference, *also: int) -> Target:
        """A reference as a target; `also` are processes that work for it."""
        request = replace(request, tokens=(TOKEN,))
        return self.target(label, reference.port, request, reference.pid, *also)

    def target(self, label: str, port: int, request: Request, *pids: int) -> Target:
        """Any server as a target; `pids` are the processes that work for it."""
        return Target(label, port, request, pids, tuple(self._ours))

    def request(self, body: str, expect: str, *tokens: str) -> Request:
        """A request of an MCP client; without `tokens`, the shared product's first administrator's."""
        headers = (("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", "2025-11-25"))
        return Request("/mcp", body, expect, tokens or (self.product.token,), headers)

    def start(self, name: str, argv: list[str], environment: Mapping[str, str] | None = None) -> Started:
        """A program that says when it is ready (:func:`tests.bench.spawn.started`)."""
        return self._ran(started(argv, self.folder / f"{name}.log", environment))

    def listen(self, name: str, argv: list[str], port: int, environment: Mapping[str, str]) -> Started:
        """A program that is ready when it listens, in a folder of its own."""
        folder = self.folder / f"of-{name}"
        folder.mkdir()
        return self._ran(listening(argv, self.folder / f"{name}.log", port, environment, folder=folder))

    def _ran(self, program: contextlib.AbstractContextManager[Started]) -> Started:
        running = self._stack.enter_context(program)
        self._ours.append(running.pid)
        return running


@contextlib.contextmanager
def lab(options: Options, progress: Callable[[str], None]) -> Generator[Lab]:
    """Everything that is started ends with the block, in reverse order."""
    with tempfile.TemporaryDirectory(prefix="mcpist-bench-") as folder, contextlib.ExitStack() as stack:
        Path(folder).chmod(0o755)  # PostgreSQL's user has to get through
        yield Lab(options, Path(folder), progress, stack)
