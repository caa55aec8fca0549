"""Collections of searched documents: what a module stores in one is found by its meaning and by its words.

Keys, tags and names are compared in one form (:func:`normalize_name`), in which they are stored.
"""

import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from modules.kit.errors import ToolError

MAX_DOCUMENT_TEXT = 1_000_000
"""Characters of one document."""
MAX_DOCUMENT_KEY = 500
MAX_TITLE_LENGTH = 500
MAX_TAGS = 50
MAX_TAG_LENGTH = 100
MAX_METADATA_BYTES = 16 * 1024
MAX_QUERY_LENGTH = 2_000
MAX_HITS = 50
MAX_DOCUMENT_PAGE = 200


def normalize_name(text: str) -> str:
    """Return a key, a tag or a collection's name in the form in which it is stored and compared (NFC): macOS and Linux
    write one Japanese file name in two ways."""
    return unicodedata.normalize("NFC", text)


class CollectionOwner(StrEnum):
    """Whose a collection is: one person's, a role's, or the whole tenant's. Its owners read it."""

    USER = "user"
    ROLE = "role"
    TENANT = "tenant"


class MatchKind(StrEnum):
    """Why a passage was found."""

    MEANING = "meaning"
    WORDS = "words"
    BOTH = "both"


class SearchMode(StrEnum):
    """What a search compares: meanings, words, or both (fused)."""

    MEANING = "meaning"
    WORDS = "words"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection of this module that the caller may read. `role` is the name of the role that owns it, empty unless
    one does. `model` is the embedding model, which a collection keeps until it is embedded anew."""

    id: UUID
    name: str
    owner: CollectionOwner
    role: str
    model: str
    can_write: bool
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to store. Of its `text`, chunks are embedded, and with `keep_text` also searched by their words and
    kept; otherwise nothing of the text itself is stored, and `tags` and `metadata` are all that a hit can show.
    `url` is where a person can open the original."""

    key: str
    title: str
    text: str
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    url: str = ""
    keep_text: bool = True
    max_chunk_chars: int | None = None
    """Characters of a chunk, Japanese or not, in place of those that suit the embedding model (of the built-in one 800,
    or 400 Japanese). A text of at most so many is one chunk. Of a chunk over 4,000 characters the first 4,000 are
    embedded, which is all that the built-in model reads; its words are searched to the end."""
    parent: str | None = None
    """Key of one of the caller's JSON documents (`context.documents`), such as a source that this came from. Once that
    is deleted, by the module or with its person, maintenance deletes this document within a day. A change that names no
    parent keeps the one there is."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A stored document; `text` is None where it was not kept, and in lists. `version` is 1 for a new document,
    and one more after each change; `id` stays the same."""

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
    """Start and end of each chunk in the text; left out in lists."""


@dataclass(frozen=True, slots=True)
class StoredDocumentPage:
    """Documents in the order that was asked for; `next_after` is empty on the last page."""

    documents: tuple[StoredDocument, ...]
    next_after: str


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents count: those with all of `tags`, all of `metadata` (equal values at the top level), a key that
    begins with `key_prefix`, and updated in that time (`since` inclusive, `until` exclusive)."""

    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    key_prefix: str = ""
    since: datetime | None = None
    until: datetime | None = None


NO_FILTER = DocumentFilter()

ReportStep = Callable[[int, int], Awaitable[None]]
"""Is told how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage that was found. `similarity` is the cosine to the query (-1 to 1), and `coverage` the share of the
    query's words that it has, weighted by how rare they are (0 to 1). `text` is None where it was not kept."""

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
    matched: MatchKind


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Two documents, by their titles, of which each is the other's nearest in meaning. `similarity` is their cosine;
    `likeness` is that on a scale on which models compare: 0 is chance, 1 the same meaning."""

    first: str
    second: str
    similarity: float
    likeness: float


class StaleVersion(ToolError):
    """The document does not have the version that a change expects: somebody has changed it meanwhile."""


class Collections(Protocol):
    """The module's collections that the caller may read. No other module's can be reached, and nobody else's.

    Each method is a transaction of its own. Every method raises ToolError where the database cannot search by meaning
    (PostgreSQL without pgvector), and where a limit is broken.

    `derived`: what is stored is an index of rows of the module's own, which can be made again from those. It is no
    change of the caller's: a tool that only reads may bring its index up to date.
    """

    async def list(self) -> Sequence[CollectionInfo]:
        """List the collections: the caller's own first, then by name."""
        ...

    async def find(
        self, name: str, owner: CollectionOwner = CollectionOwner.USER, role: str = ""
    ) -> CollectionInfo | None:
        """Return a collection by its name and owner, or None where there is none that the caller may read."""
        ...

    async def open(
        self,
        name: str,
        owner: CollectionOwner = CollectionOwner.USER,
        role: str = "",
        *,
        model: str = "",
        member_writes: bool = False,
        derived: bool = False,
    ) -> CollectionInfo:
        """Return a collection, which is created where there is none, with the embedding `model` of this name, or the
        deployment's. Only administrators create shared ones, and write to them unless `member_writes`.

        Raises:
            ToolError: the caller may not create it, or the role or the model does not exist for them.
        """
        ...

    async def remove(self, collection: UUID) -> int:
        """Delete a collection with its documents; return how many there were.

        Raises:
            ToolError: there is none, or the caller may not write to it.
        """
        ...

    async def reembed(self, collection: UUID, model: str, report: ReportStep | None = None) -> int:
        """Give a collection another embedding model; return how many documents were embedded. Until all are, searches
        find by the old model. What was interrupted goes on where it ended. `report` is told of each step.

        Raises:
            ToolError: the caller may not write to it, a document's text was not kept, or the model failed.
        """
        ...

    async def put(
        self, collection: UUID, document: NewDocument, *, expected_version: int | None = None, derived: bool = False
    ) -> StoredDocument:
        """Store a document in place of the one with this key. `expected_version` 0 means that there is none yet, None
        that any will do.

        Raises:
            StaleVersion: it has another version.
            ToolError: the caller may not write to it, the tenant's storage is full, or the embedding model failed.
        """
        ...

    async def get(self, collection: UUID, key: str) -> StoredDocument | None:
        """Return a document with its text, or None."""
        ...

    async def get_by_id(self, document: UUID) -> StoredDocument | None:
        """Return a document of any of the module's collections with its text, or None."""
        ...

    async def delete(
        self, collection: UUID, key: str, *, expected_version: int | None = None, derived: bool = False
    ) -> bool:
        """Delete a document; tell whether there was one.

        Raises:
            StaleVersion: it has another version.
            ToolError: the caller may not write to it.
        """
        ...

    async def list_documents(
        self,
        collections: Sequence[UUID] | None = None,
        filter: DocumentFilter = NO_FILTER,
        *,
        newest_first: bool = False,
        after: str = "",
        limit: int = 50,
    ) -> StoredDocumentPage:
        """List documents without their texts, by key or the newest first; `collections` None means all that the caller
        may read."""
        ...

    async def count_tags(self, collections: Sequence[UUID] | None = None) -> Sequence[tuple[str, int]]:
        """Return the tags with the number of documents that have each, the most frequent first."""
        ...

    async def search(
        self,
        query: str,
        *,
        collections: Sequence[UUID] | None = None,
        filter: DocumentFilter = NO_FILTER,
        mode: SearchMode = SearchMode.HYBRID,
        limit: int = 5,
        one_per_document: bool = False,
    ) -> Sequence[SearchHit]:
        """Find the passages that fit a query best; of each document the best one only if `one_per_document`.

        Raises:
            ToolError: the query is empty or too long, or the embedding model failed.
        """
        ...

    async def pair_nearest(self, collection: UUID, *, least: float) -> Sequence[SimilarPair]:
        """Pair documents of which each is the other's nearest in meaning, the most alike first, from a likeness of
        `least` on. Of a large collection the 2,000 documents are compared that were changed last."""
        ...

    async def describe_model(self, model: str = "") -> str:
        """Return the name of a model once it has embedded something, for a module that reports its health; without a
        name that of the model which new collections get.

        Raises:
            ToolError: there is no such model, its key is missing, or it failed.
        """
        ...
