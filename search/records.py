"""What the engine stores and finds, as its callers see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from core.errors import Conflict
from search.fusion import MatchReason

MAX_TEXT_CHARS = 1_000_000
MAX_KEY_CHARS = 500
MAX_TITLE_CHARS = 500
MAX_TAGS = 50
MAX_TAG_CHARS = 100
MAX_METADATA_BYTES = 16 * 1024
MAX_URL_CHARS = 2_000
MAX_QUERY_CHARS = 2_000
MAX_HITS = 50
MAX_PAGE = 200
MAX_COLLECTION_NAME_CHARS = 200
MAX_COLLECTIONS = 100
"""Collections of one owner in one module."""
MAX_READABLE_COLLECTIONS = 10_000
"""Those that one person reads, of theirs, their roles' and the tenant's."""
MAX_PARENT_CHARS = 200
MIN_CHUNK_CHARS = 50


class SearchScope(StrEnum):
    """What a search compares."""

    MEANING = "meaning"
    WORDS = "words"
    HYBRID = "hybrid"


class CollectionKind(StrEnum):
    """Whose a collection is."""

    USER = "user"
    ROLE = "role"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True)
class CollectionCaller:
    """Who asks, and for which module. Whether they are an administrator or have a role is the database's to know."""

    tenant_id: UUID
    user_id: UUID
    module: str


@dataclass(frozen=True, slots=True)
class SearchCollection:
    """A collection that the caller may read; `role` is the name of the role that owns it, empty unless one does."""

    id: UUID
    name: str
    owner: CollectionKind
    role: str
    model: str
    can_write: bool
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A document to store. Without `keep_text` neither the text nor its words are stored, only vectors of it.
    `parent` is the key of one of the module's JSON documents, after whose end maintenance deletes this one."""

    key: str
    title: str
    text: str
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    url: str = ""
    keep_text: bool = True
    max_chunk_chars: int | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document as it is stored; `text` is None where it was not kept, and in lists. `chunk_ranges` has the start and
    end of each chunk in the text, except in lists."""

    id: UUID
    collection: UUID
    key: str
    title: str
    text: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    url: str
    version: int
    chunks: int
    updated_at: datetime
    chunk_ranges: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class IndexedDocumentPage:
    """Documents in order; `next_after` is empty on the last page."""

    documents: tuple[IndexedDocument, ...]
    next_after: str


@dataclass(frozen=True, slots=True)
class DocumentCondition:
    """Which documents count: those with all of `tags`, all of `metadata` (equal values at the top level), a key that
    begins with `key_prefix`, and updated in that time (`since` inclusive, `until` exclusive)."""

    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    key_prefix: str = ""
    since: datetime | None = None
    until: datetime | None = None


ANY_DOCUMENT = DocumentCondition()


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that was found: `similarity` is its cosine to the query (0 where only words were compared), `coverage`
    the weighted share of the query's words that it has (0 where only meanings were compared)."""

    document: UUID
    collection: UUID
    key: str
    title: str
    heading: str
    position: int
    text: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    url: str
    updated_at: datetime
    similarity: float
    coverage: float
    matched: MatchReason


@dataclass(frozen=True, slots=True)
class DocumentPair:
    """Two documents, by their titles, of which each is the other's nearest in meaning. `likeness` is their cosine
    (`similarity`) scaled so that 0 is the model's floor and 1 the same meaning."""

    first: str
    second: str
    similarity: float
    likeness: float


class VersionChanged(Conflict):
    """The document has another version than was expected: `version`, 0 where there is none."""

    def __init__(self, version: int, expected: int) -> None:
        if not version:
            text = "there is no such document (any more); version 0 stores a new one"
        elif not expected:
            text = "there is a document of this name already; read it, and give its version"
        else:
            text = "somebody has changed this document meanwhile; read it again"
        super().__init__(text)
        self.version = version
