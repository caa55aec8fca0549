"""Check whether a path can exist in a tool's result, as far as its output schema decides it (JSON Schema 2020-12)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gateway.meta_tools.batch.references import Path, format_path, parse_index
from gateway.meta_tools.batch.text_format import describe_type, format_names, quote_value, suggest_name

_MAX_NODES = 200  # schemas of other servers may branch without end; beyond this, nothing is sure
_OPEN: dict[str, Any] = {}
_COMBINED = ("allOf", "if", "dependentSchemas", "patternProperties", "unevaluatedProperties", "$dynamicRef")

_Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _MissingSegment:
    """Reason why no value of a schema has a segment: the schema's type, and the names that it has."""

    type_text: str
    names: tuple[str, ...] = ()


def explain_impossible_path(root: _Schema, step: str, path: Path, *, exact: bool) -> str | None:
    """Explain why the path can never exist, or return None where it can or may.

    `exact` says that the tool returns no property but the named ones, though the schema does not forbid others.
    """
    nodes = [cast("Any", root)]
    for depth, segment in enumerate(path):
        branches = _list_branches(root, nodes)
        if branches is None:
            return None
        steps = [_descend(branch, segment, exact=exact) for branch in branches]
        nodes = [node for node in steps if not isinstance(node, _MissingSegment)]
        if not nodes:
            return _format_missing_segment(
                format_path(step, path[:depth]),
                segment,
                [node for node in steps if isinstance(node, _MissingSegment)],
            )
    return None


def _list_branches(root: _Schema, nodes: list[Any]) -> list[_Schema] | None:
    """List the alternatives behind $ref, anyOf and oneOf; None when they are too many or not understood."""
    pending, seen_ids, branches = list(nodes), set[int](), list[_Schema]()
    while pending:
        node = pending.pop(0)
        if not isinstance(node, Mapping) or len(seen_ids) > _MAX_NODES:
            return None
        if id(cast("Any", node)) in seen_ids:
            continue
        seen_ids.add(id(cast("Any", node)))
        alternatives = list(_iterate_branches(root, cast("_Schema", node)))
        pending.extend(alternatives)
        if not alternatives:
            branches.append(cast("_Schema", node))
    return branches or None


def _iterate_branches(root: _Schema, node: _Schema) -> Iterator[Any]:
    # What stands beside $ref or anyOf narrows them further; leaving it out can only make a path look more possible,
    # except that properties beside anyOf keep its branches from being the whole list.
    if "$ref" in node:
        yield _resolve(root, node["$ref"])
        return
    branches = node.get("anyOf", node.get("oneOf"))
    if isinstance(branches, list):
        yield from ([_OPEN] if "properties" in node else cast("list[Any]", branches))


def _resolve(root: _Schema, ref: Any) -> Any:
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return _OPEN
    node: Any = root
    for name in ref[2:].split("/"):
        name = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping):
            return _OPEN
        node = cast("_Schema", node).get(name, _OPEN)
    return node


def _descend(node: _Schema, segment: str | int, *, exact: bool) -> Any:
    types = _get_types(node)
    index = parse_index(segment)
    if types and "array" not in types and ("object" not in types or isinstance(segment, int)):
        return _MissingSegment("an object" if "object" in types else _format_types(types))
    if types == {"array"}:
        return _MissingSegment("an array") if index is None else _descend_item(node, index)
    may_be_array = index is not None and (not types or "array" in types)
    return _OPEN if may_be_array or isinstance(segment, int) else _descend_property(node, segment, exact=exact)


def _descend_property(node: _Schema, name: str, *, exact: bool) -> Any:
    properties = node.get("properties")
    declared = cast("_Schema", properties) if isinstance(properties, Mapping) else _OPEN
    if name in declared:
        return declared[name]
    additional = node.get("additionalProperties")
    if "patternProperties" in node:
        return _OPEN
    if isinstance(additional, Mapping):
        return cast("_Schema", additional)
    closed = additional is False or (exact and additional is None and isinstance(properties, Mapping))
    if closed and (additional is False or not any(keyword in node for keyword in _COMBINED)):
        return _MissingSegment("", tuple(declared))
    return _OPEN


def _descend_item(node: _Schema, index: int) -> Any:
    max_items = node.get("maxItems")
    if isinstance(max_items, int) and index >= max_items:
        return _MissingSegment(f"an array of at most {max_items}")
    first = node.get("prefixItems")
    if isinstance(first, list) and index < len(cast("list[Any]", first)):
        return cast("list[Any]", first)[index]
    items = node.get("items")
    return _MissingSegment("an array without such an item") if items is False else items if items is not None else _OPEN


def _get_types(node: _Schema) -> set[str]:
    types = node.get("type")
    if isinstance(types, str):
        return {types}
    return {str(name) for name in cast("list[Any]", types)} if isinstance(types, list) else set()


def _format_types(types: set[str]) -> str:
    samples: dict[str, object] = {"string": "", "integer": 0, "number": 0, "boolean": True, "null": None}
    return " or ".join(dict.fromkeys(describe_type(samples.get(name, object())) for name in sorted(types)))


def _format_missing_segment(place: str, segment: str | int, closed: list[_MissingSegment]) -> str:
    names = tuple(dict.fromkeys(name for branch in closed for name in branch.names))
    if names or not any(branch.type_text for branch in closed):
        return (
            f"{place} has no {quote_value(segment)}; it has: {format_names(names)}{suggest_name(str(segment), names)}"
        )
    types = " or ".join(dict.fromkeys(branch.type_text for branch in closed if branch.type_text))
    return f"{place} is {types}, {quote_value(segment)} is never inside"
