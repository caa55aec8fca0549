from typing import Any

import pytest
from pydantic import BaseModel

from gateway.meta_tools.batch.output_paths import explain_impossible_path


class Inner(BaseModel):
    name: str
    parent: "Inner | None" = None


class Result(BaseModel):
    entities: list[Inner]
    count: int
    extra: dict[str, Inner] = {}
    anything: Any = None
    pair: tuple[int, Inner] = (0, Inner(name=""))
    either: Inner | list[int] | None = None


SCHEMA = Result.model_json_schema(mode="serialization")
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "path",
    [
        (),
        ("entities",),
        ("entities", 0, "name"),
        ("entities", "0", "parent", "parent", "parent", "name"),
        ("extra", "whatever", "name"),
        ("anything", "at", 3, "all"),
        ("pair", 1, "name"),
        ("either", "name"),
        ("either", 4),
    ],
)
def test_what_can_be_there(path: tuple[Any, ...]):
    assert explain_impossible_path(SCHEMA, "a", path, exact=True) is None


@pytest.mark.parametrize(
    ("path", "error"),
    [
        (
            ("entitie",),
            'a has no "entitie"; it has: entities, count, extra, anything, pair, either; did you mean "entities"?',
        ),
        (("entities", "name"), 'a.entities is an array, "name" is never inside'),
        (("entities", 0, "title"), 'a.entities[0] has no "title"; it has: name, parent'),
        (("entities", 0, "parent", "x"), 'a.entities[0].parent has no "x"; it has: name, parent'),
        (("extra", "k", "x"), 'a.extra.k has no "x"; it has: name, parent'),
        (("count", "x"), 'a.count is a number, "x" is never inside'),
        ((0,), 'a is an object, "0" is never inside'),
        (("pair", 2), 'a.pair is an array of at most 2, "2" is never inside'),
        (("either", "x"), 'a.either has no "x"; it has: name, parent'),
        (("either", 0, "x"), 'a.either[0] is a number, "x" is never inside'),
    ],
)
def test_what_never_is(path: tuple[Any, ...], error: str):
    assert explain_impossible_path(SCHEMA, "a", path, exact=True) == error


def test_a_schema_that_forbids_no_others_is_open_unless_the_tool_is_exact():
    assert explain_impossible_path(SCHEMA, "a", ("entitie",), exact=False) is None
    assert explain_impossible_path(SCHEMA | {"additionalProperties": False}, "a", ("entitie",), exact=False) is not None


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {"x": TEXT}, "additionalProperties": True},
        {"properties": {"x": TEXT}, "patternProperties": {"^y": TEXT}, "additionalProperties": False},
        {"properties": {"x": TEXT}, "allOf": [{"properties": {"y": TEXT}}]},
        {"properties": {"x": TEXT}, "anyOf": [{"properties": {"y": TEXT}}, {"required": ["x"]}]},
        {"properties": {"x": TEXT}, "anyOf": [{"properties": {"z": TEXT}}]},
        {"oneOf": [{"properties": {"x": TEXT}}, {"properties": {"y": TEXT}}]},
        {"type": ["object", "array"], "properties": {"x": TEXT}, "additionalProperties": True},
        {"$ref": "#/$defs/gone"},
        {"$ref": "https://example.com/schema"},
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"anyOf": [True, {"properties": {}, "additionalProperties": False}]},
        {"anyOf": "nonsense", "properties": 5, "type": 7},
        {"anyOf": [{"$ref": f"#/$defs/{n}"} for n in range(300)]},
    ],
)
def test_what_is_not_sure_is_let_through(schema: dict[str, Any]):
    assert explain_impossible_path(schema, "a", ("y",), exact=True) is None


def test_a_schema_that_branches_without_end_is_given_up():
    wide = {"$defs": {str(n): {"anyOf": [{"$ref": f"#/$defs/{m}"} for m in range(40)]} for n in range(40)}}
    assert explain_impossible_path(wide | {"$ref": "#/$defs/0"}, "a", ("x",) * 1000, exact=True) is None
