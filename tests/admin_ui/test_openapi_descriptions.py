"""The OpenAPI document as an API reference: every route, parameter, schema and property says what it is."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tools.openapi_document import build_openapi_document

SHORTEST = 10
POOR_BEGINNING = re.compile(r"(?:what|where|whether|who|whose|whom|one of|that which)\b", re.IGNORECASE)
Described = tuple[str, Mapping[str, Any]]


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
    found = [*KINDS[kind](build_openapi_document())]
    faults = [f"{name}: {fault}" for name, described in found if (fault := fault_of(described))]
    assert found
    assert not faults, f"{len(faults)} of {len(found)}\n" + "\n".join(faults)


def test_every_route_has_a_summary_of_one_line() -> None:
    """The first paragraph of its docstring."""
    summaries = {name: operation["summary"] for name, operation in operations_of(build_openapi_document())}
    long = {name: text for name, text in summaries.items() if len(text) > 100 or "\n" in text or text.endswith(".")}
    assert not long


@pytest.mark.parametrize(
    "text", ["", "An id.", "What was ended.", "Whether it is.", "Who did it, by name.", "One of the roles."]
)
def test_a_poor_description_is_found(text: str) -> None:
    assert fault_of({"description": text})
    assert not fault_of({"description": "Identifier of the role."})
