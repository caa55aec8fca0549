"""The errors of items with the codes of their document. `details` never hold more than a short part of a value."""

from typing import Any

from modules.kit import DocumentedError, ErrorForm, ErrorKind

NOT_FOUND = ErrorKind(1001, "Item not found", "ItemNotFoundError")
INVALID = ErrorKind(1002, "Validation failed", "ValidationError")
FAILED = ErrorKind(1003, "Database error", "DatabaseError")
VIOLATED = ErrorKind(1004, "Constraint violation", "ConstraintViolationError")
DENIED = ErrorKind(1005, "Permission denied", "PermissionDeniedError")
ERRORS = ErrorForm(invalid_arguments=INVALID, failure=FAILED)

MAX_VALUE_LENGTH = 100


def build_not_found(type: str, requested: Any) -> DocumentedError:
    """Build the error that there is no such item, or none that the caller may see. `requested` is the id as given, a
    number or a key; the error has both."""
    number = str(requested).strip().rpartition("-")[2]
    id = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else shorten(requested)
    return DocumentedError(NOT_FOUND, {"type": type, "id": id, "requested_id": shorten(f"{type}-{number}")})


def build_invalid(field: str, value: Any, constraint: str) -> DocumentedError:
    """Build the error that a value breaks a constraint on its field."""
    return DocumentedError(INVALID, {"field": field, "value": shorten(value), "constraint": constraint})


def build_violated(constraint: str, message: str, field: str) -> DocumentedError:
    """Build the error that a value is none of those that the workspace has."""
    return DocumentedError(VIOLATED, {"constraint": constraint, "message": message, "field": field})


def build_denied(workspace: str, message: str = "you may read it, and not change it") -> DocumentedError:
    """Build the error that the caller may read the workspace and not change it."""
    return DocumentedError(DENIED, {"workspace": workspace, "message": message})


def build_failed(message: str) -> DocumentedError:
    """Build the error that something else than the items failed."""
    return DocumentedError(FAILED, {"message": message})


def get_constraint(message: str) -> str:
    """Return what a validator says of a value, without what pydantic puts before it."""
    return message.removeprefix("Value error, ")


def shorten(value: Any) -> Any:
    """Shorten a value to what an error may repeat of it."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 1] + "…"
