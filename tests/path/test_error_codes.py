"""An error with a code: an object beside the text for who branches on it, alone and inside a batch."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import orjson
import pytest
from pydantic import Field

from gateway.catalogue import build_catalogue
from modules.kit import Context, Module, ToolError, tool
from tests.support.mcp_client import LEGACY
from tests.support.postgres import ScratchDatabase
from tests.support.product import Node, Person, product_on
from tests.support.toy_modules import READS, Said

HIDDEN = "\u202e\u200b\U000e0041"
DETAILS: dict[str, Any] = {
    "plain": {"type": "ItemNotFoundError", "id": 7, "known": [1, None, {"a": True}]},
    "hidden": {f"na{HIDDEN}me": f"a{HIDDEN}b", "list": [f"{HIDDEN}c"]},
    "large": {"text": "x" * 2_000},
    "no JSON": {"text": object()},
    "surrogate": {"text": "\ud800"},
}


@tool(hints=READS, scopes=["shelf"])
async def find(context: Context, case: Annotated[str, Field(description="Which error")]) -> Said:
    """Find an item."""
    if case == "text code":
        raise ToolError("not found", retry="look again", code=f"ITEM_{HIDDEN}NOT\nFOUND{'x' * 100}")
    raise ToolError(f"Item{HIDDEN}\nnot found", code=1001, details=DETAILS.get(case))


@dataclass
class CodesApp:
    """A product with errors that have codes."""

    node: Node
    ada: Person

    async def fail(self, case: str, **options: Any) -> Any:
        return (await self.node.call(self.ada.token, "shelf", "find", {"case": case}, **options)).result


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[CodesApp]:
    catalogue = build_catalogue([Module("shelf", "Shelf", "A shelf.", frozenset({"shelf"}), (find,))])
    async with product_on(database, tmp_path / "home", catalogue=catalogue) as product, product.gateway() as node:
        tenant = await product.tenant("acme")
        yield CodesApp(node, await product.person(tenant, "ada@acme.test", allow=["*"]))


async def test_the_object_stands_beside_the_text(app: CodesApp) -> None:
    answer = await app.fail("plain")
    error = {"code": 1001, "message": "Item\nnot found", "data": DETAILS["plain"]}
    assert answer["isError"]
    assert answer["structuredContent"] == {"success": False, "error": error}
    first, second = answer["content"][0]["text"].splitlines()
    assert first.endswith("not found")
    assert orjson.loads(second) == answer["structuredContent"]


async def test_details_are_cleaned_and_bounded(app: CodesApp) -> None:
    hidden = (await app.fail("hidden"))["structuredContent"]["error"]
    assert hidden["data"] == {"name": "ab", "list": ["c"]}
    for case in ("large", "no JSON", "surrogate"):
        assert (await app.fail(case))["structuredContent"]["error"]["data"] == {"left_out": True}
    bare = (await app.fail("none"))["structuredContent"]["error"]
    assert bare == {"code": 1001, "message": "Item\nnot found"}
    coded = (await app.fail("text code"))["structuredContent"]["error"]
    assert coded == {"code": f"ITEM_NOT FOUND{'x' * 46}", "message": "not found; look again"}


async def test_revisions_without_structured_content_have_it_in_the_text(app: CodesApp) -> None:
    answer = await app.fail("plain", revision=LEGACY[0])
    assert "structuredContent" not in answer
    assert '"code":1001' in answer["content"][0]["text"].splitlines()[1]


async def test_a_step_of_a_batch_has_code_and_details(app: CodesApp) -> None:
    steps = [{"id": name, "module": "shelf", "tool_name": "find", "params": {"case": name}} for name in ("plain", "n")]
    answer = (await app.node.tool(app.ada.token, "batch", {"commands": steps})).result
    plain, bare = answer["structuredContent"]["steps"]
    assert (plain["status"], plain["details"]) == ("error", {"code": 1001, "data": DETAILS["plain"]})
    assert (bare["error"], bare["details"]) == ("Item\nnot found", {"code": 1001})
    assert HIDDEN[1] not in answer["content"][0]["text"]
    line = answer["content"][0]["text"].splitlines()[0]
    assert line.startswith("plain error: Item")
    assert orjson.loads(line[line.index("{") :]) == {"code": 1001, "data": DETAILS["plain"]}
