"""Tools that search and read documents, named as in the knowledge server whose interface this is."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from modules.kit import (
    CollectionInfo,
    Context,
    DocumentFilter,
    Hints,
    SearchHit,
    SearchMode,
    StoredDocument,
    StoredDocumentPage,
    ToolError,
    tool,
)
from modules.kit.parameters import OptionalParameter
from modules.rag.collection_names import find_readable, map_names, select_collections
from modules.rag.models import (
    NO_TAGS,
    NOTHING_FOUND,
    UNTITLED,
    AnyCollectionName,
    CollectionList,
    CollectionNames,
    DocumentHit,
    DocumentList,
    FilePath,
    FoundDocuments,
    Limit,
    ListedCollection,
    ListedDocument,
    ReadDocument,
    SearchQuery,
    Tag,
    TagCount,
    TagList,
    Tags,
)

READ = "rag:read"
READ_HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
DOCUMENT_URI = "resource://rag/documents/{id}"

Cursor = Annotated[str, Field(max_length=2_000, description="next_cursor of the page before")]
PageSize = Annotated[int, Field(ge=1, le=200, description="Most documents of a page")]


@tool(hints=READ_HINTS, scopes=[READ], keywords="knowledge, wiki, manual, 検索, 調べる, 文書, 資料")
async def search_docs(
    context: Context,
    query: SearchQuery,
    tags: Tags = [],  # noqa: B006 - pydantic copies it
    limit: Limit = 5,
    collections: CollectionNames = [],  # noqa: B006
) -> FoundDocuments:
    """Find the passages of documents that answer a question best: by meaning, and by words that are rare."""
    return await _search(context, query, tags, limit, collections, SearchMode.HYBRID)


@tool(hints=READ_HINTS, scopes=[READ], keywords="exact, identifier, 用語, 検索")
async def search_keyword(
    context: Context,
    query: SearchQuery,
    tags: Tags = [],  # noqa: B006
    limit: Limit = 5,
    collections: CollectionNames = [],  # noqa: B006
) -> FoundDocuments:
    """Find passages by their words: names, identifiers and terms as they are written."""
    return await _search(context, query, tags, limit, collections, SearchMode.WORDS)


@tool(hints=READ_HINTS, scopes=[READ])
async def get_doc(context: Context, file_path: FilePath, collection: AnyCollectionName = None) -> ReadDocument:
    """Get a whole document by its path."""
    candidates = await context.collections.list() if collection is None else [await find_readable(context, collection)]
    for found in candidates:
        document = None if found is None else await context.collections.get(found.id, file_path)
        if found is not None and document is not None:
            return build_document(document, found.name)
    raise ToolError(f"Document not found: {file_path}")


@tool(hints=READ_HINTS, scopes=[READ])
async def list_tags(context: Context, collections: CollectionNames = []) -> TagList:  # noqa: B006
    """List the tags of documents, with how many documents have each."""
    chosen = [one.id for one in await select_collections(context, collections)] if collections else None
    counts = await context.collections.count_tags(chosen)
    tags = [TagCount(tag=tag, documents=count) for tag, count in counts]
    return TagList(message=f"{len(tags)} tags." if tags else NO_TAGS, tags=tags)


@tool(hints=READ_HINTS, scopes=[READ])
async def list_docs_by_tag(
    context: Context,
    tag: Annotated[Tag, Field(description="Tag that the documents have")],
    limit: PageSize = 50,
    cursor: Cursor = "",
) -> DocumentList:
    """List the documents that have a tag, by path."""
    page = await context.collections.list_documents(None, DocumentFilter(tags=[tag]), after=cursor, limit=limit)
    return await _build_list(context, page)


@tool(hints=READ_HINTS, scopes=[READ])
async def list_docs_by_date(
    context: Context,
    since: Annotated[
        OptionalParameter[datetime], Field(description="Changed at this time or later, with its offset")
    ] = None,
    until: Annotated[
        OptionalParameter[datetime], Field(description="Changed before this time, with its offset")
    ] = None,
    limit: PageSize = 50,
    cursor: Cursor = "",
    collections: CollectionNames = [],  # noqa: B006
) -> DocumentList:
    """List documents by when they were changed, newest first."""
    for name, time in (("since", since), ("until", until)):
        if time is not None and time.tzinfo is None:
            raise ToolError(f"{name} needs its offset from UTC, such as 2026-11-28T09:00:00+09:00")
    chosen = DocumentFilter(since=since, until=until)
    found = [one.id for one in await select_collections(context, collections)] if collections else None
    page = await context.collections.list_documents(found, chosen, newest_first=True, after=cursor, limit=limit)
    return await _build_list(context, page)


@tool(hints=READ_HINTS, scopes=[READ])
async def list_collections(context: Context) -> CollectionList:
    """List the collections of documents that you may read, and whether you may write to them."""
    return CollectionList(collections=[build_collection(one) for one in await context.collections.list()])


READ_TOOLS = (search_docs, search_keyword, get_doc, list_tags, list_docs_by_tag, list_docs_by_date, list_collections)


def build_uri(document: UUID) -> str:
    """Build the URI of a document's resource."""
    return DOCUMENT_URI.format(id=document)


def build_document(document: StoredDocument, collection: str) -> ReadDocument:
    """Build what is shown of a whole document."""
    return ReadDocument(
        file_path=document.key,
        title=document.title or UNTITLED,
        tags=list(document.tags),
        url=document.url,
        collection=collection,
        version=document.version,
        updated_at=document.updated_at,
        content=document.text or "",
    )


def build_collection(found: CollectionInfo) -> ListedCollection:
    """Build what is shown of a collection."""
    return ListedCollection(
        id=found.id,
        name=found.name,
        owner=found.owner.value,
        role=found.role or None,
        can_write=found.can_write,
        documents=found.documents,
        chunks=found.chunks,
        embedding_model=found.model,
    )


async def _search(
    context: Context, query: str, tags: Sequence[str], limit: int, named: Sequence[str], mode: SearchMode
) -> FoundDocuments:
    collections = await select_collections(context, named)
    chosen = [one.id for one in collections] if named else None
    hits = await context.collections.search(
        query, collections=chosen, filter=DocumentFilter(tags=tags), mode=mode, limit=limit
    )
    names = map_names(collections)
    results = [_build_hit(hit, names.get(hit.collection, "")) for hit in hits]
    return FoundDocuments(message=f"{len(results)} passages." if results else NOTHING_FOUND, results=results)


def _build_hit(hit: SearchHit, collection: str) -> DocumentHit:
    return DocumentHit(
        title=hit.title or UNTITLED,
        heading=_shorten_heading(hit.heading, hit.title),
        content=hit.text,
        file_path=hit.key,
        similarity=round(hit.similarity, 3),
        coverage=round(hit.coverage, 3),
        matched=hit.matched,
        tags=list(hit.tags),
        collection=collection,
        collection_id=hit.collection,
        url=hit.url,
        uri=build_uri(hit.document),
        updated_at=hit.updated_at,
    )


def _shorten_heading(heading: str, title: str) -> str:
    """Return the headings above a passage without the document's own title."""
    return "" if heading == title else heading.removeprefix(f"{title} > ")


async def _build_list(context: Context, page: StoredDocumentPage) -> DocumentList:
    names = map_names(await context.collections.list())
    documents = [
        ListedDocument(
            file_path=one.key,
            title=one.title or UNTITLED,
            tags=list(one.tags),
            collection=names.get(one.collection, ""),
            collection_id=one.collection,
            url=one.url,
            version=one.version,
            updated_at=one.updated_at,
        )
        for one in page.documents
    ]
    message = f"{len(documents)} documents." if documents else NOTHING_FOUND
    return DocumentList(message=message, documents=documents, next_cursor=page.next_after or None)
