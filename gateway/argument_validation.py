"""Check a tool's arguments against its schema, and explain a mistake so that a model can correct it at once."""

import difflib
from collections.abc import Mapping, Sequence, Set
from typing import Any, cast

import orjson
from pydantic import BaseModel, ValidationError

from gateway.catalogue import CatalogueTool
from gateway.mcp.jsonrpc import MAX_CONTAINERS, count_containers, has_too_many_values, measure_depth

MAX_PROBLEMS = 5
MAX_ROUNDS = 3
"""Validations of one call: as it is, then with what may be mended mended; JSON text may itself hold nulls."""
MAX_TEXT_DEPTH = 32
"""Levels of JSON text that stands where an object or a list is meant."""
MAX_VALUE_LENGTH = 60
MAX_EXPLAINED = 1_000
"""Errors of which the first are named. pydantic renders all of them or none, at 2 µs each."""
MAX_SIMILAR = 128
"""Characters of a name that is compared with others: difflib takes quadratic time."""
SURE = 0.75
"""Likeness of names from which on the right one is told alone; following a wrong guess makes a wrong call."""


_NO_OBJECT = frozenset({"dict_type", "list_type", "model_type", "model_attributes_type"})


class InvalidToolArguments(Exception):
    """The arguments do not fit the schema; the text names each field, what was expected and the nearest right name.
    `details` have the first mistake alone: its `field`, a short part of the `value`, and the `constraint`."""

    def __init__(self, text: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.details = details or {"field": "params", "value": None, "constraint": text}


def validate_arguments(tool: CatalogueTool, arguments: bytes) -> BaseModel:
    """Validate the arguments as the tool's own model, from JSON. Strict: what the schema does not allow is not coerced.

    Two things that clients send are taken all the same, and only where the arguments do not fit without: null for an
    optional argument counts as leaving it out, unless null is one of its values (OpenAI's strict mode and libraries
    that fill in what was left out send it), and JSON text where an object or a list is meant counts as that. Schemas
    say neither, which keeps them short.

    Raises:
        InvalidToolArguments: they do not fit.
    """
    text = tried = arguments
    problems: list[Any] = []  # `list[Any]()` is ten times as dear, on the path of every call
    for _ in range(MAX_ROUNDS):
        tried = text
        try:
            return tool.tool.arguments.model_validate_json(text, strict=True)
        except ValidationError as error:
            problems = _list_problems(error)
        mended = _mend(tool.input_schema, text, problems)
        if mended is None:
            break
        text = mended
    raise _build_error(tool, orjson.loads(tried), problems)


def find_closest_match(name: str, candidates: Sequence[str], *, likeness: float = 0.5) -> str | None:
    """Find the right name that `name` was most likely meant to be."""
    if len(name) > MAX_SIMILAR:
        return None
    return next(iter(difflib.get_close_matches(name, candidates, n=1, cutoff=likeness)), None)


def _list_problems(error: ValidationError) -> list[Any]:
    if (count := error.error_count()) > MAX_EXPLAINED:
        raise InvalidToolArguments(f"{count} mistakes in the arguments; see the tool's schema") from None
    return list(error.errors(include_url=False, include_context=True))


def _mend(schema: Mapping[str, Any], arguments: bytes, problems: Sequence[Any]) -> bytes | None:
    """Remove the nulls that are invalid and may be left out, and put objects and lists in the place of their JSON text;
    return None where there are none."""
    value = orjson.loads(arguments)
    nulls = [problem for problem in problems if _remove_null(schema, value, problem["loc"])]
    places = [_find_text(value, problem["loc"]) for problem in problems if problem["type"] in _NO_OBJECT]
    is_decoded = _decode_texts([place for place in places if place])
    return orjson.dumps(value) if nulls or is_decoded else None


def _find_text(value: Any, location: Sequence[str | int]) -> tuple[Any, str | int] | None:
    """Find the text at `location`, or at a beginning of it, by its owner: a union adds the names of its members."""
    for step in location:
        if not _has(value, step):
            return None
        if isinstance(value[step], str):
            return value, step
        value = value[step]
    return None


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and step < len(cast("list[Any]", value))
    return isinstance(value, dict) and step in value


def _decode_texts(places: Sequence[tuple[Any, str | int]]) -> bool:
    """Put objects and lists in the place of their JSON text; together the texts keep the limits of one message."""
    texts = [owner[step].encode("utf-8", "replace") for owner, step in places]
    if sum(map(count_containers, texts)) > MAX_CONTAINERS or has_too_many_values(texts):
        return False
    is_decoded = False
    for (owner, step), text in zip(places, texts, strict=True):
        decoded = _parse_text(text)
        if decoded is not None:
            owner[step] = decoded
            is_decoded = True
    return is_decoded


def _parse_text(text: bytes) -> Any:
    """Parse JSON text of an object or a list; return None for any other text."""
    if measure_depth(text) > MAX_TEXT_DEPTH:
        return None
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return cast("Any", value) if isinstance(value, dict | list) else None


def _remove_null(schema: Mapping[str, Any], value: Any, location: Sequence[str | int]) -> bool:
    """Remove the null that stands at `location`, or at a beginning of it: a union adds the names of its members."""
    for depth, step in enumerate(location):
        if isinstance(value, dict) and step in value:
            if value[step] is not None:
                value = cast("Any", value[step])
                continue
            owner = _find_schema_at(schema, location[:depth])
            optional = step in owner.get("properties", {}) and step not in owner.get("required", [])
            if optional:
                del value[step]
            return optional
        if not isinstance(value, list) or not isinstance(step, int) or step >= len(cast("list[Any]", value)):
            return False
        value = cast("Any", value[step])
    return False


def _build_error(tool: CatalogueTool, arguments: Any, problems: Sequence[Any]) -> InvalidToolArguments:
    secret = {(name,) for name in tool.tool.sensitive_parameters}
    # A union complains once for each member; that the value is not null helps nobody.
    problems = [problem for problem in problems if problem["type"] != "none_required"] or problems
    lines = [
        _explain_problem(tool.input_schema, arguments, problem, shows_value=problem["loc"][:1] not in secret)
        for problem in problems[:MAX_PROBLEMS]
    ]
    if len(problems) > MAX_PROBLEMS:
        lines.append(f"and {len(problems) - MAX_PROBLEMS} more")
    return InvalidToolArguments("; ".join(dict.fromkeys(lines)), _build_details(arguments, problems[0], secret))


def _build_details(arguments: Any, problem: Mapping[str, Any], secret: Set[tuple[str]]) -> Mapping[str, Any]:
    is_missing = problem["type"] == "missing"
    location = _remove_union_members(arguments, problem["loc"], is_missing=is_missing)
    shows_value = not is_missing and problem["loc"][:1] not in secret
    value = problem["input"] if shows_value else None
    if not (value is None or isinstance(value, bool | int | float)):
        text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode("utf-8", "replace")
        value = text[:MAX_VALUE_LENGTH]
    constraint = "is required" if is_missing else _lower_first_letter(problem["msg"].removeprefix("Value error, "))
    return {"field": _format_path(location) or "params", "value": value, "constraint": constraint}


def _explain_problem(
    schema: Mapping[str, Any], arguments: Any, problem: Mapping[str, Any], *, shows_value: bool
) -> str:
    kind = problem["type"]
    location = _remove_union_members(arguments, problem["loc"], is_missing=kind == "missing")
    path = _format_path(location) or "params"
    if kind == "extra_forbidden":
        return _explain_unknown_field(schema, arguments, location, path)
    if kind == "missing":
        return f"{path} is missing{_format_expected_type(_find_schema_at(schema, location))}"
    if not shows_value:
        return f"{path}: {_lower_first_letter(problem['msg'])}"
    got = orjson.dumps(problem["input"], default=str).decode()[:MAX_VALUE_LENGTH]
    return f"{path}: {_lower_first_letter(problem['msg'])}, got {got}"


def _remove_union_members(arguments: Any, location: Sequence[str | int], *, is_missing: bool) -> tuple[str | int, ...]:
    """Remove the names of unions' members, which pydantic puts between the steps that lead to a value."""
    steps: list[str | int] = []
    value = arguments
    for number, step in enumerate(location, 1):
        if isinstance(step, int):
            value = _get_item(value, step)
        elif isinstance(value, dict) and step in value:
            value = cast("Any", value[step])
        elif not (is_missing and number == len(location)):
            continue
        steps.append(step)
    return tuple(steps)


def _get_item(value: Any, number: int) -> Any:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return items[number] if number < len(items) else None


def _explain_unknown_field(
    schema: Mapping[str, Any], arguments: Any, location: tuple[str | int, ...], path: str
) -> str:
    owner = arguments
    for step in location[:-1]:
        owner = owner[step]
    names = list(_find_schema_at(schema, location[:-1]).get("properties", {}))
    closest = find_closest_match(str(location[-1]), [name for name in names if name not in owner], likeness=SURE)
    if closest:
        return f"{path} is unknown, did you mean {closest}?"
    return f"{path} is unknown; known are: {', '.join(names) or 'none'}"


def _find_schema_at(schema: Mapping[str, Any], location: Sequence[str | int]) -> Mapping[str, Any]:
    """Find the part of the schema that describes `location`."""
    subschema = schema
    for step in location:
        subschema = _resolve_schema_part(schema, subschema)
        subschema = (
            subschema.get("items", {}) if isinstance(step, int) else subschema.get("properties", {}).get(step, {})
        )
    return _resolve_schema_part(schema, subschema)


def _resolve_schema_part(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve a reference, or the only member of a union beside null."""
    members = [member for member in part.get("anyOf", ()) if member.get("type") != "null"]
    part = members[0] if len(members) == 1 else part
    reference = part.get("$ref")
    return schema.get("$defs", {}).get(reference.rsplit("/", 1)[-1], {}) if reference else part


def _format_expected_type(part: Mapping[str, Any]) -> str:
    return f" (expected {part['type']})" if "type" in part else ""


def _format_path(location: Sequence[str | int]) -> str:
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text[:200]


def _lower_first_letter(message: str) -> str:
    return message[:1].lower() + message[1:]
