"""The OpenAPI document as an API reference: every route, parameter, schema and property says what it is."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi import Request

from admin_ui.api import app as directory_api
from broker.api import app as identity_api
from broker.api import deployment_section as deployment_api
from broker.api import routers as connect_api
from core.api.app import ApiSection, build_fastapi_app
from core.api.principal import AuthenticationRequired, Principal
from core.api.security import ApiSecurity

SHORTEST = 10
POOR_BEGINNING = re.compile(r"(?:what|where|whether|who|whose|whom|one of|that which)\b", re.IGNORECASE)
Described = tuple[str, Mapping[str, Any]]


def document() -> dict[str, Any]:
    """The document of all routers, without a database behind them."""

    async def nobody(request: Request) -> Principal:
        raise AuthenticationRequired("nobody is asked here")

    door = ApiSecurity(nobody, "https://mcp.test", lambda: datetime.now(UTC), lambda request: "192.0.2.1")
    routers = (*directory_api.ROUTERS, *identity_api.ROUTERS, *connect_api.ROUTERS, *deployment_api.ROUTERS)
    return build_fastapi_app(door, [ApiSection(routers, {})], "test").state.openapi.read()


def operations_of(found: Mapping[str, Any]) -> Iterator[Described]:
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            yield f"{method.upper()} {path}", operation


def parameters_of(found: Mapping[str, Any]) -> Iterator[Described]:
    for name, operation in operations_of(found):
        for parameter in operation.get("parameters", ()):
            yield f"{name} {parameter['name']}", parameter


def responses_of(found: Mapping[str, Any]) -> Iterator[Described]:
    for name, operation in operations_of(found):
        for status, response in operation["responses"].items():
            yield f"{name} {status}", response


def schemas_of(found: Mapping[str, Any]) -> Iterator[Described]:
    yield from found["components"]["schemas"].items()


def properties_of(found: Mapping[str, Any]) -> Iterator[Described]:
    for name, schema in schemas_of(found):
        for field, described in schema.get("properties", {}).items():
            yield f"{name}.{field}", described


KINDS = {
    "routes": operations_of,
    "parameters": parameters_of,
    "responses": responses_of,
    "schemas": schemas_of,
    "properties": properties_of,
}


def fault_of(described: Mapping[str, Any]) -> str:
    """What is wrong with a description, "" if nothing is."""
    text = described.get("description", "")
    if len(text) < SHORTEST:
        return f"{text!r} is no description"
    return f"{text[:40]!r} does not begin with what it is" if POOR_BEGINNING.match(text) else ""


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_of_the_document_has_a_description(kind: str) -> None:
    found = [*KINDS[kind](document())]
    faults = [f"{name}: {fault}" for name, described in found if (fault := fault_of(described))]
    assert found
    assert not faults, f"{len(faults)} of {len(found)}\n" + "\n".join(faults)


def test_every_route_has_a_summary_of_one_line() -> None:
    """The first paragraph of its docstring."""
    summaries = {name: operation["summary"] for name, operation in operations_of(document())}
    long = {name: text for name, text in summaries.items() if len(text) > 100 or "\n" in text or text.endswith(".")}
    assert not long


@pytest.mark.parametrize(
    "text", ["", "An id.", "What was ended.", "Whether it is.", "Who did it, by name.", "One of the roles."]
)
def test_a_poor_description_is_found(text: str) -> None:
    assert fault_of({"description": text})
    assert not fault_of({"description": "Identifier of the role."})
