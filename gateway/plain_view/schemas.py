"""Input schemas of plain tools, in the part of JSON Schema that all model providers take.

A client hands the schemas of its tools to a model's provider, which refuses the whole request for one of them that it
does not take: OpenAI one without ``items`` of an array or with alternatives at its top, Gemini a ``$ref``, a list of
types, an ``enum`` of numbers or a ``format`` such as ``date``. What is changed here only takes more than the tool
does, which checks its arguments as always, and what is lost stands in the description.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import orjson

MAX_DESCRIPTION = 1_024
"""Characters of a description that OpenAI takes."""
MAX_SCHEMA_BYTES = 64 << 10
MAX_PARTS = 2_000
"""Schemas within a schema, references followed."""
MAX_DEPTH = 12
_MAX_NOTE = 200
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_KEYWORDS = {
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_FORMATS = {"string": ("date-time",), "number": ("float", "double"), "integer": ("int32", "int64")}
_NOTED = ("const", "enum", "format", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems")
_TEXTS = ("description", "title", "default")
_SIGNS = {"properties": "object", "additionalProperties": "object", "items": "array", "prefixItems": "array"}
_ANY_ITEM: dict[str, Any] = {"anyOf": [{"type": name} for name in ("string", "number", "boolean", "object")]}
_ANYTHING: dict[str, Any] = {"anyOf": [*_ANY_ITEM["anyOf"], {"type": "array", "items": _ANY_ITEM}]}

Schema = Mapping[str, Any]


class UnusableSchema(Exception):
    """A schema that cannot be put into what providers take; the text is the reason, for administrators."""


class _RefusedName(UnusableSchema):
    """A required argument has a name that providers refuse, so what it belongs to cannot be told."""


def adapt_schema(schema: Schema) -> dict[str, Any]:
    """Adapt the schema of a tool's arguments.

    Raises:
        UnusableSchema: the arguments are no object, a required one has a name that providers refuse, or it is too
            large.
    """
    adapted = _Adapter(schema).adapt_arguments()
    if len(orjson.dumps(adapted)) > MAX_SCHEMA_BYTES:
        raise UnusableSchema(f"its schema takes more than {MAX_SCHEMA_BYTES >> 10} KiB")
    return adapted


def find_schema_problem(schema: Schema) -> str:
    """Find why a tool with this schema is not shown as a plain tool; empty where it is."""
    try:
        adapt_schema(schema)
    except UnusableSchema as problem:
        return str(problem)
    return ""


class _Place(NamedTuple):
    """Where a part is: how deep, and the references on the way to it, so that one within itself ends there."""

    depth: int = 0
    references: frozenset[str] = frozenset()

    def go_down(self) -> "_Place":
        """Return the place of a part of what is here."""
        return _Place(self.depth + 1, self.references)


class _Adapter:
    """Adapts one schema."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._parts = 0

    def adapt_arguments(self) -> dict[str, Any]:
        """Adapt the schema at the top, which has neither alternatives nor another type than an object."""
        schema, place = self._flatten(self._root, _Place())
        for name in ("anyOf", "oneOf"):
            alternatives = [self._flatten(one, place)[0] for one in _list_schemas(schema.pop(name, None))]
            schema = _take_any(schema, [one for one in alternatives if one.get("type", "object") == "object"])
        if schema.get("type", "object") != "object":
            raise UnusableSchema("its arguments are no object")
        return self._adapt_type("object", schema, place) | _describe(schema, _NOTED)

    def _adapt(self, part: Any, place: _Place) -> dict[str, Any]:
        """Adapt a part: of one type, or with alternatives that are."""
        self._count()
        schema, place = self._flatten(part, place)
        if place.depth > MAX_DEPTH:
            return _ANYTHING | _describe(schema, ())
        alternatives = [*_list_schemas(schema.pop("anyOf", None)), *_list_schemas(schema.pop("oneOf", None))]
        if alternatives:
            common = {name: value for name, value in schema.items() if name not in _TEXTS}
            return self._adapt_alternatives(alternatives, common, place.go_down()) | _describe(schema, _NOTED)
        adapted = [self._adapt_type(name, schema, place) for name in _list_types(schema)] or [_ANYTHING]
        return _choose(adapted) | _describe(schema, {name for one in adapted for name in one})

    def _adapt_alternatives(self, alternatives: list[Any], common: Schema, place: _Place) -> dict[str, Any]:
        adapted: list[dict[str, Any]] = []
        for one in alternatives:
            schema, there = self._flatten(one, place)
            adapted.append(self._adapt(_merge(schema, common), there))
        return _choose(adapted)

    def _adapt_type(self, name: str, schema: Schema, place: _Place) -> dict[str, Any]:
        adapted: dict[str, Any] = {"type": name}
        adapted |= {key: schema[key] for key in _KEYWORDS.get(name, ()) if _is_valid(key, schema.get(key))}
        if schema.get("format") in _FORMATS.get(name, ()):
            adapted["format"] = schema["format"]
        if name == "string" and (values := _list_texts(schema)):
            adapted["enum"] = values
        if name == "array":
            adapted["items"] = self._adapt_items(schema, place.go_down())
        if name == "object":
            adapted |= self._adapt_properties(schema, place.go_down())
        return adapted

    def _adapt_items(self, schema: Schema, place: _Place) -> dict[str, Any]:
        items = schema.get("items")
        if not isinstance(items, Mapping):
            items = {"anyOf": [*_list_schemas(schema.get("prefixItems")), *_list_schemas(items)]}
        adapted = self._adapt(items, place)
        return _ANY_ITEM if adapted == _ANYTHING else adapted

    def _adapt_properties(self, schema: Schema, place: _Place) -> dict[str, Any]:
        given, required = schema.get("properties"), _list_names(schema.get("required"))
        adapted: dict[str, Any] = {}
        properties: dict[str, Any] = {}
        for name, part in _get_properties(schema).items():
            try:
                if not _PARAMETER_NAME.fullmatch(name):
                    raise _RefusedName(f"model providers refuse the name of its argument {_shorten(name)}")
                if part is not False:
                    properties[name] = self._adapt(part, place)
            except _RefusedName:
                if name in required:
                    raise
        if isinstance(given, Mapping):
            adapted["properties"] = properties
        if required := [name for name in required if name in properties]:
            adapted["required"] = required
        more = schema.get("additionalProperties")
        if isinstance(more, bool):
            adapted["additionalProperties"] = more
        elif isinstance(more, Mapping):
            adapted["additionalProperties"] = self._adapt(more, place)
        return adapted

    def _flatten(self, part: Any, place: _Place) -> tuple[dict[str, Any], _Place]:
        """Follow the references of a part and put together what holds at once."""
        schema = dict(cast("Schema", part)) if isinstance(part, Mapping) else {}
        while isinstance(reference := schema.pop("$ref", None), str):
            self._count()
            target = self._find(reference)
            if reference in place.references:  # of a tree, whose depth has no end, only the first level is told
                return _merge(schema, {"type": target["type"]} if "type" in target else {}), place
            place = _Place(place.depth, place.references | {reference})
            schema = _merge(schema, target)
        for one in _list_schemas(schema.pop("allOf", None)):
            self._count()
            if place.depth <= MAX_DEPTH:
                found, there = self._flatten(one, place.go_down())
                place = _Place(place.depth, place.references | there.references)
                schema = _merge(schema, found)
        return schema, place

    def _count(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise UnusableSchema(f"its schema has more than {MAX_PARTS} parts")

    def _find(self, reference: str) -> Schema:
        """Find what a reference within the schema means; what is elsewhere may be anything."""
        found: Any = self._root if reference.startswith("#") else {}
        for step in reference.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = cast("Schema", found).get(name) if isinstance(found, Mapping) else None
        return cast("Schema", found) if isinstance(found, Mapping) else {}


def _merge(first: Schema, second: Schema) -> dict[str, Any]:
    """Put together two schemas that hold at once: of a keyword in both the first's holds, but for properties."""
    merged = {**second, **first}
    if properties := {**_get_properties(second), **_get_properties(first)}:
        merged["properties"] = properties
    if names := [*_list_names(first.get("required")), *_list_names(second.get("required"))]:
        merged["required"] = list(dict.fromkeys(names))
    return merged


def _take_any(schema: Schema, alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    """Put alternatives of arguments into one object: with the properties of all, of which what all require is
    required."""
    if not alternatives:
        return dict(schema)
    found: dict[str, list[Any]] = {}
    for one in alternatives:
        for name, part in _get_properties(one).items():
            parts = found.setdefault(name, [])
            if part not in parts:
                parts.append(part)
    shared = {name: parts[0] if len(parts) == 1 else {"anyOf": parts} for name, parts in found.items()}
    required = [
        name
        for name in _list_names(alternatives[0].get("required"))
        if all(name in _list_names(one.get("required")) for one in alternatives)
    ]
    return _merge(schema, {"properties": shared, "required": required})


def _choose(adapted: list[dict[str, Any]]) -> dict[str, Any]:
    """Build the choice among adapted schemas."""
    different: list[dict[str, Any]] = []
    for one in adapted:
        nested = one.get("anyOf", [one]) if one.keys() == {"anyOf"} else [one]
        different += [part for part in nested if part not in different]
    return dict(different[0]) if len(different) == 1 else {"anyOf": different}


def _list_types(schema: Schema) -> list[str]:
    """List the types that a schema names, or those that follow from its other keywords."""
    given = schema.get("type")
    types = [name for name in _TYPES if name == given or (isinstance(given, list) and name in given)]
    if types:
        return types
    if _list_texts(schema):
        return ["string"]
    return list(dict.fromkeys(name for sign, name in _SIGNS.items() if sign in schema))


def _list_texts(schema: Schema) -> list[str]:
    """List the texts that are allowed, where only texts are."""
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    values = cast("list[Any]", values if isinstance(values, list) else [])
    texts = [one for one in values if isinstance(one, str) and one]
    return list(dict.fromkeys(texts)) if all(one is None or one in texts for one in values) else []


def _is_valid(keyword: str, value: Any) -> bool:
    if keyword == "pattern":
        return isinstance(value, str) and len(value) <= _MAX_NOTE and _is_plain_pattern(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return keyword not in _COUNTS or (isinstance(value, int) and 0 <= value < 1 << 31)


def _is_plain_pattern(pattern: str) -> bool:
    """Check whether a pattern is one for engines without looking around, as providers have them."""
    if "(?" in pattern or re.search(r"\\[1-9pP]", pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _describe(schema: Schema, told: Iterable[str]) -> dict[str, Any]:
    """Build what describes a part: its texts and default, and the keywords that are not `told` otherwise."""
    described: dict[str, Any] = {}
    notes = ", ".join(_list_notes(schema, frozenset(told)))
    text = schema.get("description")
    text = text if isinstance(text, str) else ""
    if notes:
        text = f"{text[: MAX_DESCRIPTION - len(notes) - 3]} ({notes})".strip()
    if text:
        described["description"] = text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"
    if isinstance(title := schema.get("title"), str) and len(title) <= MAX_DESCRIPTION:
        described["title"] = title
    if "default" in schema:
        described["default"] = schema["default"]
    return described


def _list_notes(schema: Schema, told: frozenset[str]) -> Iterator[str]:
    for name in _NOTED:
        value = schema.get(name)
        if name in schema and value is not False and name not in told and not (name == "const" and "enum" in told):
            yield f"{name}: {value if name == 'format' else _shorten(value)}"[:_MAX_NOTE]


def _shorten(value: Any) -> str:
    text = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    return text if len(text) <= _MAX_NOTE else text[: _MAX_NOTE - 1] + "…"


def _get_properties(schema: Schema) -> Schema:
    properties = schema.get("properties")
    return cast("Schema", properties) if isinstance(properties, Mapping) else {}


def _list_schemas(value: Any) -> list[Any]:
    return [one for one in cast("list[Any]", value) if one is not False] if isinstance(value, list) else []


def _list_names(value: Any) -> list[str]:
    return [name for name in cast("list[Any]", value) if isinstance(name, str)] if isinstance(value, list) else []
