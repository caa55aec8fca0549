"""Documents: what is read of `search.documents`."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import orjson

from core.db import Row, UnitOfWork
from core.errors import Invalid
from search.records import CollectionCaller, DocumentCondition, IndexedDocument, IndexedDocumentPage
from search.validation import encode_metadata, is_line

MAX_TAG_ROWS = 1_000
_BAD_CURSOR = "the cursor is not the end of a page of this list"


async def fetch_document(
    work: UnitOfWork, caller: CollectionCaller, *, collection: UUID | None = None, key: str = "", id: UUID | None = None
) -> IndexedDocument | None:
    """Fetch a document with its text, by its `id`, or by its collection and key; None where there is none that the
    caller may read."""
    if id is None:
        row = await work.fetchrow(_GET, caller.module, collection, key)
    else:
        row = await work.fetchrow(_GET_BY_ID, caller.module, id)
    if row is None:
        return None
    ranges = await work.fetch(_RANGES, row["collection_id"], row["id"], row["generation"])
    return read_document(
        row, text=row["text"], chunk_ranges=tuple((one["start"], one["start"] + one["length"]) for one in ranges)
    )


async def list_documents(
    work: UnitOfWork,
    collections: Sequence[UUID],
    condition: DocumentCondition,
    *,
    newest_first: bool,
    after: str,
    limit: int,
) -> IndexedDocumentPage:
    """List documents of collections, by key or the newest first.

    Raises:
        core.errors.Invalid: `after` is not the end of a page.
    """
    if newest_first:
        moment, last = _read_time_cursor(after)
        rows = await work.fetch(_NEWEST, *_get_filters(collections, condition), moment, last, limit + 1)
    else:
        key, last = _read_key_cursor(after)
        rows = await work.fetch(_BY_KEY, *_get_filters(collections, condition), key, last, limit + 1)
    documents = tuple(read_document(row) for row in rows[:limit])
    if len(rows) <= limit:
        return IndexedDocumentPage(documents, "")
    end = documents[-1]
    return IndexedDocumentPage(documents, f"{end.id.hex}{end.updated_at.isoformat() if newest_first else end.key}")


async def count_tags(work: UnitOfWork, collections: Sequence[UUID]) -> Sequence[tuple[str, int]]:
    """Count the documents that have each tag, the most frequent first, at most MAX_TAG_ROWS tags."""
    return [(row["tag"], row["documents"]) for row in await work.fetch(_COUNT_TAGS, collections, MAX_TAG_ROWS)]


def read_document(
    row: Row, *, text: str | None = None, chunk_ranges: tuple[tuple[int, int], ...] = ()
) -> IndexedDocument:
    """Read a document from a row of the table."""
    return IndexedDocument(
        row["id"],
        row["collection_id"],
        row["key"],
        row["title"],
        text,
        tuple(row["tags"]),
        orjson.loads(row["metadata"]),
        row["url"],
        row["version"],
        row["chunks"],
        row["updated_at"],
        chunk_ranges,
    )


def _get_filters(collections: Sequence[UUID], condition: DocumentCondition) -> tuple[object, ...]:
    prefix = condition.key_prefix
    return (
        list(collections),
        list(condition.tags),
        encode_metadata(condition.metadata) if condition.metadata else None,
        prefix,
        condition.since,
        condition.until,
    )


def _read_key_cursor(after: str) -> tuple[str, UUID | None]:
    return ("", None) if not after else (after[32:], _read_id(after))


def _read_time_cursor(after: str) -> tuple[datetime | None, UUID | None]:
    if not after:
        return None, None
    try:
        moment = datetime.fromisoformat(after[32:])
    except ValueError:
        raise Invalid(_BAD_CURSOR) from None
    if moment.tzinfo is None:
        raise Invalid(_BAD_CURSOR)
    return moment, _read_id(after)


def _read_id(after: str) -> UUID:
    try:
        if not is_line(after):
            raise ValueError
        return UUID(after[:32])
    except ValueError:
        raise Invalid(_BAD_CURSOR) from None


_COLUMNS = "d.id, d.collection_id, d.key, d.title, d.tags, d.metadata, d.url, d.version, d.chunks, d.updated_at"
_GET_ONE = f"""SELECT {_COLUMNS}, d.text, c.generation FROM search.documents d JOIN search.collections c
    ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
    WHERE d.tenant_id = $1 AND $2::uuid IS NOT NULL AND c.module = $3"""  # noqa: S608 put together from constants, as below
_GET = f"{_GET_ONE} AND d.collection_id = $4 AND d.key = $5"
_GET_BY_ID = f"{_GET_ONE} AND d.id = $4"
_RANGES = """SELECT start, length FROM search.chunks WHERE tenant_id = $1 AND $2::uuid IS NOT NULL
    AND collection_id = $3 AND document_id = $4 AND generation = $5 ORDER BY place"""
_FILTERED = f"""SELECT {_COLUMNS} FROM search.documents d
    WHERE d.tenant_id = $1 AND $2::uuid IS NOT NULL AND d.collection_id = ANY ($3)
    AND (cardinality($4::text[]) = 0 OR d.tags @> $4)
    AND ($5::jsonb IS NULL OR d.metadata @> $5 AND NOT EXISTS (
        SELECT FROM jsonb_each($5) m WHERE d.metadata -> m.key IS DISTINCT FROM m.value))
    AND ($6 = '' OR d.key >= $6 AND starts_with(d.key, $6))
    AND ($7::timestamptz IS NULL OR d.updated_at >= $7) AND ($8::timestamptz IS NULL OR d.updated_at < $8)"""  # noqa: S608
_BY_KEY = f"""{_FILTERED} AND ($10::uuid IS NULL OR (d.key, d.id) > ($9, $10::uuid))
    ORDER BY d.key, d.id LIMIT $11"""
_NEWEST = f"""{_FILTERED} AND ($10::uuid IS NULL OR (d.updated_at, d.id) < ($9::timestamptz, $10::uuid))
    ORDER BY d.updated_at DESC, d.id DESC LIMIT $11"""
_COUNT_TAGS = """SELECT tag, count(*)::int AS documents FROM search.documents d CROSS JOIN unnest(d.tags) AS tag
    WHERE d.tenant_id = $1 AND $2::uuid IS NOT NULL AND d.collection_id = ANY ($3)
    GROUP BY tag ORDER BY 2 DESC, 1 LIMIT $4"""
