"""What a model reads of each module, under review: `tests/snapshots/tools/<module>.json`.

A change of a tool's name, description, parameters, result or hints, and what it costs in o200k tokens, shows in the
difference of that file. To take a wanted change over: ``UPDATE_SNAPSHOTS=1 make test T=tests/gateway/sieve``
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.catalogue import load_installed_modules
from gateway.lookup_recorder import MissingName
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import RequestContext
from gateway.meta_tools.get_module_schema import get_module_schema
from gateway.sieve.sieve import Sieve
from tests.gateway.sieve.matrices import TENANTS, Matrix
from tests.support.tokens import tokens

FOLDER = Path(__file__).parents[2] / "snapshots" / "tools"
UPDATE = "UPDATE_SNAPSHOTS"
CATALOGUE = load_installed_modules()
MODULES = [module.name for module in CATALOGUE.modules]


async def rendered(module: str) -> dict[str, Any]:
    """The whole module as somebody who may use all of it reads it, with what each part costs."""
    matrix = Matrix(TENANTS[0], ([("allow", "*")],), frozenset(MODULES), False)
    request = RequestContext(Authority(matrix.caller()), "r", 0.0)
    view = Sieve(CATALOGUE).get_view(request.caller)
    result = await get_module_schema(view, request, {"module": module}, _nothing_missing, _ready)
    text = result["content"][0]["text"]
    (schema,) = orjson.loads(text)["modules"]
    costs = {tool["name"]: tokens(orjson.dumps(tool).decode()) for tool in schema["tools"]}
    return {"tokens": {"answer": tokens(text), **costs}, "schema": schema}


async def _ready(*_arguments: object) -> dict[str, str]:
    return {"connection": "ready"}


async def _nothing_missing(_request: RequestContext, _count: int, missing: Sequence[MissingName]) -> None:
    assert not missing, "a module of the catalogue was not found"


@pytest.mark.parametrize("module", MODULES)
async def test_the_module_is_as_it_was_reviewed(module: str) -> None:
    path = FOLDER / f"{module}.json"
    now = orjson.dumps(await rendered(module), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if os.environ.get(UPDATE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(now, "utf-8")
    assert path.is_file(), f"{module} has no snapshot yet: run with {UPDATE}=1 and review the new file"
    assert now == path.read_text("utf-8"), f"{module} differs from its snapshot: review it, then run with {UPDATE}=1"


def test_there_is_no_snapshot_without_a_module() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(MODULES)
