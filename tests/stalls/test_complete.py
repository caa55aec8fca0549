"""The walk misses nothing: every path, route, operation, tool, argument and header that the product has."""

import re

import pytest

from tests.linear.patterns import source_files
from tests.stalls.requests import HEADERS, Asked, every, routes_of
from tests.stalls.surface import Surface

pytestmark = pytest.mark.no_canary("hostile credentials are none")

READERS = (
    r"""headers\.get\(\s*b?["']([A-Za-z-]+)["']""",
    r"""headers\[b?["']([A-Za-z-]+)["']\](?! =)""",
    r"""\.getlist\(\s*["']([A-Za-z-]+)["']""",
    r"""\.getall\(\s*["']([A-Za-z-]+)["']""",
    r"""\.text\(\s*b["']([A-Za-z-]+)["']""",
    r"""headers\.values\.get\(\s*b["']([A-Za-z-]+)["']""",
    r"""alias=["']([A-Za-z]+-[A-Za-z-]+)["']""",
)
OF_VENDORS = {"age", "cache-control", "content-encoding", "date", "link", "location", "retry-after"}
"""Read in the answers of others: tests/stalls/test_vendor_answers.py."""


def test_every_header_that_is_read_is_tried() -> None:
    found = {
        name.lower()
        for path in source_files()
        if path.parts[-3:-1] != ("cli", "remote")
        for pattern in READERS
        for name in re.findall(pattern, path.read_text(encoding="utf-8"))
    }
    assert len(found) > 10
    assert {name for name in found if not name.startswith("x-ratelimit")} - set(HEADERS) - OF_VENDORS == set()


async def test_every_path_and_route_is_tried(surface: Surface) -> None:
    rows = {asked.row for asked in every(surface, wide=False)}
    app = surface.identity.gateway.app
    for path in app._paths:
        assert any(path in row.split() or f"{path}:" in row for row in rows), path
    for route in routes_of(app.otherwise):
        for method in (route.methods or set()) - {"HEAD", "OPTIONS"}:
            assert f"{method} {route.path}" in rows
    assert {type(one).__name__ for one in app.otherwise._router.routes} == {"Route", "_PrefixRoute"}
    operations = {f"{method.upper()} {path}" for path, there in surface.openapi["paths"].items() for method in there}
    assert len(operations) > 50
    assert operations <= rows
    tools = {
        f"tool {one.module}.{one.tool.name}"
        for of_module in surface.identity.product.catalogue.tools.values()
        for one in of_module
    }
    assert tools - rows == {"tool lab.wait", "tool lab.big"}


async def test_every_argument_of_every_tool_is_tried(surface: Surface) -> None:
    tried: dict[str, list[Asked]] = {}
    for asked in every(surface, wide=False):
        tried.setdefault(asked.row, []).append(asked)
    for of_module in surface.identity.product.catalogue.tools.values():
        for one in of_module:
            for argument in one.input_schema.get("properties", {}):
                row = f"tool {one.module}.{one.tool.name}"
                whats = [asked.what for asked in tried.get(row, ())]
                assert not whats or any(what.startswith(f"{argument} ") for what in whats), f"{row}: {argument}"
