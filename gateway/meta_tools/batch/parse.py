"""Parser of a batch into steps, independent of any tool."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import orjson

from core.known_clients import LEAST_RESULT_TOKENS, MOST_RESULT_TOKENS
from gateway.mcp.jsonrpc import MAX_CONTAINERS, MAX_FIELDS, MAX_VALUES, count_containers, has_too_many_values
from gateway.meta_tools.batch.step import BatchProblem, BatchStep, StepPosition
from gateway.meta_tools.batch.text_format import describe_type, format_names, quote_value, suggest_name
from gateway.meta_tools.json_text import InvalidObjectText, parse_object

MAX_STEPS = 50
MAX_BYTES = 1 << 20  # of text; an array has the limit of the request's body
MAX_LINES = 10_000  # blank ones included
MAX_DEPTH = 64  # containers within containers, the step itself is the first

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MAX_NAME = 64
_MAX_UNKNOWN = 5


@dataclass(frozen=True, slots=True)
class _RawLine:
    """A line of text that is not decoded yet."""

    text: str


_PositionedItems = list[tuple[StepPosition, Any]]


def parse_commands(commands: str | list[Any]) -> tuple[list[BatchStep], list[BatchProblem]]:
    """Parse the steps, and all that is wrong with the others. `commands` is JSONL text, a JSON array as text, or an
    array."""
    placed = _locate_items(commands)
    if isinstance(placed, BatchProblem):
        return [], [placed]
    values = [(position, _load_json(raw.text) if isinstance(raw, _RawLine) else raw) for position, raw in placed]
    if problem := _find_size_problem(_collect_text_params(values)):
        return [], [problem]
    steps: list[BatchStep] = []
    problems: list[BatchProblem] = []
    for position, value in values:
        parsed = _parse_step(position, value)
        if isinstance(parsed, BatchStep):
            steps.append(parsed)
        else:
            problems.extend(BatchProblem(position, error) for error in parsed)
    problems.extend(_find_duplicates(steps))
    return steps, sorted(problems, key=lambda problem: problem.position.number)


def _locate_items(commands: object) -> _PositionedItems | BatchProblem:
    if isinstance(commands, str):
        placed = _parse_text(commands)
    elif isinstance(commands, list):
        placed = _locate_array_items(cast("list[Any]", commands))
    else:
        return BatchProblem(
            StepPosition(1), f"commands: expected JSONL text or an array of objects, got {describe_type(commands)}"
        )
    if isinstance(placed, list) and not placed:
        return BatchProblem(
            StepPosition(1), 'no steps; send one JSON object a line: {"id": …, "module": …, "tool_name": …}'
        )
    return placed


def _parse_text(text: str) -> _PositionedItems | BatchProblem:
    if len(text) > MAX_BYTES or len(encoded := text.encode("utf-8", "replace")) > MAX_BYTES:
        return BatchProblem(StepPosition(1), f"the text is larger than {MAX_BYTES} bytes; send fewer or smaller steps")
    if problem := _find_size_problem([encoded]):  # on the bytes, before anything is built, as for a message
        return problem
    if text.count("\n") >= MAX_LINES:
        return BatchProblem(StepPosition(MAX_LINES), f"the text has more than {MAX_LINES} lines; send fewer")
    # Not splitlines: it would break lines at U+2028, which JSON strings may hold.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    document = _load_json(text)
    if isinstance(document, list):
        return _locate_array_items(cast("list[Any]", document))
    if isinstance(document, dict):
        return [(StepPosition(lines[0][0]), document)]
    if isinstance(document, orjson.JSONDecodeError) and text.lstrip().startswith("["):
        return BatchProblem(
            StepPosition(document.lineno), f"the array is not valid JSON: {document.msg} at column {document.colno}"
        )
    if len(lines) > MAX_STEPS:
        return _build_too_many_problem(StepPosition(lines[MAX_STEPS][0]), len(lines))
    return [(StepPosition(number), _RawLine(line)) for number, line in lines]


def _locate_array_items(array: list[Any]) -> _PositionedItems | BatchProblem:
    if len(array) > MAX_STEPS:
        return _build_too_many_problem(StepPosition(MAX_STEPS + 1, "step"), len(array))
    return [(StepPosition(number, "step"), item) for number, item in enumerate(array, 1)]


def _build_too_many_problem(position: StepPosition, count: int) -> BatchProblem:
    return BatchProblem(position, f"at most {MAX_STEPS} steps in one batch, got {count}; send several")


def _load_json(text: str) -> Any:
    """Decode JSON text; return the error where it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return error


def _collect_text_params(values: list[tuple[StepPosition, Any]]) -> list[bytes]:
    """Collect the `params` that are JSON text, of all steps."""
    steps = [cast("dict[str, Any]", value) for _, value in values if isinstance(value, dict)]
    return [params.encode("utf-8", "replace") for step in steps if isinstance(params := step.get("params"), str)]


def _find_size_problem(texts: list[bytes]) -> BatchProblem | None:
    """Return the problem of JSON texts that together exceed the limits of one message, or None."""
    if sum(map(count_containers, texts)) > MAX_CONTAINERS:
        return BatchProblem(
            StepPosition(1), f"the steps hold more than {MAX_CONTAINERS} objects and arrays; send fewer"
        )
    if has_too_many_values(texts):
        return BatchProblem(
            StepPosition(1), f"the steps hold more than {MAX_VALUES} values or {MAX_FIELDS} fields; send fewer"
        )
    return None


def _parse_step(position: StepPosition, value: Any) -> BatchStep | list[str]:
    if isinstance(value, orjson.JSONDecodeError):
        return [f"not valid JSON: {value.msg} at column {value.colno}; each line is one whole JSON object"]
    if not isinstance(value, dict):
        return [f'expected an object such as {{"id": …, "module": …, "tool_name": …}}, got {describe_type(value)}']
    fields = {name: field for name, field in cast("dict[str, Any]", value).items() if field is not None}
    errors = list(_read_params(fields))
    if _is_too_deep(fields):
        return [f"nested more than {MAX_DEPTH} levels deep"]
    errors += [*_find_unknown_fields(fields), *_find_invalid_fields(fields)]
    if errors:
        return errors
    return BatchStep(
        position,
        id=fields["id"],
        module=fields["module"],
        tool_name=fields["tool_name"],
        params=fields.get("params", {}),
        after=tuple(fields.get("after", ())),
        output=fields.get("output", False),
        on_error=fields.get("on_error", "skip"),
        max_tokens=fields.get("max_tokens", 0),
    )


def _read_params(fields: dict[str, Any]) -> Iterator[str]:
    """Put the object in the place of `params` that are JSON text of one."""
    if isinstance(params := fields.get("params"), str):
        try:
            fields["params"] = parse_object("params", params, MAX_DEPTH - 1)
        except InvalidObjectText as error:
            del fields["params"]
            yield str(error)


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _list_containers(node)]
        if not level:
            return False
    return True


def _list_containers(node: Any) -> list[Any]:
    children = cast("Iterator[Any]", node.values() if isinstance(node, dict) else node)
    return [child for child in children if isinstance(child, dict | list)]


@dataclass(frozen=True, slots=True)
class _Field:
    accepts: Callable[[Any], bool]
    expected: str
    required: bool = False


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_NAME


def _is_id_list(value: Any) -> bool:
    if not isinstance(value, list) or len(cast("list[Any]", value)) > MAX_STEPS:
        return False
    return all(isinstance(item, str) for item in cast("list[Any]", value))


_FIELDS = {
    "id": _Field(_is_id, "a letter or _, then up to 63 letters, digits, _ or -", required=True),
    "module": _Field(_is_name, "the name of a module", required=True),
    "tool_name": _Field(_is_name, "the name of a tool", required=True),
    "params": _Field(lambda value: isinstance(value, dict), "an object"),
    "after": _Field(_is_id_list, f"an array of up to {MAX_STEPS} step ids"),
    "output": _Field(lambda value: isinstance(value, bool), "true or false"),
    "max_tokens": _Field(
        lambda value: type(value) is int and LEAST_RESULT_TOKENS <= value <= MOST_RESULT_TOKENS,
        f"a whole number from {LEAST_RESULT_TOKENS} to {MOST_RESULT_TOKENS}",
    ),
    "on_error": _Field(lambda value: value in ("skip", "stop"), '"skip" or "stop"'),
}
# What models write instead, too far off for a search by spelling.
_OTHER_NAMES = {
    "args": "params", "arguments": "params", "input": "params", "parameters": "params",
    "depends_on": "after", "dependsOn": "after", "needs": "after",
}  # fmt: skip


def _find_unknown_fields(fields: dict[str, Any]) -> Iterator[str]:
    unknown = [str(name) for name in fields if name not in _FIELDS]
    for name in unknown[:_MAX_UNKNOWN]:
        field = _OTHER_NAMES.get(name)
        hint = f'; did you mean "{field}"?' if field else suggest_name(name, _FIELDS)
        yield f"unknown field {quote_value(name)}" + (hint or f"; there are: {format_names(_FIELDS)}")
    if len(unknown) > _MAX_UNKNOWN:
        yield f"{len(unknown) - _MAX_UNKNOWN} more unknown fields"


def _find_invalid_fields(fields: dict[str, Any]) -> Iterator[str]:
    for name, field in _FIELDS.items():
        value = fields.get(name)
        if value is None and field.required:
            yield f"{name} is missing; expected {field.expected}"
        elif value is not None and not field.accepts(value):
            got = quote_value(value) if isinstance(value, str) else describe_type(value)
            yield f"{name}: expected {field.expected}, got {got}"


def _find_duplicates(steps: list[BatchStep]) -> Iterator[BatchProblem]:
    first: dict[str, StepPosition] = {}
    for step in steps:
        if step.id in first:
            yield BatchProblem(
                step.position, f"id {quote_value(step.id)} is taken by {first[step.id]}; every step has its own"
            )
        first.setdefault(step.id, step.position)
