"""The walk misses nothing: every path, route, operation, tool and argument that the product has."""

from tests.stalls.requests import Turns, routes_of
from tests.stalls.surface import Surface
from tests.stalls.values import places


def assert_complete(surface: Surface, turns: Turns, rows: set[str]) -> None:
    """Fail where something of the product is in none of the rows that were tried."""
    app = surface.identity.gateway.app
    for path in app._paths:
        assert any(path in row.split() or f"{path}:" in row for row in rows), path
    for route in routes_of(app.otherwise):
        for method in (route.methods or set()) - {"HEAD", "OPTIONS"}:
            assert f"{method} {route.path}" in rows
    assert {type(one).__name__ for one in app.otherwise._router.routes} == {"Route", "PrefixRoute"}
    operations = {f"{method.upper()} {path}" for path, there in surface.openapi["paths"].items() for method in there}
    assert len(operations) > 50
    assert operations <= rows
    tools = {
        f"tool {one.module}.{one.tool.name}": one
        for of_module in surface.identity.product.catalogue.tools.values()
        for one in of_module
    }
    left_out = {"tool lab.wait", "tool lab.big"}
    assert tools.keys() - rows == left_out
    for row in tools.keys() - left_out:
        one = tools[row]
        for path, schema in places(one.input_schema, one.input_schema):
            assert turns.has_tried(schema), f"{row}: {path}"
