"""Errors whose text is written for the person who reads it; each knows its HTTP status and exit code."""

import math
from collections.abc import Mapping
from typing import ClassVar


class MCPistError(Exception):
    """An expected failure. Its text is safe to show to any caller: no secret, no vendor body, no SQL."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1


class Invalid(MCPistError):
    """The input is wrong; the text says what was expected."""

    status, code, exit_code = 400, "invalid", 2


class InvalidFields(Invalid):
    """Raised where single fields are wrong; `problems` has what was expected of each, by its name or path."""

    def __init__(self, problems: Mapping[str, str], text: str = "") -> None:
        super().__init__(text or "; ".join(f"{name}: {problem}" for name, problem in problems.items()))
        self.problems = problems

    def locate(self, path: str) -> "InvalidFields":
        """Return the same error with the fields' paths below `path`; the text stays."""
        return InvalidFields({f"{path}.{name}": problem for name, problem in self.problems.items()}, str(self))


class Forbidden(MCPistError):
    """The caller may not do this."""

    status, code, exit_code = 403, "forbidden", 3


class NotFound(MCPistError):
    """Raised where nothing of that name or id exists for this caller."""

    status, code, exit_code = 404, "not_found", 4


class Conflict(MCPistError):
    """Raised where the object exists already or was changed meanwhile."""

    status, code, exit_code = 409, "conflict", 5


class LimitReached(MCPistError):
    """Raised where a limit is reached; `retry_after` is in seconds."""

    status, code, exit_code = 429, "limit_reached", 6

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(MCPistError):
    """A part that the product needs (database, broker) is away for now; try again after `retry_after` seconds."""

    status, code, exit_code = 503, "unavailable", 7
    component_state: ClassVar[str] = "down"
    """State that `/readyz` gives the part."""

    def __init__(
        self, message: str = "MCPist is not ready: its database is unavailable", retry_after: float = 2.0
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def text_with_retry(self) -> str:
        """Text with the seconds to wait, for clients that do not read headers."""
        return f"{self}; try again in {math.ceil(self.retry_after)} s"
