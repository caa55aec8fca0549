"""JSON text where an object is meant: many models write it so."""

from typing import Any, cast

import orjson

from gateway.mcp.jsonrpc import (
    MAX_CONTAINERS,
    MAX_FIELDS,
    MAX_VALUES,
    count_containers,
    has_too_many_values,
    measure_depth,
)


class InvalidObjectText(Exception):
    """The text is no JSON object, or beyond the limits of a message; the exception's text is for the caller."""


def parse_object(name: str, text: str, max_depth: int) -> dict[str, Any]:
    """Parse the object that the text of the field `name` describes, nested at most `max_depth` levels.

    Raises:
        InvalidObjectText: as the name says.
    """
    encoded = text.encode("utf-8", "replace")
    # On the bytes, before anything is built (gateway.mcp.jsonrpc).
    if count_containers(encoded) > MAX_CONTAINERS:
        raise InvalidObjectText(f"{name} holds more than {MAX_CONTAINERS} objects and arrays")
    if has_too_many_values([encoded]):
        raise InvalidObjectText(f"{name} holds more than {MAX_VALUES} values or {MAX_FIELDS} fields")
    if measure_depth(encoded) > max_depth:
        raise InvalidObjectText(f"{name} is nested too deep: more than {max_depth} levels")
    try:
        value = orjson.loads(encoded)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise InvalidObjectText(f"{name} must be an object with the tool's arguments, or JSON text of one")
    return cast("dict[str, Any]", value)
