"""An error with a code: an object beside the text for who branches on it, alone and inside a batch."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import pytest
from pydantic import Field

from gateway.catalogue import build_catalogue
from modules.kit import Context, DocumentedError, ErrorForm, ErrorKind, Module, ToolError, tool
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


LISTED = ErrorForm(
    invalid_arguments=ErrorKind(1002, "Validation failed", "ValidationError"),
    failure=ErrorKind(1003, "Database error", "DatabaseError"),
)


@tool(hints=READS, scopes=["archive"])
async def look_up(
    context: Context,
    case: Annotated[str, Field(max_length=20, description="Which error")],
    number: Annotated[int, Field(ge=1, description="A number")] = 1,
) -> Said:
    """Look an item up."""
    if case == "unexpected":
        raise RuntimeError("SECRET")
    details = {"long": {"text": "x" * 10_000}, "too long": {"text": "x" * 17_000}}.get(case, {"id": f"{HIDDEN}7"})
    raise DocumentedError(ErrorKind(1001, "Item not found", "ItemNotFoundError"), details)


@dataclass
class CodesApp:
    """A product with errors that have codes."""

    node: Node
    ada: Person

    async def fail(self, case: str, **options: Any) -> Any:
        return (await self.node.call(self.ada.token, "shelf", "find", {"case": case}, **options)).result

    async def look_up(self, **params: Any) -> Any:
        """The object of the error of a module whose document lists its errors."""
        answer = (await self.node.call(self.ada.token, "archive", "look_up", params)).result
        assert answer["isError"]
        first, second = answer["content"][0]["text"].splitlines()
        error = answer["structuredContent"]
        assert (first, orjson.loads(second)) == (error["message"], error)
        assert datetime.fromisoformat(error["data"].pop("timestamp")).tzinfo is not None
        return error


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[CodesApp]:
    shelf = Module("shelf", "Shelf", "A shelf.", frozenset({"shelf"}), (find,))
    archive = Module("archive", "Archive", "An archive.", frozenset({"archive"}), (look_up,), errors=LISTED)
    catalogue = build_catalogue([shelf, archive])
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


async def test_a_module_whose_document_lists_its_errors_has_the_form_of_it(app: CodesApp) -> None:
    found = await app.look_up(case="plain")
    data = {"type": "ItemNotFoundError", "details": {"id": "7"}}
    assert found == {"code": 1001, "message": "Item not found", "data": data}
    assert len((await app.look_up(case="long"))["data"]["details"]["text"]) == 10_000
    assert (await app.look_up(case="too long"))["data"]["details"] == {"left_out": True}


@pytest.mark.parametrize(
    ("params", "details"),
    [
        ({}, {"field": "case", "value": None, "constraint": "is required"}),
        ({"case": "x" * 5_000}, {"field": "case", "value": "x" * 60}),
        ({"case": 1}, {"field": "case", "value": 1}),
        ({"case": "x", "number": 0}, {"field": "number", "value": 0}),
        ({"case": "x", "numbers": [1]}, {"field": "numbers", "value": "[1]"}),
    ],
)
async def test_arguments_that_do_not_fit_are_one_of_its_errors(
    app: CodesApp, params: dict[str, Any], details: dict[str, Any]
) -> None:
    error = await app.look_up(**params)
    assert (error["code"], error["message"], error["data"]["type"]) == (1002, "Validation failed", "ValidationError")
    assert details.items() <= error["data"]["details"].items()


async def test_what_it_did_not_expect_is_one_of_its_errors(app: CodesApp) -> None:
    error = await app.look_up(case="unexpected")
    assert (error["code"], error["message"], error["data"]["type"]) == (1003, "Database error", "DatabaseError")
    details = error["data"]["details"]
    assert details["message"] == f"the tool failed inside MCPist; reference {details['reference']}"


async def test_a_step_of_a_batch_has_the_code_of_the_document(app: CodesApp) -> None:
    steps = [{"id": "a", "module": "archive", "tool_name": "look_up", "params": {"case": "plain"}}]
    answer = (await app.node.tool(app.ada.token, "batch", {"commands": steps})).result
    (step,) = answer["structuredContent"]["steps"]
    assert (step["error"], step["details"]["code"]) == ("Item not found", 1001)
    assert step["details"]["data"]["details"] == {"id": "7"}
