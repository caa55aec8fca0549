"""Arguments and results of items. Limits are part of the types: an oversized value is refused, never cut."""

import re
import unicodedata
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from modules.items.item_dates import ItemDate
from modules.kit.parameters import OptionalParameter
from modules.kit.results import Missable

MAX_TYPE_LENGTH = 64
MAX_TITLE_LENGTH = 200
MAX_DESCRIPTION_LENGTH = 1_000
MAX_CONTENT_LENGTH = 102_400
MAX_LABEL_LENGTH = 100
"""Characters of a category, a version, a tag, a workspace's name, and of who changed a state."""
MAX_WORKSPACE_NAME = 250
"""Characters of a full name: those of a role, of a workspace, and what stands between them."""
MAX_STATUS_LENGTH = 64
MAX_TAGS = 50
MAX_RELATED = 100
MAX_UPDATES = 100
MAX_PAGE = 100
MAX_OFFSET = 1_000_000
"""As many items as a workspace may have: every page of a list can be reached."""
MAX_NUMBER = 2**31 - 1
MAX_QUERY_LENGTH = 1_000
_UNSTORABLE = re.compile(r"\x00")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_line(text: str) -> str:
    """Return `text` in the form in which names are compared (NFC), without blanks around it.

    Raises:
        ValueError: it is blank, or has a control character.
    """
    line = unicodedata.normalize("NFC", text).strip()
    if not line:
        raise ValueError("is blank")
    if _CONTROL.search(line):
        raise ValueError("has a control character")
    return line


def flatten_line(text: str) -> str:
    """Return `text` on one line, without control characters."""
    return _CONTROL.sub(" ", text).replace("\u2028", " ").replace("\u2029", " ")


def check_title(text: str) -> str:
    """Return `text` as it is.

    Raises:
        ValueError: it is blank, or has the character U+0000, which cannot be stored.
    """
    if not text.strip():
        raise ValueError("is blank")
    return check_storable(text)


def check_storable(text: str) -> str:
    """Return `text` as it is.

    Raises:
        ValueError: it has the character U+0000, which cannot be stored.
    """
    if _UNSTORABLE.search(text):
        raise ValueError("has the character U+0000")
    return text


def _check_length(most: int) -> AfterValidator:
    """Check the length of a name again: the form in which it is compared may be longer."""

    def check(line: str) -> str:
        if len(line) > most:
            raise ValueError(f"has more than {most} characters in the form NFC")
        return line

    return AfterValidator(check)


class Priority(StrEnum):
    """Priority of an item."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"
    MINIMAL = "MINIMAL"


TypeName = Annotated[
    str, Field(min_length=1, max_length=MAX_TYPE_LENGTH), AfterValidator(check_line), _check_length(MAX_TYPE_LENGTH)
]
StatusName = Annotated[
    str, Field(min_length=1, max_length=MAX_STATUS_LENGTH), AfterValidator(check_line), _check_length(MAX_STATUS_LENGTH)
]
TagName = Annotated[
    str, Field(min_length=1, max_length=MAX_LABEL_LENGTH), AfterValidator(check_line), _check_length(MAX_LABEL_LENGTH)
]
Label = Annotated[str, Field(max_length=MAX_LABEL_LENGTH), AfterValidator(check_storable)]
IdValue = Annotated[
    Annotated[int, Field(ge=1)] | Annotated[str, Field(min_length=1, max_length=MAX_TYPE_LENGTH + 12)],
    Field(description="Number, or type-number such as task-7"),
]
KeyText = Annotated[str, Field(min_length=1, max_length=MAX_TYPE_LENGTH + 12)]
TitleText = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_LENGTH), AfterValidator(check_title)]
DescriptionText = Annotated[str, Field(max_length=MAX_DESCRIPTION_LENGTH), AfterValidator(check_storable)]
ContentText = Annotated[str, Field(max_length=MAX_CONTENT_LENGTH), AfterValidator(check_storable)]
RelatedKeys = Annotated[list[KeyText], Field(max_length=MAX_RELATED, fail_fast=True)]
TagNames = Annotated[list[TagName], Field(max_length=MAX_TAGS, fail_fast=True)]
TypeNames = Annotated[list[TypeName], Field(max_length=50, fail_fast=True)]

WorkspaceName = Annotated[str, Field(min_length=1, max_length=MAX_WORKSPACE_NAME), AfterValidator(check_line)]
"""A bare or a full name, or an id."""
TypeParameter = Annotated[TypeName, Field(description="Any word, such as task or note")]
WorkspaceParameter = Annotated[
    OptionalParameter[WorkspaceName],
    Field(description="Workspace, such as plans, role:Support/board or tenant/board; without it your own"),
]
ExpectedRevision = Annotated[
    OptionalParameter[Annotated[int, Field(ge=0)]],
    Field(description="Revision that you have read; a newer one refuses the change"),
]
TypesFilter = Annotated[TypeNames, Field(description="Only these types")]
QueryText = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_LENGTH), AfterValidator(check_storable)]
Offset = Annotated[int, Field(ge=0, le=MAX_OFFSET, description="Results to skip")]


class ListedItem(BaseModel):
    """An item in a list: without description, content and relations. `id` is its number, `key` its type and number."""

    model_config = ConfigDict(frozen=True)

    key: str
    id: int
    type: str
    title: str
    status: str
    priority: Priority
    category: Missable[str] = None
    start_date: Missable[str] = None
    end_date: Missable[str] = None
    version: Missable[str] = None
    tags: list[str]
    workspace: str
    revision: int
    updated_by: Missable[str] = None
    created_at: datetime
    updated_at: datetime


class Item(ListedItem):
    """A whole item. `updated_by` is who changed it last, in a shared workspace. `related` are keys of items."""

    description: str
    content: str
    related: list[str]


class ReplacedChange(BaseModel):
    """The change of somebody else that a write has replaced."""

    revision: int
    updated_by: str
    updated_at: datetime


class SavedItem(Item):
    """An item as it was written."""

    replaced: Missable[ReplacedChange] = None


class ItemPage(BaseModel):
    """A page of items, the newest change first. The next begins at `next_offset`, which the last one lacks."""

    items: list[ListedItem]
    total: Missable[int] = None
    next_offset: Missable[int] = None


class DeletedItem(BaseModel):
    """An item that was deleted."""

    deleted: bool
    key: str
    title: str
    replaced: Missable[ReplacedChange] = None


class ChangedType(SavedItem):
    """An item of another type. `previous_key` still leads to it."""

    previous_key: str


class ItemChanges(BaseModel):
    """Fields of an item that are to change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: OptionalParameter[TitleText] = None
    description: OptionalParameter[DescriptionText] = None
    content: OptionalParameter[ContentText] = None
    status: OptionalParameter[StatusName] = None
    priority: OptionalParameter[Priority] = None
    category: OptionalParameter[Label] = None
    start_date: OptionalParameter[ItemDate] = None
    end_date: OptionalParameter[ItemDate] = None
    version: OptionalParameter[Label] = None
    related: OptionalParameter[RelatedKeys] = None
    tags: OptionalParameter[TagNames] = None


class ItemUpdate(BaseModel):
    """Changes of one item among several."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: TypeName
    id: IdValue
    data: ItemChanges
    expected_revision: OptionalParameter[Annotated[int, Field(ge=0)]] = None


class UpdatedItem(BaseModel):
    """One of several items that were changed."""

    key: str
    revision: int
    replaced: Missable[ReplacedChange] = None


class UpdatedItems(BaseModel):
    """All items that were changed, in the order in which they were given."""

    updated: list[UpdatedItem]
    count: int


class ItemTagCount(BaseModel):
    """A tag, and how many items have it."""

    name: str
    count: int


class ItemTagList(BaseModel):
    """The tags of a workspace, the most frequent first."""

    tags: list[ItemTagCount]


class Status(BaseModel):
    """A status that items may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: StatusName
    is_closed: bool = False


class StatusList(BaseModel):
    """The statuses of a workspace, in their order."""

    statuses: list[Status]


class StateMetadata(BaseModel):
    """Who wrote a state and when; `related` are keys of items. All is empty where none was written yet."""

    updated_by: str
    updated_at: datetime | None
    related: list[str]
    tags: list[str]
    revision: int


class CurrentState(BaseModel):
    """The current state of a workspace."""

    content: str
    metadata: StateMetadata


class SavedState(CurrentState):
    """A current state as it was written."""

    replaced: Missable[ReplacedChange] = None


class PastState(BaseModel):
    """One state of the history."""

    revision: int
    content: str
    updated_by: str
    updated_at: datetime
    related: list[str]
    tags: list[str]


class StateHistory(BaseModel):
    """States of a workspace, the newest first; older ones are before `next_before`."""

    states: list[PastState]
    next_before: Missable[int] = None


class ListedWorkspace(BaseModel):
    """A workspace that the caller may read."""

    name: str
    id: str
    owner: Literal["user", "role", "tenant"]
    role: Missable[str] = None
    can_write: bool
    items: int


class WorkspaceList(BaseModel):
    """The workspaces that the caller may read, their own first."""

    workspaces: list[ListedWorkspace]


class DeletedWorkspace(BaseModel):
    """A workspace that was deleted, and how many items it had."""

    name: str
    items: int


class RefusedItemLine(BaseModel):
    """A line that was not imported, counted from 1, and why."""

    line: int
    field: str
    reason: str


class ItemImport(BaseModel):
    """What an import has changed. `refused` names the first lines that were refused, `refused_count` counts all. `keys`
    are the new keys of lines that have none, by the number of the line. `pending` items of the workspace are not
    indexed yet, where it is searched by meaning."""

    created: int
    updated: int
    relations: int
    refused_count: int
    refused: list[RefusedItemLine]
    keys: dict[str, str]
    pending: Missable[int] = None
