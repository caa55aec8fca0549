"""Arguments and results of documents."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from modules.kit import MatchKind, SensitiveParameter
from modules.kit.collections import MAX_DOCUMENT_KEY, MAX_DOCUMENT_TEXT, MAX_QUERY_LENGTH, MAX_TAG_LENGTH, MAX_TAGS
from modules.kit.parameters import OptionalParameter
from modules.kit.result_texts import TextResult
from modules.kit.results import Missable
from modules.kit.untrusted import UNTRUSTED

NOTHING_FOUND = "No matching documents found."
NO_TAGS = "No tags found."
UNTITLED = "(untitled)"
DEFAULT_COLLECTION = "documents"

SearchQuery = Annotated[
    str, Field(min_length=1, max_length=MAX_QUERY_LENGTH, description="What to look for, in Japanese or English")
]
FilePath = Annotated[
    str, Field(min_length=1, max_length=MAX_DOCUMENT_KEY, description="Path of the document, such as guide/install.md")
]
Tag = Annotated[str, Field(min_length=1, max_length=MAX_TAG_LENGTH)]
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS, description="Only documents that have all of these tags")]
CollectionNames = Annotated[
    list[str],
    Field(max_length=50, description="Only these collections, by name or id; without it all that you may read"),
]
CollectionName = Annotated[
    OptionalParameter[Annotated[str, Field(max_length=200)]],
    Field(description="Name or id of the collection; without it your own documents"),
]
AnyCollectionName = Annotated[
    OptionalParameter[Annotated[str, Field(max_length=200)]],
    Field(description="Name or id of the collection; without it all that you may read, your own first"),
]
DocumentText = Annotated[
    str,
    SensitiveParameter(),
    Field(
        min_length=1,
        max_length=MAX_DOCUMENT_TEXT,
        description="Markdown or plain text; its front matter may have title and tags",
    ),
]
ExpectedVersion = Annotated[
    OptionalParameter[Annotated[int, Field(ge=0)]],
    Field(description="Version that you have read; the change is refused if there is a newer one"),
]
Limit = Annotated[int, Field(ge=1, le=50, description="Most results")]


class DocumentHit(BaseModel):
    """A passage of a document. `similarity` is the cosine to the query, `coverage` the share of the query's words."""

    title: str
    heading: str
    content: str | None
    file_path: str
    similarity: float
    coverage: float
    matched: MatchKind
    tags: list[str]
    collection: str
    collection_id: UUID
    url: str
    uri: str
    updated_at: datetime


class FoundDocuments(TextResult):
    """Passages that fit a query, best first."""

    text_field: ClassVar[str] = "message"
    is_complete: ClassVar[bool] = True

    message: str
    results: list[DocumentHit]

    def format_text(self) -> str:
        if not self.results:
            return self.message
        return "\n\n---\n\n".join([UNTRUSTED, *map(_format_hit, self.results)])


class ReadDocument(TextResult):
    """A document with its whole content."""

    text_field: ClassVar[str] = "content"
    is_complete: ClassVar[bool] = True

    file_path: str
    title: str
    tags: list[str]
    url: str
    collection: str
    version: int
    updated_at: datetime
    content: str

    def format_text(self) -> str:
        return f"{UNTRUSTED}\n\n# {self.title}\n\nTags: {', '.join(self.tags)}\n\n---\n\n{self.content}"


class TagCount(BaseModel):
    """A tag, and how many documents have it."""

    tag: str
    documents: int


class TagList(TextResult):
    """Tags of documents, the most frequent first."""

    text_field: ClassVar[str] = "message"
    is_complete: ClassVar[bool] = True

    message: str
    tags: list[TagCount]

    def format_text(self) -> str:
        return "\n".join(f"{one.tag} ({one.documents})" for one in self.tags) or self.message


class ListedDocument(BaseModel):
    """A document in a list."""

    file_path: str
    title: str
    tags: list[str]
    collection: str
    collection_id: UUID
    url: str
    version: int
    updated_at: datetime


class DocumentList(TextResult):
    """A page of documents; it goes on with `next_cursor`."""

    text_field: ClassVar[str] = "message"
    is_complete: ClassVar[bool] = True

    message: str
    documents: list[ListedDocument]
    next_cursor: Missable[str] = None

    def format_text(self) -> str:
        lines = [f"- {one.title} ({one.file_path}), {one.updated_at:%Y-%m-%d}" for one in self.documents]
        more = [f"next_cursor: {self.next_cursor}"] if self.next_cursor else []
        return "\n".join([UNTRUSTED, *lines, *more]) if lines else self.message


class SavedDocument(BaseModel):
    """A document that was stored."""

    message: str
    file_path: str
    collection: str
    version: int
    chunks: int
    uri: str


class DeletedDocument(BaseModel):
    """Outcome of deleting a document."""

    message: str
    deleted: bool


class ListedCollection(BaseModel):
    """A collection that the caller may read."""

    id: UUID
    name: str
    owner: Literal["user", "role", "tenant"]
    role: Missable[str] = None
    can_write: bool
    documents: int
    chunks: int
    embedding_model: str


class CollectionList(BaseModel):
    """The collections that the caller may read."""

    collections: list[ListedCollection]


class ChangedModel(BaseModel):
    """A collection that has another embedding model, and how many documents were embedded anew."""

    message: str
    documents: int


class DeletedCollection(BaseModel):
    """A collection that was deleted, and how many documents it had."""

    message: str
    documents: int


def _format_hit(hit: DocumentHit) -> str:
    heading = f" > {hit.heading}" if hit.heading else ""
    found = f"similarity: {hit.similarity:.3f}"
    if hit.matched is MatchKind.WORDS:
        found += f", words: {hit.coverage:.0%}"
    lines = [f"## {hit.title}{heading}", f"{hit.file_path} ({found})"]
    lines += [f"Tags: {', '.join(hit.tags)}"] if hit.tags else []
    lines += [hit.url] if hit.url else []
    return "\n".join([*lines, "", "(the text is not kept)" if hit.content is None else hit.content])
