"""A product with a module of asynchronous tools, a worker that runs its jobs, and people of two tenants."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

from pydantic import BaseModel, Field

from gateway.catalogue import build_catalogue, load_installed_modules
from modules.kit import Context, Execution, FormQuestion, Hints, Module, Tool, ToolError, tool
from tests.support.eventually import within
from tests.support.job_worker import run_jobs
from tests.support.mcp_client import MODERN, NEWEST, Answer
from tests.support.postgres import ScratchDatabase
from tests.support.product import Node, Person, Product, product_on

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
WRITES = Hints(read_only=False, destructive=False, idempotent=False, open_world=False)
EXTENSION = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
DECLARED = {"_meta": {CAPABILITIES: {"extensions": {EXTENSION: {}}}}}
BIG = 2**80
FORGET = """DELETE FROM jobs.jobs; DELETE FROM jobs.schedules; DELETE FROM auth.mandates; DELETE FROM vault.notices;
    DELETE FROM audit.incoming"""
"""Removes what tests of jobs leave."""


class Named(BaseModel):
    """A form with one field."""

    name: str


class Made(BaseModel):
    made: str
    number: int = 0
    by: str = ""


@dataclass(slots=True)
class Workshop:
    """What the tools of the module ``workshop`` did, and what they wait for."""

    effects: list[str] = field(default_factory=list[str])
    started: asyncio.Event = field(default_factory=asyncio.Event)
    resume: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    is_wet: bool = True
    """Whether the wood is, and the tool `fail` fails."""

    def renew(self) -> None:
        """Forget what was done."""
        self.effects.clear()
        self.started, self.resume, self.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.is_wet = True

    def module(self) -> Module:
        tools = (
            self._make(), self._watch(), self._build(), self._keep(), self._fail(), self._crash(), self._ask(),
            self._fill_in(), self._look(), self._think(),
        )  # fmt: skip
        return Module("workshop", "Workshop", "Tools that take long.", frozenset({"workshop"}), tools)

    def _make(self) -> Tool:
        @tool(hints=WRITES, scopes=["workshop"], execution=Execution.ASYNC)
        async def make(context: Context, what: Annotated[str, Field(description="What to make")]) -> Made:
            """Make something at once."""
            self.effects.append(what)
            await context.report_progress(1, 2, "half made")
            return Made(made=what, number=BIG, by=str(context.user_id))

        return make

    def _watch(self) -> Tool:
        @tool(hints=READS, scopes=["workshop"], execution=Execution.ASYNC)
        async def watch(context: Context, what: Annotated[str, Field(description="What to watch")] = "") -> Made:
            """Watch how something is made."""
            return Made(made=what)

        return watch

    def _build(self) -> Tool:
        @tool(hints=WRITES, scopes=["workshop"], execution=Execution.ASYNC)
        async def build(context: Context) -> Made:
            """Build until told to stop."""
            await context.report_progress(3, 10, "laying bricks")
            self.started.set()
            try:
                await self.resume.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return Made(made="house")

        return build

    def _keep(self) -> Tool:
        @tool(hints=WRITES, scopes=["workshop"], execution=Execution.ASYNC)
        async def keep(context: Context) -> Made:
            """Write something down, then build until told to stop."""
            await context.documents.put("plan", "a house")
            self.started.set()
            try:
                await self.resume.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return Made(made="plan")

        return keep

    def _fail(self) -> Tool:
        @tool(hints=READS, scopes=["workshop"], execution=Execution.ASYNC)
        async def fail(context: Context) -> Made:
            """Fail as tools may."""
            if self.is_wet:
                raise ToolError("the wood is wet")
            return Made(made="shelf")

        return fail

    def _crash(self) -> Tool:
        @tool(hints=READS, scopes=["workshop"], execution=Execution.ASYNC)
        async def crash(context: Context) -> Made:
            """Fail as no tool should."""
            raise RuntimeError("hunter2")

        return crash

    def _ask(self) -> Tool:
        @tool(hints=WRITES, scopes=["workshop"], execution=Execution.ASYNC, asks=True)
        async def ask(context: Context) -> Made:
            """Ask the person first."""
            answer = await context.confirm("Burn it?", label="Yes", instead="give agreed true")
            return Made(made=answer.value)

        return ask

    def _fill_in(self) -> Tool:
        @tool(hints=WRITES, scopes=["workshop"], execution=Execution.ASYNC)
        async def fill_in(context: Context) -> Made:
            """Ask for two things at once."""
            who, colour = FormQuestion("who", "For whom?", Named), FormQuestion("colour", "Which colour?", Named)
            await context.ask_all(who, colour)
            answers = [await context.ask(question) for question in (who, colour)]
            return Made(made=" ".join(answer.name for answer in answers if answer is not None))

        return fill_in

    def _look(self) -> Tool:
        @tool(hints=READS, scopes=["workshop"])
        async def look(context: Context, at: Annotated[str, Field(description="At what")] = "") -> Made:
            """Look at something, at once."""
            return Made(made=at)

        return look

    def _think(self) -> Tool:
        @tool(hints=READS, scopes=["workshop"])
        async def think(context: Context) -> Made:
            """Think within the call, until told to stop."""
            self.started.set()
            await self.resume.wait()
            return Made(made="thought")

        return think


@dataclass
class TaskApp:
    """A product whose gateways are `node` and `other`."""

    product: Product
    workshop: Workshop
    node: Node
    other: Node
    ada: Person
    bob: Person
    eve: Person

    @contextlib.asynccontextmanager
    async def worker(self) -> AsyncIterator[None]:
        """A worker, which runs the jobs with the first gateway's handlers for as long as the block."""
        async with run_jobs(self.product, self.node):
            await within(15, self._has_worker)
            try:
                yield
            finally:
                self.workshop.resume.set()

    async def _has_worker(self) -> bool:
        async with self.product.database.admin_connection() as admin:
            return await admin.fetchval("SELECT jobs.has_worker()")

    async def with_new_people(self) -> "TaskApp":
        """The same product with people whom no other test has, in two new tenants."""
        slugs = [f"{name}-{uuid4().hex[:12]}" for name in ("acme", "globex")]
        ada, bob, eve = await add_people(self.product, *slugs)
        return replace(self, ada=ada, bob=bob, eve=eve)

    async def renew(self) -> None:
        """Forget what was done, for the next test on this product: its people stay as they are."""
        self.workshop.renew()
        async with self.product.database.admin_connection() as admin:
            await admin.execute(FORGET)

    async def start(self, tool_name: str, *, ttl: int | None = None, **params: Any) -> Answer:
        """Call a tool as a task of 2025-11-25; the answer."""
        task = {} if ttl is None else {"ttl": ttl}
        return await self.post(self.ada, "tools/call", call_of(tool_name, **params) | {"task": task})

    async def start_modern(self, tool_name: str, **params: Any) -> Answer:
        """Call a tool for a client that declares the extension; the answer."""
        return await self.modern("tools/call", **call_of(tool_name, **params))

    async def post(self, person: Person, method: str, params: Any, *, node: Node | None = None) -> Answer:
        return await (node or self.node).post(person.token, method, params, revision=NEWEST)

    async def task(self, method: str, task_id: str, person: Person | None = None, node: Node | None = None) -> Answer:
        """Send a request about a task, in 2025-11-25."""
        return await self.post(person or self.ada, f"tasks/{method}", {"taskId": task_id}, node=node)

    async def modern(self, method: str, *, person: Person | None = None, **params: Any) -> Answer:
        """Send a request that declares the extension."""
        return await self.node.post((person or self.ada).token, method, params | DECLARED, revision=MODERN)


async def add_people(product: Product, *slugs: str) -> tuple[Person, Person, Person]:
    """Create ada and bob of one tenant, and another ada of another tenant."""
    acme, globex = [await product.tenant(slug) for slug in slugs]
    return (
        await product.person(acme, f"ada@{acme.slug}.test", allow=["*"]),
        await product.person(acme, f"bob@{acme.slug}.test", allow=["*"]),
        await product.person(globex, f"ada@{globex.slug}.test", allow=["*"]),
    )


def call_of(tool_name: str, **params: Any) -> dict[str, Any]:
    """The parameters of a `tools/call`."""
    arguments = {"module": "workshop", "tool_name": tool_name, "params": params}
    return {"name": "call", "arguments": arguments}


@contextlib.asynccontextmanager
async def open_task_app(database: ScratchDatabase, tmp_path: Path, **settings: Any) -> AsyncIterator[TaskApp]:
    """A product with two gateways, whose worker a test starts."""
    workshop = Workshop()
    catalogue = build_catalogue([*load_installed_modules().modules, workshop.module()])
    async with (
        product_on(database, tmp_path / "home", catalogue=catalogue) as product,
        product.gateway(**settings) as node,
        product.gateway(**settings) as other,
    ):
        yield TaskApp(product, workshop, node, other, *await add_people(product, "acme", "globex"))
