"""What the caller sent → steps. Nothing here knows any tool."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import orjson

from gateway.mcp.envelope import MAX_CONTAINERS, MAX_FIELDS, MAX_VALUES, containers_of, has_too_many_values
from gateway.meta_tools.batch.step import Place, Problem, Step
from gateway.meta_tools.batch.wording import did_you_mean, kind, listed, quoted
from gateway.meta_tools.json_text import NotAnObject, object_of

MAX_STEPS = 50
MAX_BYTES = 1 << 20  # of text; an array has the limit of the request's body
MAX_LINES = 10_000  # blank ones included
MAX_DEPTH = 64  # containers within containers, the step itself is the first

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MAX_NAME = 64
_MAX_UNKNOWN = 5


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of text that is not decoded yet."""

    text: str


_Placed = list[tuple[Place, Any]]


def parse(commands: str | list[Any]) -> tuple[list[Step], list[Problem]]:
    """The steps, and all that is wrong with the others. `commands` is JSONL text, a JSON array as text, or an array."""
    placed = _placed(commands)
    if isinstance(placed, Problem):
        return [], [placed]
    values = [(place, _loads(raw.text) if isinstance(raw, _Line) else raw) for place, raw in placed]
    if problem := _too_much(_params_in_texts(values)):
        return [], [problem]
    steps: list[Step] = []
    problems: list[Problem] = []
    for place, value in values:
        made = _step(place, value)
        if isinstance(made, Step):
            steps.append(made)
        else:
            problems.extend(Problem(place, error) for error in made)
    problems.extend(_duplicates(steps))
    return steps, sorted(problems, key=lambda problem: problem.place.number)


def _placed(commands: object) -> _Placed | Problem:
    if isinstance(commands, str):
        placed = _from_text(commands)
    elif isinstance(commands, list):
        placed = _items(cast("list[Any]", commands))
    else:
        return Problem(Place(1), f"commands: expected JSONL text or an array of objects, got {kind(commands)}")
    if isinstance(placed, list) and not placed:
        return Problem(Place(1), 'no steps; send one JSON object a line: {"id": …, "module": …, "tool_name": …}')
    return placed


def _from_text(text: str) -> _Placed | Problem:
    if len(text) > MAX_BYTES or len(encoded := text.encode("utf-8", "replace")) > MAX_BYTES:
        return Problem(Place(1), f"the text is larger than {MAX_BYTES} bytes; send fewer or smaller steps")
    if problem := _too_much([encoded]):  # on the bytes, before anything is built, as for a message
        return problem
    if text.count("\n") >= MAX_LINES:
        return Problem(Place(MAX_LINES), f"the text has more than {MAX_LINES} lines; send fewer")
    # Not splitlines: it would break lines at U+2028, which JSON strings may hold.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    whole = _loads(text)
    if isinstance(whole, list):
        return _items(cast("list[Any]", whole))
    if isinstance(whole, dict):
        return [(Place(lines[0][0]), whole)]
    if isinstance(whole, orjson.JSONDecodeError) and text.lstrip().startswith("["):
        return Problem(Place(whole.lineno), f"the array is not valid JSON: {whole.msg} at column {whole.colno}")
    if len(lines) > MAX_STEPS:
        return _too_many(Place(lines[MAX_STEPS][0]), len(lines))
    return [(Place(number), _Line(line)) for number, line in lines]


def _items(array: list[Any]) -> _Placed | Problem:
    if len(array) > MAX_STEPS:
        return _too_many(Place(MAX_STEPS + 1, "step"), len(array))
    return [(Place(number, "step"), item) for number, item in enumerate(array, 1)]


def _too_many(place: Place, count: int) -> Problem:
    return Problem(place, f"at most {MAX_STEPS} steps in one batch, got {count}; send several")


def _loads(text: str) -> Any:
    """The decoded text, or the error."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return error


def _params_in_texts(values: list[tuple[Place, Any]]) -> list[bytes]:
    """The `params` that are JSON text, of all steps."""
    steps = [cast("dict[str, Any]", value) for _, value in values if isinstance(value, dict)]
    return [params.encode("utf-8", "replace") for step in steps if isinstance(params := step.get("params"), str)]


def _too_much(texts: list[bytes]) -> Problem | None:
    """What is wrong with JSON texts that together hold more than one message may."""
    if sum(map(containers_of, texts)) > MAX_CONTAINERS:
        return Problem(Place(1), f"the steps hold more than {MAX_CONTAINERS} objects and arrays; send fewer")
    if has_too_many_values(texts):
        return Problem(Place(1), f"the steps hold more than {MAX_VALUES} values or {MAX_FIELDS} fields; send fewer")
    return None


def _step(place: Place, value: Any) -> Step | list[str]:
    if isinstance(value, orjson.JSONDecodeError):
        return [f"not valid JSON: {value.msg} at column {value.colno}; each line is one whole JSON object"]
    if not isinstance(value, dict):
        return [f'expected an object such as {{"id": …, "module": …, "tool_name": …}}, got {kind(value)}']
    given = {name: field for name, field in cast("dict[str, Any]", value).items() if field is not None}
    errors = list(_read_params(given))
    if _too_deep(given):
        return [f"nested more than {MAX_DEPTH} levels deep"]
    errors += [*_unknown(given), *_wrong(given)]
    if errors:
        return errors
    return Step(
        place,
        id=given["id"],
        module=given["module"],
        tool_name=given["tool_name"],
        params=given.get("params", {}),
        after=tuple(given.get("after", ())),
        output=given.get("output", False),
        on_error=given.get("on_error", "skip"),
    )


def _read_params(given: dict[str, Any]) -> Iterator[str]:
    """Put the object in the place of `params` that are JSON text of one."""
    if isinstance(params := given.get("params"), str):
        try:
            given["params"] = object_of("params", params, MAX_DEPTH - 1)
        except NotAnObject as wrong:
            del given["params"]
            yield str(wrong)


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _containers(node)]
        if not level:
            return False
    return True


def _containers(node: Any) -> list[Any]:
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
    "on_error": _Field(lambda value: value in ("skip", "stop"), '"skip" or "stop"'),
}
# What models write instead, too far off for a search by spelling.
_OTHER_NAMES = {
    "args": "params", "arguments": "params", "input": "params", "parameters": "params",
    "depends_on": "after", "dependsOn": "after", "needs": "after",
}  # fmt: skip


def _unknown(given: dict[str, Any]) -> Iterator[str]:
    unknown = [str(name) for name in given if name not in _FIELDS]
    for name in unknown[:_MAX_UNKNOWN]:
        near = _OTHER_NAMES.get(name)
        hint = f'; did you mean "{near}"?' if near else did_you_mean(name, _FIELDS)
        yield f"unknown field {quoted(name)}" + (hint or f"; there are: {listed(_FIELDS)}")
    if len(unknown) > _MAX_UNKNOWN:
        yield f"{len(unknown) - _MAX_UNKNOWN} more unknown fields"


def _wrong(given: dict[str, Any]) -> Iterator[str]:
    for name, field in _FIELDS.items():
        value = given.get(name)
        if value is None and field.required:
            yield f"{name} is missing; expected {field.expected}"
        elif value is not None and not field.accepts(value):
            yield f"{name}: expected {field.expected}, got {quoted(value) if isinstance(value, str) else kind(value)}"


def _duplicates(steps: list[Step]) -> Iterator[Problem]:
    first: dict[str, Place] = {}
    for step in steps:
        if step.id in first:
            yield Problem(step.place, f"id {quoted(step.id)} is taken by {first[step.id]}; every step has its own")
        first.setdefault(step.id, step.place)
