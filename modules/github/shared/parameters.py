"""Parameters that several of GitHub's tools share: names, paths and refs that cannot lead elsewhere."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from modules.kit import Hints
from modules.kit.parameters import OptionalParameter, Positive, drop_bounds, limit_length

# Adds what is not there yet, and nothing if it is there.
ENSURE_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=True)

REPO = "repo"
WORKFLOW = "workflow"
NOTIFICATIONS = "notifications"
USER = "read:user"

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


def _check_full_name(text: str) -> str:
    owner, slash, name = text.partition("/")
    if not slash:
        raise ValueError("is not a repository: owner/name")
    return f"{_check_login(owner)}/{_check_repository(name)}"


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
    is_plain = 0 < len(text) <= _MAX_REF_LENGTH and text.isprintable() and " " not in text
    if not is_plain or {"", ".", ".."} & set(text.split("/")):
        raise ValueError(f"is not a branch, tag or commit: 1 to {_MAX_REF_LENGTH} characters, no spaces")
    return text


LoginName = Annotated[str, AfterValidator(_check_login)]
FullName = Annotated[str, AfterValidator(_check_full_name)]
Ref = Annotated[str, AfterValidator(_check_ref)]
Path = Annotated[str, AfterValidator(_check_file_path)]
FilePath = Annotated[Path, AfterValidator(_refuse_root)]
LongText = Annotated[str, limit_length(maximum=65_536)]  # GitHub's own limit for the body of an issue or a comment
Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$", json_schema_extra=drop_bounds)]

Id = Annotated[int, Field(ge=1, le=2**53, json_schema_extra=drop_bounds)]
"""Of what GitHub numbers over all repositories; a number that JSON keeps exactly."""

Owner = Annotated[LoginName, Field(description="Owner")]
Repo = Annotated[str, AfterValidator(_check_repository), Field(description="Name")]
Number = Annotated[Positive, Field(description="Number")]
Body = Annotated[OptionalParameter[LongText], Field(description="Markdown")]
CommentBody = Annotated[str, limit_length(1, 65_536), Field(description="Markdown")]
CommentId = Annotated[Id, Field(description="The comment's id")]
