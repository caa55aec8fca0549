"""Hostile values: what is repeated, and JSON of the costliest shapes that the limits allow, and beyond them."""

from collections.abc import Iterator
from typing import Any

from gateway.mcp.jsonrpc import MAX_CONTAINERS, MAX_FIELDS, MAX_VALUES

BODY = 4 << 20
ROOM = 2_048  # for what stands around a value

UNITS = (
    "a", "eyJ", "Bearer%20", "postgres://", "a://b:", "token='", "\0", "\\", '"', "${", "$${", "${a.b", "{", "ア", "ー",
    "e\u0301", "\ufdfa", "İ", " ", "\n", "%", "%25", "../", "/", "@", ".", "-", "9", ",", ";", "=", "&", "<", "\u202e",
    "👩\u200d👩\u200d👧", "\ufe0f", "K", "[0]", "xn--", "\t",
)  # fmt: skip
"""Among them: what patterns begin with, what is escaped, what normalisation and case folding make longer."""

SHAPES = ("numbers", "texts", "fields", "objects", "nested", "digits", "booleans")


def repeated(unit: str, size: int) -> str:
    """`size` bytes of JSON text, about, when it is encoded."""
    weight = len(_encoded(unit))
    return unit * max(1, size // weight)


def shape(name: str, most: int = BODY - ROOM) -> bytes:
    """One JSON value of at most so many bytes, as many parts as may be."""
    if name == "numbers":
        return b"[" + b"1," * min(MAX_VALUES - 200, most // 2 - 2) + b"1]"
    if name == "texts":
        return b"[" + b'"",' * min(MAX_VALUES - 200, most // 3 - 2) + b'""]'
    if name == "fields":
        return b"{" + b",".join(b'"%x":0' % n for n in range(min(MAX_FIELDS - 200, most // 9))) + b"}"
    if name == "objects":
        return b"[" + b"{}," * min(MAX_CONTAINERS - 200, most // 3 - 2) + b"{}]"
    if name == "nested":
        return b"[" * 50 + b"]" * 50
    if name == "digits":
        return b"9" * most
    return b"[" + b"true," * min(MAX_VALUES - 200, most // 5 - 2) + b"true]"


def values_of(schema: Any, root: Any, unit: str, budget: int) -> Any:
    """A value that a JSON Schema allows, its texts and lists as long as it says, within about `budget` bytes."""
    schema = _resolved(schema, root)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return values_of(schema[word][0], root, unit, budget)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: values_of(one, root, unit, budget // max(1, len(fields))) for name, one in fields.items()}
    if kind == "array":
        count = min(schema.get("maxItems", 100), max(1, budget // 64))
        return [values_of(schema.get("items", {}), root, unit, budget // count) for _ in range(count)]
    if kind in ("integer", "number"):
        return schema.get("maximum", schema.get("minimum", 1))
    if kind == "boolean":
        return True
    return _text(schema, unit, budget)


def places(schema: Any, root: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The way to each field and its schema, through lists by their first item."""
    schema = _resolved(schema, root)
    for word in ("anyOf", "oneOf"):
        for option in schema.get(word, ()):
            yield from places(option, root, path)
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name), inner
        yield from places(inner, root, (*path, name))
    if "items" in schema:
        yield from places(schema["items"], root, (*path, 0))


def replaced(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """A copy with another value at that place."""
    if not path:
        return new
    step, *rest = path
    if isinstance(value, dict):
        return {**value, step: replaced(value.get(step), tuple(rest), new)}
    if isinstance(value, list):
        return [replaced(value[0] if value else None, tuple(rest), new), *value[1:]]
    return new


def _text(schema: Any, unit: str, budget: int) -> str:
    longest = schema.get("maxLength", budget)
    text = repeated(unit, min(longest * 6, budget))[:longest]
    return text or "a"


def _resolved(schema: Any, root: Any) -> Any:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return root["$defs"][reference.rpartition("/")[2]] if reference else schema


def _encoded(unit: str) -> bytes:
    import orjson

    return orjson.dumps(unit)[1:-1]
