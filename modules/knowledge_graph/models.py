"""Arguments and results of the tools. Limits are part of the types: an oversized value is refused, never cut."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from modules.kit import MatchKind

MAX_ITEMS = 100
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def check_storable(text: str) -> str:
    """`text` itself.

    Raises: ValueError if it is blank or has a control character other than tab and line break (U+0000 cannot be stored,
    and the others are never meant).
    """
    if match := _CONTROL.search(text):
        raise ValueError(f"has the control character U+{ord(match[0]):04X} at position {match.start()}; leave it out")
    if not text.strip():
        raise ValueError("is blank; write at least one visible character")
    return text


Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_storable)]
Text = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(check_storable)]
# A list is refused at its first mistake: each of them costs 30 µs, and lists of lists have room for 10,000.
Names = Annotated[list[Name], Field(max_length=MAX_ITEMS, fail_fast=True)]
Texts = Annotated[list[Text], Field(max_length=MAX_ITEMS, fail_fast=True)]


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Output(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)


class Entity(_Input):
    name: Name
    entityType: Name  # noqa: N815 -- as in the reference MCP memory server
    observations: Texts


class Relation(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    source: Annotated[Name, Field(alias="from")]
    to: Name
    relationType: Name  # noqa: N815


class Additions(_Input):
    entityName: Name  # noqa: N815
    contents: Texts


class Deletions(_Input):
    entityName: Name  # noqa: N815
    observations: Texts


class SavedEntity(_Output):
    name: str
    entityType: str  # noqa: N815
    created: bool
    observationsAdded: int  # noqa: N815


class SaveResult(_Output):
    message: str
    created: int
    updated: int
    entities: list[SavedEntity]


class RelateResult(_Output):
    message: str
    created: int
    existing: int


class EntityAdditions(_Output):
    entityName: str  # noqa: N815
    added: int


class AddResult(_Output):
    message: str
    added: int
    results: list[EntityAdditions]


class DeleteResult(_Output):
    message: str
    entities: int = 0
    observations: int = 0
    relations: int = 0


class RefusedLine(_Output):
    """A line that was not imported, or one of its observations (both counted from 1), and why."""

    line: int
    observation: Annotated[int | None, Field(exclude_if=lambda value: value is None)] = None
    reason: str


class ImportReport(_Output):
    """What an import changed. `refusedCount` counts all that was refused, `refused` has the first of it."""

    message: str
    entitiesCreated: int  # noqa: N815
    entitiesUpdated: int  # noqa: N815
    observationsAdded: int  # noqa: N815
    relationsCreated: int  # noqa: N815
    relationsExisting: int  # noqa: N815
    refusedCount: int  # noqa: N815
    refused: list[RefusedLine]


class ExportedPart(_Output):
    """A part of the file: all parts, one after the other, are the file. A part ends within a line only where the line
    is longer than a part."""

    message: str
    jsonl: str
    nextCursor: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None  # noqa: N815


class DuplicatePair(_Output):
    """Two entities that may be the same; `score` is above 0.5 and at most 1."""

    first: str
    second: str
    score: float
    reasons: list[str]


class DuplicateReport(_Output):
    """Pairs, the most likely first; `total` counts all that were found."""

    message: str
    total: int
    pairs: list[DuplicatePair]


class FoundEntity(_Output):
    """An entity with its observations, oldest first; `continued` if earlier ones were on the page before."""

    name: str
    entityType: str  # noqa: N815
    observations: list[str]
    continued: Annotated[bool, Field(exclude_if=lambda value: not value)] = False


class Graph(_Output):
    """One page; `nextCursor` leads to the next, and is missing on the last."""

    message: str
    entities: list[FoundEntity]
    relations: list[Relation]
    nextCursor: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None  # noqa: N815


class MeaningMatch(_Output):
    """An entity that was found: `similarity` is the cosine of its nearest passage to the query, `matched` what of that
    the query has in common with it. `passage` is there where observations are omitted."""

    name: str
    entityType: str  # noqa: N815
    similarity: float
    matched: MatchKind
    observations: list[str]
    omittedObservations: Annotated[int, Field(exclude_if=lambda value: not value)] = 0  # noqa: N815
    passage: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None


class MeaningMatches(_Output):
    """Entities that were found, the nearest first. `pending` changed entities are not indexed yet."""

    message: str
    entities: list[MeaningMatch]
    relations: list[Relation]
    pending: int


class IndexReport(_Output):
    """What has become of the index: `pending` entities still wait, where something failed."""

    message: str
    pending: int


class Nodes(Graph):
    unknown: list[str]
