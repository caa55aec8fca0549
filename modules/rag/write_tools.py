"""Tools that store, change and delete documents."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from modules.kit import (
    CollectionInfo,
    CollectionOwner,
    Context,
    Hints,
    NewDocument,
    StoredDocument,
    ToolError,
    tool,
)
from modules.kit.collections import MAX_TAGS, MAX_TITLE_LENGTH
from modules.kit.front_matter import find_first_heading, read_front_matter
from modules.kit.parameters import OptionalParameter
from modules.rag.collection_names import find_or_create, find_readable
from modules.rag.models import (
    CollectionName,
    DeletedDocument,
    DocumentText,
    ExpectedVersion,
    FilePath,
    SavedDocument,
    Tag,
)
from modules.rag.read_tools import build_uri

WRITE = "rag:write"
CHANGE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)

Title = Annotated[
    OptionalParameter[Annotated[str, Field(max_length=MAX_TITLE_LENGTH)]],
    Field(description="Title; without it that of the front matter"),
]
NewTags = Annotated[
    OptionalParameter[Annotated[list[Tag], Field(max_length=MAX_TAGS)]],
    Field(description="Tags; without them those of the front matter"),
]
Url = Annotated[
    OptionalParameter[Annotated[str, Field(max_length=2_000, pattern=r"^https?://")]],
    Field(description="Where a person opens the original"),
]


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="add, save, store, upload, 登録, 追加, 保存")
async def index_doc(
    context: Context,
    file_path: FilePath,
    text: DocumentText,
    title: Title = None,
    tags: NewTags = None,
    url: Url = None,
    collection: CollectionName = None,
    expected_version: ExpectedVersion = None,
) -> SavedDocument:
    """Store a document, so that it is found by its meaning and its words. One of the same path is replaced."""
    found = await find_or_create(context, collection)
    front = read_front_matter(text)
    document = NewDocument(
        key=file_path,
        title=(front.title or find_first_heading(front.rest)) if title is None else title,
        text=text,
        tags=front.tags if tags is None else tags,
        url=url or "",
    )
    stored = await context.collections.put(found.id, document, expected_version=expected_version)
    _announce(context, found, stored.id)
    return _build_saved(stored, found.name, "Stored")


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="edit, change, 更新, 変更")
async def update_doc(
    context: Context,
    file_path: FilePath,
    text: Annotated[OptionalParameter[DocumentText], Field(description="New text; without it the text stays")] = None,
    title: Annotated[
        OptionalParameter[Annotated[str, Field(max_length=MAX_TITLE_LENGTH)]], Field(description="New title")
    ] = None,
    tags: Annotated[
        OptionalParameter[Annotated[list[Tag], Field(max_length=MAX_TAGS)]],
        Field(description="New tags, in place of all"),
    ] = None,
    url: Url = None,
    collection: CollectionName = None,
    expected_version: ExpectedVersion = None,
) -> SavedDocument:
    """Change a document; what is not given stays as it is."""
    found = await find_readable(context, collection)
    current = None if found is None else await context.collections.get(found.id, file_path)
    if found is None or current is None:
        raise ToolError(f"Document not found: {file_path}")
    document = NewDocument(
        key=file_path,
        title=current.title if title is None else title,
        text=(current.text or "") if text is None else text,
        tags=current.tags if tags is None else tags,
        metadata=current.metadata,
        url=current.url if url is None else url,
    )
    expected = current.version if expected_version is None else expected_version
    stored = await context.collections.put(found.id, document, expected_version=expected)
    _announce(context, found, stored.id)
    return _build_saved(stored, found.name, "Updated")


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="remove, 削除")
async def delete_doc(
    context: Context,
    file_path: FilePath,
    collection: CollectionName = None,
    expected_version: ExpectedVersion = None,
) -> DeletedDocument:
    """Delete a document."""
    found = await find_readable(context, collection)
    current = None if found is None else await context.collections.get(found.id, file_path)
    deleted = False
    if found is not None and current is not None:
        deleted = await context.collections.delete(found.id, file_path, expected_version=expected_version)
        _announce(context, found, current.id)
    message = f"Deleted {file_path}." if deleted else f"There was no document {file_path}."
    return DeletedDocument(message=message, deleted=deleted)


WRITE_TOOLS = (index_doc, update_doc, delete_doc)


def _announce(context: Context, collection: CollectionInfo, document: UUID) -> None:
    """Have clients told that a document has changed, if they have subscribed to it. Its id tells nothing of it."""
    context.announce_resource_change(build_uri(document), shared=collection.owner is not CollectionOwner.USER)


def _build_saved(stored: StoredDocument, collection: str, verb: str) -> SavedDocument:
    return SavedDocument(
        message=f"{verb} {stored.key} in {stored.chunks} chunks.",
        file_path=stored.key,
        collection=collection,
        version=stored.version,
        chunks=stored.chunks,
        uri=build_uri(stored.id),
    )
