"""Parts of results that several of GitHub's tools share."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from modules.kit.results import LEFT_OUT_IF_EMPTY, Flag, Line, Missable, Name, ResultModel, Text

MAX_NAMES = 100  # GitHub's own limit for labels and assignees


class FilePatch(ResultModel):
    """A file in a change. `truncated` says that its patch is longer."""

    longest = {"patch": 20_000}  # noqa: RUF012

    filename: Name
    status: Line
    additions: Missable[int] = None
    deletions: Missable[int] = None
    previous_filename: Annotated[Name, LEFT_OUT_IF_EMPTY] = ""
    patch: Text = ""
    truncated: Flag = False


class Confirmation(ResultModel):
    """Says that what was asked for is done, where there is nothing else to tell."""

    done: bool = True


def drop_patch(file: FilePatch) -> FilePatch:
    """`file` with its numbers only."""
    return file.model_copy(update={"patch": "", "truncated": False})


def extract_names(value: Any) -> Any:
    """Extract the names of labels, the logins of accounts or the slugs of teams."""
    if not isinstance(value, list):
        return ()
    return [_extract_name(entry) for entry in cast("list[Any]", value)[:MAX_NAMES]]


def _extract_name(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    owner = cast("Mapping[str, Any]", value)
    return owner.get("login") or owner.get("slug") or owner.get("name")


Names = Annotated[tuple[Line, ...], BeforeValidator(extract_names), LEFT_OUT_IF_EMPTY]
