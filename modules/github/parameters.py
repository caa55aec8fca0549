"""Parameters that several tools share, and what a client may assume of the tools.

Their schemas are kept small: a parameter that may be left out has no null (a model then leaves it out instead of
sending null), and limits that no real value comes near are checked without being listed. What is beyond them is refused
with the limit in the text.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, AwareDatetime, Field
from pydantic.json_schema import SkipJsonSchema

from modules.kit import Hints

REPO = "repo"
WORKFLOW = "workflow"
NOTIFICATIONS = "notifications"
USER = "read:user"

# MCP gives `idempotent` no meaning where nothing is changed, and the design's table leaves it out there.
READ_HINTS = Hints(read_only=True, destructive=False, idempotent=False, open_world=True)
ADD_HINTS = Hints(read_only=False, destructive=False, idempotent=False, open_world=True)
CHANGE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=True)
ACTION_HINTS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)

# What GitHub takes, with room for the names of bots (`dependabot[bot]`) and of managed users (`mona_acme`).
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?")
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAX_PATH_LENGTH = 4096
_MAX_REF_LENGTH = 255


def _check_login(text: str) -> str:
    if not _LOGIN.fullmatch(text):
        raise ValueError("is not a GitHub account name: letters, digits and -, without the repository")
    return text


def _check_repository(text: str) -> str:
    if not _REPOSITORY.fullmatch(text) or set(text) == {"."}:
        raise ValueError("is not a repository name: letters, digits, -, _ and ., without the owner")
    return text


def _check_file_path(text: str) -> str:
    segments = text.strip("/").split("/")
    if len(text) > _MAX_PATH_LENGTH or _CONTROL.search(text):
        raise ValueError(f"is not a path: at most {_MAX_PATH_LENGTH} characters, none of them a control character")
    if segments != [""] and {"", ".", ".."} & set(segments):
        raise ValueError("is not a path: no empty part, no . and no ..")
    return "/".join(segments)


def _refuse_root(text: str) -> str:
    if not text:
        raise ValueError("is the root of the repository: name a file")
    return text


def _check_ref(text: str) -> str:
    if not 0 < len(text) <= _MAX_REF_LENGTH or _CONTROL.search(text) or {"", ".", ".."} & set(text.split("/")):
        raise ValueError(f"is not a branch, tag or commit: 1 to {_MAX_REF_LENGTH} characters")
    return text


def _drop_bounds(schema: dict[str, Any]) -> None:
    for keyword in ("maxItems", "minItems", "maxLength", "minLength", "maximum", "minimum", "pattern"):
        schema.pop(keyword, None)


def _drop_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


Value = TypeVar("Value")
OptionalParameter = Annotated[Value | SkipJsonSchema[None], Field(json_schema_extra=_drop_default)]


def limit_length(minimum: int = 0, maximum: int = 256) -> Any:
    """Return a field whose limits on length the schema does not show."""
    return Field(min_length=minimum, max_length=maximum, json_schema_extra=_drop_bounds)


LoginName = Annotated[str, AfterValidator(_check_login)]
Ref = Annotated[str, AfterValidator(_check_ref)]
Path = Annotated[str, AfterValidator(_check_file_path)]
FilePath = Annotated[Path, AfterValidator(_refuse_root)]
ShortText = Annotated[str, limit_length()]
Title = Annotated[str, limit_length(1)]
LongText = Annotated[str, limit_length(maximum=65_536)]  # GitHub's own limit for the body of an issue or a comment
Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$", json_schema_extra=_drop_bounds)]

Owner = Annotated[LoginName, Field(description="Owner")]
Repo = Annotated[str, AfterValidator(_check_repository), Field(description="Name")]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1, json_schema_extra=_drop_bounds)]
Number = Annotated[Positive, Field(description="Number")]
PerPage = Annotated[int, Field(ge=1, le=100, description="At most 100", json_schema_extra=_drop_bounds)]
CursorText = Annotated[
    OptionalParameter[Annotated[str, limit_length(maximum=1000)]], Field(description="Last nextCursor")
]
Body = Annotated[OptionalParameter[LongText], Field(description="Markdown")]
Timestamp = OptionalParameter[AwareDatetime]


def format_timestamp(value: datetime | None) -> str | None:
    """Format a moment as GitHub writes it."""
    return value and value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
