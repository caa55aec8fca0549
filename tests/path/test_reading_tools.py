"""Tools that read by tools of other modules: what they declare, and what their caller may use."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from core.audit.event import AuditEventKind
from gateway.catalogue import build_catalogue
from modules.kit import Context, Hints, Module, tool
from modules.knowledge_graph import MODULE as GRAPH
from tests.support.postgres import DatabaseServer
from tests.support.product import Node, Person, Product, product_on
from tests.support.toy_modules import Lab

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)


class Passed(BaseModel):
    """What the other tool has answered."""

    answer: Any


def build_reader() -> Module:
    """A module whose one tool reads by two others; one of them writes, and a third is not declared."""

    @tool(hints=READS, scopes=["reader"], reads=["lab.look", "lab.write", "knowledge_graph.search"])
    async def relay(
        context: Context,
        name: Annotated[str, Field(description="Which")],
        arguments: Annotated[dict[str, Any], Field(description="Its arguments")],
    ) -> Passed:
        """Read by another tool."""
        return Passed(answer=await context.read(name, **arguments))

    return Module("reader", "Reader", "Reads by others.", frozenset({"reader"}), (relay,))


class Scene:
    """A product with the reader, and people of one tenant."""

    def __init__(self, product: Product, node: Node, lab: Lab) -> None:
        self.product, self.node, self.lab = product, node, lab

    async def relay(self, person: Person, name: str, **arguments: Any) -> Any:
        return await self.node.call(person.token, "reader", "relay", {"name": name, "arguments": arguments})


@pytest.fixture
async def scene(database_server: DatabaseServer, tmp_path: Any) -> AsyncIterator[Scene]:
    lab = Lab()
    catalogue = build_catalogue([GRAPH, lab.module(), build_reader()])
    async with (
        database_server.database() as database,
        product_on(database, tmp_path / "home", catalogue=catalogue) as product,
        product.gateway() as node,
    ):
        yield Scene(product, node, lab)


async def test_what_the_caller_may_use_is_read_and_audited(scene: Scene) -> None:
    acme = await scene.product.tenant("acme")
    ada = await scene.product.person(acme, "ada@acme.test", allow=["reader.relay", "lab.look"])
    answer = await scene.relay(ada, "lab.look", at="the moon")
    assert answer.value == {"answer": {"said": "the moon"}}
    recorded = await scene.product.events(acme, AuditEventKind.CALL_INTENT)
    assert [(one.module, one.tool) for one in recorded] == [("reader", "relay"), ("lab", "look")]


async def test_what_they_may_not_use_is_missing(scene: Scene) -> None:
    acme = await scene.product.tenant("acme")
    ada = await scene.product.person(acme, "ada@acme.test", allow=["reader.relay", "lab.write"])
    for name in ("lab.look", "knowledge_graph.search"):
        answer = await scene.relay(ada, name)
        assert answer.failed
        assert answer.text.endswith(f"this needs {name}, which you cannot use")


async def test_a_tool_that_changes_something_is_never_read_by(scene: Scene) -> None:
    acme = await scene.product.tenant("acme")
    ada = await scene.product.person(acme, "ada@acme.test", allow=["*"])
    assert (await scene.relay(ada, "lab.write", text="x")).failed
    assert scene.lab.effects == []


async def test_what_is_not_declared_cannot_be_read_by(scene: Scene) -> None:
    acme = await scene.product.tenant("acme")
    ada = await scene.product.person(acme, "ada@acme.test", allow=["*"])
    answer = await scene.relay(ada, "lab.big")
    assert answer.failed
    assert "declared" not in answer.text, "a fault of the module, whose text is not shown"


async def test_wrong_arguments_are_told(scene: Scene) -> None:
    acme = await scene.product.tenant("acme")
    ada = await scene.product.person(acme, "ada@acme.test", allow=["*"])
    answer = await scene.relay(ada, "lab.look", where="here")
    assert answer.failed
    assert "where" in answer.text
