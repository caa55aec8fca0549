"""The text of a failed run. Whoever reads it may do what it says, so where something may have been changed already it
never asks for the same call again."""

import math

from core.errors import MCPistError, Unavailable
from gateway.change_tracker import ChangeTracker
from modules.kit import OUTCOME_UNKNOWN, ToolError, VendorProblem

CHANGED_BEFORE = f"a change had been sent before this error: {OUTCOME_UNKNOWN}"


def format_error(error: ToolError | MCPistError, changes: ChangeTracker) -> str:
    """Format an expected error for the caller."""
    if isinstance(error, VendorProblem) and error.unknown:
        return str(error)
    text, retry = _split_error(error)
    # A transaction of a tool that gives up by itself was most likely one that read; the tool knows best what to say.
    if changes.sent or (changes.stored and retry):
        return f"{text}; {CHANGED_BEFORE}"
    return f"{text}; {retry}" if retry else text


def format_internal_error(request_id: str, changes: ChangeTracker) -> str:
    """Format an unexpected error for the caller, without its own text."""
    text = f"the tool failed inside MCPist; reference {request_id}"
    return f"{text}; {OUTCOME_UNKNOWN}" if changes else text


def _split_error(error: ToolError | MCPistError) -> tuple[str, str]:
    if isinstance(error, ToolError):
        return error.text, error.retry
    return str(error), f"try again in {math.ceil(error.retry_after)} s" if isinstance(error, Unavailable) else ""
