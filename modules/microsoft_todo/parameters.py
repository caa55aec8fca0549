"""Parameters that several of Microsoft To Do's tools share, and the scopes."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from modules.kit.parameters import OptionalParameter, limit_length

READ_TASKS = "Tasks.Read"
WRITE_TASKS = "Tasks.ReadWrite"

# Long and like base64: a slash in one would end the segment of a path, so that each is encoded whole.
_ID = re.compile(r"(?!.*\.\.)[A-Za-z0-9+/=_.!-]{1,500}", re.ASCII)
_TASK_ID = re.compile(r"(?!.*\.\.)~?[A-Za-z0-9+/=_.,!-]{1,500}", re.ASCII)
"""Also a short one, see `task_ids.py`."""
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{1,200}"', re.ASCII)


def _check_id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise ValueError("is no id of To Do: take it from a list, not the title")
    return text


def _check_task_id(text: str) -> str:
    return text if _TASK_ID.fullmatch(text) else _check_id(text)


def _check_etag(text: str) -> str:
    if not _ETAG.fullmatch(text):
        raise ValueError('is no etag: give that of the task as it was read, such as W/"x"')
    return text


TodoId = Annotated[str, limit_length(maximum=500), AfterValidator(_check_id)]
ListId = Annotated[TodoId, Field(description="List")]
TaskId = Annotated[str, limit_length(maximum=500), AfterValidator(_check_task_id), Field(description="Task")]
ItemId = Annotated[TodoId, Field(description="Step")]
TaskTitle = Annotated[str, limit_length(1, 255)]
BodyText = Annotated[str, limit_length(maximum=100_000)]
Due = OptionalParameter[Annotated[str, limit_length(maximum=40)]]
TaskStatus = Literal["notStarted", "inProgress", "completed", "waitingOnOthers", "deferred"]
Importance = Literal["low", "normal", "high"]
Categories = OptionalParameter[Annotated[list[Annotated[str, limit_length(1, 255)]], limit_length(maximum=25)]]
Etag = Annotated[
    OptionalParameter[Annotated[str, limit_length(maximum=256), AfterValidator(_check_etag)]],
    Field(description="Only if unchanged"),
]
