"""Error that a tool raises for its caller."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OUTCOME_UNKNOWN = "whether the change was made is not known; look before you try again"
"""What is said of a write that may have arrived. Whoever obeyed "try again later" could make the change twice."""


class ToolError(Exception):
    """A failure that the model can do something about; its text is shown to it, so it holds no secret.

    `retry` says when to call again, such as "try again in 30 s". It is shown behind the text, and left out where the
    tool has sent a change before: then the caller is told to look first.

    With a `code` the result has an object beside the text, for callers that branch on it:
    ``{"success": false, "error": {"code": code, "message": the text, "data": details}}``. `details` hold plain JSON
    values, at most 2,000 bytes; what is more is left out, and invisible characters are.
    """

    def __init__(
        self,
        text: str,
        *,
        retry: str = "",
        code: int | str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{text}; {retry}" if retry else text)
        self.text = text
        self.retry = retry
        self.code = code
        self.details = details


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One of the errors that a module's document lists: its code, its message, and the name of its type."""

    code: int
    message: str
    type: str


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """What the gateway itself says of a module whose document lists its errors: that arguments do not fit, with the
    details `field`, `value` and `constraint`, and that the tool failed, with a `reference`."""

    invalid_arguments: ErrorKind
    failure: ErrorKind


class DocumentedError(ToolError):
    """One of the errors that a module's document lists. The result has the document's object, ``{"code", "message",
    "data": {"type", "details", "timestamp"}}``, and its text begins with the message. `details` hold plain JSON values,
    at most 16,000 bytes; what is more is left out."""

    def __init__(self, kind: ErrorKind, details: Mapping[str, Any]) -> None:
        super().__init__(kind.message, code=kind.code, details=details)
        self.kind = kind


class ClientCannotAnswer(ToolError):
    """The client behind a call cannot be asked something. `capabilities` are those that it would have to declare, as it
    declares them; empty where no client could be asked within this call."""

    def __init__(self, text: str, capabilities: Mapping[str, Any]) -> None:
        super().__init__(text)
        self.capabilities = capabilities
