"""The text of a failed run. Whoever reads it may do what it says, so where something may have been changed already it
never asks for the same call again. And the object of an error that has a code."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import orjson

from core.errors import MCPistError, Unavailable
from gateway.change_tracker import ChangeTracker
from modules.kit import OUTCOME_UNKNOWN, DocumentedError, ErrorKind, ToolError, VendorProblem
from modules.kit.text_cleaning import clean_line, clean_text

MAX_DETAILS_BYTES = 2_000
MAX_DOCUMENTED_BYTES = 16_000
MAX_CODE_LENGTH = 60
LEFT_OUT = {"left_out": True}
"""In the place of details that are too large, or no JSON."""
FAILED_INSIDE = "the tool failed inside MCPist"
"""How the text of an error begins that the tool did not expect."""
CHANGED_BEFORE = f"a change had been sent before this error: {OUTCOME_UNKNOWN}"


def format_error(error: ToolError | MCPistError, changes: ChangeTracker) -> str:
    """Format an expected error for the caller."""
    if isinstance(error, VendorProblem) and error.unknown:
        return str(error)
    text, retry = _split_error(error)
    # A transaction of a tool that gives up by itself was most likely one that read; the tool knows best what to say.
    sent = changes.sent - 1 if isinstance(error, VendorProblem) and error.refused else changes.sent
    if sent > 0 or (changes.stored and retry):
        return f"{text}; {CHANGED_BEFORE}"
    return f"{text}; {retry}" if retry else text


def format_internal_error(request_id: str, changes: ChangeTracker) -> str:
    """Format an unexpected error for the caller, without its own text."""
    text = f"{FAILED_INSIDE}; reference {request_id}"
    return f"{text}; {OUTCOME_UNKNOWN}" if changes else text


def build_error_object(error: Exception, text: str) -> dict[str, Any] | None:
    """Build the object that an error with a code has beside its `text`; None for every other. Its details may quote
    what strangers wrote: they are cleaned, and left out where they are larger than a text may be."""
    if isinstance(error, DocumentedError):
        return build_documented_object(error.kind, error.details or {})
    if not isinstance(error, ToolError) or error.code is None:
        return None
    code = clean_line(error.code)[:MAX_CODE_LENGTH] if isinstance(error.code, str) else error.code
    problem: dict[str, Any] = {"code": code, "message": text}
    if error.details is not None:
        problem["data"] = _clean_details(error.details)
    return {"success": False, "error": problem}


def build_documented_object(kind: ErrorKind, details: Mapping[str, Any]) -> dict[str, Any]:
    """Build the object of an error that a module's document lists."""
    timestamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    data = {"type": kind.type, "details": _clean_details(details, MAX_DOCUMENTED_BYTES), "timestamp": timestamp}
    return {"code": kind.code, "message": kind.message, "data": data}


def get_error_part(error_object: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of an error's object that has its code, message and data: all of a document's own."""
    return error_object.get("error", error_object)


def _clean_details(details: Mapping[str, Any], most: int = MAX_DETAILS_BYTES) -> Any:
    try:
        encoded = orjson.dumps(dict(details))
    except (orjson.JSONEncodeError, RecursionError):
        return LEFT_OUT
    return _clean_value(orjson.loads(encoded)) if len(encoded) <= most else LEFT_OUT


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_value(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {clean_text(name): _clean_value(item) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _split_error(error: ToolError | MCPistError) -> tuple[str, str]:
    if isinstance(error, ToolError):
        return error.text, error.retry
    return str(error), f"try again in {math.ceil(error.retry_after)} s" if isinstance(error, Unavailable) else ""
