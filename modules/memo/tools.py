"""The five operations of memos, named as in the memo service whose interface this is.

The text of a memo goes into vectors and is dropped: nothing here logs it, and no error repeats it.
"""

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

from pydantic import Field

from modules.kit import Context, Hints, NewDocument, SearchHit, SearchMode, StoredDocument, ToolError, tool
from modules.kit.parameters import OptionalParameter
from modules.memo.models import (
    MAX_KEYWORDS,
    MAX_KEYWORDS_CHARS,
    MAX_SUMMARY,
    DeletedMemo,
    FoundMemoEntry,
    FoundMemos,
    Importance,
    Keyword,
    Memo,
    MemoEntry,
    MemoHealth,
    MemoId,
    MemoMetadata,
    MemoQuery,
    MemoText,
    SavedMemo,
    SessionId,
    Summary,
)
from modules.memo.settings import MemoSettings

READ = "memo:read"
WRITE = "memo:write"
COLLECTION = "memos"
ALL_WORDS = 0.999
"""Coverage of a query's words from which on all of them are there: it is a sum of fractions."""

READ_HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
SAVE_HINTS = Hints(read_only=False, destructive=False, idempotent=False, open_world=False)
DELETE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)

UNKNOWN_MEMO = "You have no memo of this id."
LONG_KEYWORDS = f"keywords have at most {MAX_KEYWORDS_CHARS} characters together"


@tool(hints=SAVE_HINTS, scopes=[WRITE], keywords="remember, note, 覚える, 記録")
async def save_memo(
    context: Context,
    session_id: SessionId,
    text: MemoText,
    summary: Summary = None,
    keywords: Annotated[list[Keyword], Field(max_length=MAX_KEYWORDS, description="Words to find it by")] = [],  # noqa: B006 - pydantic copies it
    importance: Importance = None,
) -> SavedMemo:
    """Remember a text by its meaning. Send a summary of your own: then it alone is kept, and is found better. Without
    one only vectors of the text are kept, and what is found shows no text."""
    words = " ".join(keywords)
    if len(words) > MAX_KEYWORDS_CHARS:
        raise ToolError(LONG_KEYWORDS, code="invalid")
    settings = await context.get_settings(MemoSettings)
    memo_id, saved_at = uuid4().hex, datetime.now(UTC)
    collection = await context.collections.open(COLLECTION, model=settings.embedding_model)
    document = NewDocument(
        key=memo_id,
        title=words,  # a title is searched by its words, also where no text is kept
        text=text if summary is None else summary,
        metadata={
            "session_id": session_id,
            "keywords": keywords,
            "importance": importance,
            "saved_at": saved_at.isoformat(),
            "is_summary": summary is not None,
            "text_hash": hashlib.sha256(text.encode()).hexdigest() if settings.keep_hashes else None,
        },
        keep_text=summary is not None or settings.keep_chunks,
        max_chunk_chars=settings.max_chunk_chars if summary is None else MAX_SUMMARY,
    )
    stored = await context.collections.put(collection.id, document, expected_version=0)
    entries = [_build_entry_id(memo_id, position) for position in range(stored.chunks)]
    return SavedMemo(memo_id=memo_id, saved_at=saved_at, chroma_ids=entries, used_summary=summary is not None)


@tool(hints=READ_HINTS, scopes=[READ], keywords="recall, remember, 思い出す")
async def query_memo(
    context: Context,
    query: MemoQuery,
    n_results: Annotated[
        OptionalParameter[Annotated[int, Field(ge=1, le=50)]], Field(description="Most results; 5 unless set otherwise")
    ] = None,
) -> FoundMemos:
    """Find memos by meaning, nearest first; those with all words of the query, such as a keyword, are before others."""
    settings = await context.get_settings(MemoSettings)
    hits = await context.collections.search(query, mode=SearchMode.HYBRID, limit=n_results or settings.default_results)
    ordered = sorted(hits, key=lambda hit: (hit.coverage < ALL_WORDS, -hit.similarity))
    return FoundMemos(query=query, results=[_build_found(hit) for hit in ordered])


@tool(hints=READ_HINTS, scopes=[READ])
async def get_memo(context: Context, memo_id: MemoId) -> Memo:
    """Get a memo's entries: its summary, or its chunks. Where no text is kept, their summary is null."""
    document = await _get_document(context, memo_id)
    return Memo(memo_id=memo_id, entries=_build_entries(document))


@tool(hints=DELETE_HINTS, scopes=[WRITE])
async def delete_memo(context: Context, memo_id: MemoId) -> DeletedMemo:
    """Delete a memo with all of its entries."""
    document = await _get_document(context, memo_id)
    if not await context.collections.delete(document.collection, memo_id):
        raise ToolError(UNKNOWN_MEMO, code="not_found")
    return DeletedMemo(memo_id=memo_id, deleted=document.chunks)


@tool(hints=READ_HINTS, scopes=[READ])
async def healthcheck(context: Context) -> MemoHealth:
    """Check that the store of your memos answers and that its embedding model works."""
    settings = await context.get_settings(MemoSettings)
    collection = await context.collections.find(COLLECTION)
    model = settings.embedding_model if collection is None else collection.model
    try:
        model = await context.collections.describe_model(model)
    except ToolError as error:
        if not str(error.code).startswith("embedding_"):
            raise
        return MemoHealth(status="degraded", embedding_model=model, problem=str(error))
    return MemoHealth(status="ok", embedding_model=model)


TOOLS = (save_memo, query_memo, get_memo, delete_memo, healthcheck)


def _build_entry_id(memo_id: str, position: int) -> str:
    return f"{memo_id}-{position}"


def _build_metadata(memo_id: str, metadata: Any, position: int) -> MemoMetadata:
    return MemoMetadata(memo_id=memo_id, chunk_index=position, **metadata)


def _build_found(hit: SearchHit) -> FoundMemoEntry:
    metadata = _build_metadata(hit.key, hit.metadata, hit.position)
    return FoundMemoEntry(summary=hit.text, metadata=metadata, distance=round(1 - hit.similarity, 6))


def _build_entries(document: StoredDocument) -> list[MemoEntry]:
    return [
        MemoEntry(
            summary=None if document.text is None else document.text[start:end],
            metadata=_build_metadata(document.key, document.metadata, position),
        )
        for position, (start, end) in enumerate(document.chunk_ranges)
    ]


async def _get_document(context: Context, memo_id: str) -> StoredDocument:
    """Return the document of a memo.

    Raises:
        ToolError: the caller has no memo of this id.
    """
    collection = await context.collections.find(COLLECTION)
    document = None if collection is None else await context.collections.get(collection.id, memo_id)
    if document is None:
        raise ToolError(UNKNOWN_MEMO, code="not_found")
    return document
