"""Two gateways, a module whose notes change, and clients that listen."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import Field

from gateway.catalogue import Catalogue, build_catalogue
from modules.kit import Context, Module, PromptMessages, ResourceContents, build_user_prompt, prompt, read_text_resource
from modules.kit import resource as declare_resource
from modules.kit import tool as declare_tool
from tests.path.test_listening import Stream, listening
from tests.support.mcp_client import MODERN, NEWEST, Answer, bearer, envelope, headers_for
from tests.support.mcp_schema import check_message
from tests.support.postgres import ScratchDatabase
from tests.support.product import Node, Person, Product, product_on
from tests.support.toy_modules import ADDS, Said

NOTE = "resource://desk/notes/{}"
PLAIN = b"view=plain"


def build_desk_catalogue() -> Catalogue:
    """The module ``desk`` and, to be permitted alone, ``shelf``."""

    @declare_tool(hints=ADDS, scopes=["desk"])
    async def change(
        context: Context,
        number: Annotated[int, Field(description="Which")],
        shared: Annotated[bool, Field(description="For all")] = True,
        uri: Annotated[str, Field(description="Another URI")] = "",
    ) -> Said:
        """Change a note."""
        context.announce_resource_change(uri or NOTE.format(number), shared=shared)
        return Said(said="changed")

    @declare_resource("resource://desk/notes/{number}", mime_type="text/plain", scopes=["desk"])
    async def note(context: Context, number: Annotated[int, Field(description="Which")]) -> ResourceContents:
        """A note."""
        return read_text_resource(str(number))

    @prompt(scopes=["desk"])
    async def tidy(context: Context) -> PromptMessages:
        """Tidy the desk."""
        return build_user_prompt("Tidy up")

    scopes = frozenset({"desk"})
    return build_catalogue([Module("desk", "Desk", "Notes.", scopes, (change,), resources=(note,), prompts=(tidy,))])


@dataclass
class StreamNodes:
    """A product with two gateways, for any number of tests: each has tenants of its own."""

    product: Product
    node: Node
    other: Node
    tests: int = 0

    async def create_app(self) -> "StreamApp":
        self.tests += 1
        tenants = [await self.product.tenant(f"{name}-{self.tests}") for name in ("acme", "globex")]
        people = [
            await self.product.person(tenant, f"{name}-{self.tests}@mail.test", allow=["*"])
            for name, tenant in zip(("ada", "bob", "eve"), (tenants[0], *tenants), strict=True)
        ]
        return StreamApp(self.product, self.node, self.other, *people)


@dataclass
class StreamApp:
    """What one test has of it: Ada and Bob are of one tenant, Eve of another."""

    product: Product
    node: Node
    other: Node
    ada: Person
    bob: Person
    eve: Person

    async def change(self, number: int, *, by: Person | None = None, **params: Any) -> None:
        """Have a note changed, on the first gateway."""
        answer = await self.node.call((by or self.ada).token, "desk", "change", {"number": number, **params})
        assert answer.value == {"said": "changed"}

    async def subscribe(self, person: Person, *numbers: int, node: Node | None = None) -> None:
        for number in numbers:
            answer = await (node or self.node).post(person.token, "resources/subscribe", {"uri": NOTE.format(number)})
            assert answer.result == {}


@contextlib.asynccontextmanager
async def open_stream_nodes(database: ScratchDatabase, home: Path) -> AsyncIterator[StreamNodes]:
    async with (
        product_on(database, home / "home", catalogue=build_desk_catalogue()) as product,
        product.gateway() as node,
        product.gateway() as other,
    ):
        yield StreamNodes(product, node, other)


class Listener(Stream):
    """One `subscriptions/listen`, as its client sees it."""

    def __init__(self, notifications: Any) -> None:
        super().__init__()
        body = orjson.dumps(envelope(MODERN, "subscriptions/listen", {"notifications": notifications}, "s-1"))
        self._requests: list[Any] = [{"type": "http.request", "body": body}]

    async def receive(self) -> dict[str, Any]:
        return self._requests.pop() if self._requests else await super().receive()


@contextlib.asynccontextmanager
async def listen(node: Node, person: Person, notifications: Any, query: bytes = b"") -> AsyncIterator[Listener]:
    """Listen as a client of 2026-07-28."""
    stream = Listener(notifications)
    head = headers_for(MODERN, "subscriptions/listen") | bearer(person.token) | {"host": "127.0.0.1:8080"}
    fields = [(name.encode(), value.encode()) for name, value in head.items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": query, "headers": fields}
    task = asyncio.ensure_future(node.gateway.app({**scope, "client": ("127.0.0.1", 5)}, stream.receive, stream.send))
    try:
        async with asyncio.timeout(10):
            await stream.opened.wait()
        yield stream
    finally:
        stream.leaving.set()
        async with asyncio.timeout(10):
            await task


@contextlib.asynccontextmanager
async def hear(node: Node, person: Person, query: bytes = b"") -> AsyncIterator[Stream]:
    """Open the stream of a handshake client."""
    async with listening(node, person.token, {"mcp-protocol-version": NEWEST}, query=query) as stream:
        yield stream


def updated(stream: Stream) -> list[str]:
    """The URIs that were told."""
    found: list[str] = []
    for message in stream.messages:
        check_message(MODERN if isinstance(stream, Listener) else NEWEST, "", message)
        if message.get("method") == "notifications/resources/updated":
            found.append(message["params"]["uri"])
    return found


def changed_lists(stream: Stream) -> list[str]:
    """The kinds of lists that were told to have changed, in order."""
    methods = [message.get("method", "") for message in stream.messages]
    return [method.split("/")[1] for method in methods if method.endswith("/list_changed")]


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until a condition holds, which nothing announces to a test."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def error_code(answer: Answer) -> int:
    return answer.message["error"]["code"]
