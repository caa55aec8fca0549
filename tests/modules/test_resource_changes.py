"""Tools tell of the resources that they change: by URIs that lead to these, once they have ended without an error."""

import asyncio
import importlib
from collections.abc import Sequence
from typing import Annotated, Any, cast

import pytest
from pydantic import Field

from gateway.catalogue import CatalogueTool, load_installed_modules
from modules.kit import Context, ResourceContents, ToolError, read_text_resource, resource, tool
from modules.kit.parameters import CHANGE_HINTS
from modules.kit.resource_changes import ChangedResource, announce_changes, changed, expand_uri, list_changed_uris
from modules.kit.results import ResultModel
from tools.module_docs import build_example

CATALOGUE = load_installed_modules()
CHANGES: dict[str, dict[str, Sequence[ChangedResource]]] = {
    module.name: importlib.import_module(f"modules.{module.name}.resource_changes").CHANGES
    for module in CATALOGUE.modules
    if module.resources and module.name != "rag"  # whose tools learn the id of a document as they store it
}
CASES = [(name, tool_name) for name, changes in CHANGES.items() for tool_name in changes]
LISTS = {
    "entities": [{"name": "Ada 会", "entityType": "person", "observations": []}],
    "relations": [{"from": "Ada", "to": "Acme/1", "relationType": "works_at"}],
    "observations": [{"entityName": "Ada", "contents": ["x"]}],
    "deletions": [{"entityName": "Ada", "observations": ["x"]}],
    "entityNames": ["Ada"],
    "jsonl": '{"type":"entity","name":"Ada","entityType":"person","observations":[]}',
}


class Done(ResultModel):
    done: bool = True


class Listener:
    """The context of a tool that announces."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def announce_resource_change(self, uri: str, *, shared: bool = False) -> None:
        assert not shared, "a subscriber without an account of their own would learn when others work"
        self.heard.append(uri)


@resource("resource://shop/{shop}/orders/{+path}", "shop://{shop}/{+path}", mime_type="text/plain", scopes=["shop"])
async def order(
    context: Context,
    shop: Annotated[str, Field(description="Shop")],
    path: Annotated[str, Field(description="Path")],
) -> ResourceContents:
    """An order."""
    return read_text_resource("x")


@tool(hints=CHANGE_HINTS, scopes=["shop"])
async def change_order(
    context: Context, name: Annotated[str, Field(description="x")], path: Annotated[str, Field(description="x")]
) -> Done:
    """Change an order."""
    if path == "gone":
        raise ToolError("there is no such order")
    return Done()


def find_tool(module: str, name: str) -> CatalogueTool:
    return next(one for one in CATALOGUE.tools[module] if one.tool.name == name)


def find_arguments(module: str, name: str) -> dict[str, Any]:
    """Arguments of a right call, as the gateway passes them."""
    one = find_tool(module, name)
    given = {**build_example(one.owner, one)}
    given |= {parameter: value for parameter, value in LISTS.items() if parameter in given}
    return dict(one.tool.arguments.model_validate(given).__dict__)


@pytest.mark.parametrize(("module", "name"), CASES)
def test_the_uris_lead_to_resources_of_the_module(module: str, name: str) -> None:
    assert not find_tool(module, name).tool.hints.read_only
    uris = list_changed_uris(CHANGES[module][name], find_arguments(module, name))
    assert uris
    for uri in uris:
        found = [
            variables
            for one in CATALOGUE.resources[module]
            for template in one.templates
            if (variables := template.match(uri)) is not None
        ]
        assert len(found) == 1, (uri, "one resource has this URI")


def test_a_tool_tells_what_it_has_changed() -> None:
    (told,) = announce_changes([change_order], {"change_order": [changed(order, shop="name", path="path")]})

    async def run(path: str) -> list[str]:
        listener = Listener()
        try:
            await told.run(cast("Context", listener), name="a b/会", path=path)
        except ToolError:
            return ["failed", *listener.heard]
        return listener.heard

    encoded = "a%20b%2F%E4%BC%9A"
    assert asyncio.run(run("1/2")) == [f"resource://shop/{encoded}/orders/1/2", f"shop://{encoded}/1/2"]
    assert asyncio.run(run("gone")) == ["failed"]
    assert asyncio.run(run("x" * 2_048)) == []
    assert (told.name, told.arguments, told.result) == ("change_order", change_order.arguments, Done)


def test_what_is_left_out_names_nothing() -> None:
    assert list_changed_uris([changed(order, shop="name", path="path")], {"name": "a", "path": None}) == []
    assert list_changed_uris([changed(order, shop="name", path="path")], {"name": "a"}) == []
    many = ChangedResource(order, lambda _: [{"shop": number, "path": "p"} for number in range(500)])
    assert len(list_changed_uris([many], {})) == 100


def test_a_uri_is_expanded_as_clients_do() -> None:
    assert expand_uri("a://{x}/{+y}", {"x": "a/b@c", "y": "d/e f"}) == "a://a%2Fb%40c/d/e%20f"
    assert expand_uri("a://{x}/{+y}", {"x": "{y}", "y": 7}) == "a://%7By%7D/7"
