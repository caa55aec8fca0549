"""Bringing a collection up to date with a source: what is new or has changed is stored, what is gone is removed."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from modules.kit import Context, DocumentFilter, NewDocument, StaleVersion, ToolError
from modules.kit.collections import MAX_DOCUMENT_PAGE, MAX_TITLE_LENGTH, normalize_name
from modules.rag.sources import MAX_ITEMS, SavedSource, SkippedItem, SourceItem, SyncReport

SOURCE_PREFIX = "source:"
MAX_REPORTED = 100
SOURCE_FIELD, VERSION_FIELD = "source", "source_version"
"""Metadata of a document that came from a source: the source's id, and the version of its contents there."""


class _Stored(NamedTuple):
    document: UUID
    version: str


def build_source_key(source_id: str) -> str:
    """Build the key of the JSON document in which a source is stored."""
    return SOURCE_PREFIX + source_id


async def sync_source(context: Context, source_id: str, source: SavedSource) -> SyncReport:
    """Bring a collection up to date. A document that cannot be read or stored is skipped, and stays as it is.

    Raises:
        ToolError: the source cannot be listed; nothing was changed.
    """
    listing = await source.place.list_items(context)
    stored = await list_stored(context, source_id, source.collection)
    report = SyncReport(at=datetime.now(UTC).isoformat(timespec="seconds"), is_complete=listing.is_complete)
    listed = [item._replace(key=normalize_name(item.key)) for item in listing.items[:MAX_ITEMS]]
    items = {item.key: item for item in listed}
    if len(listing.items) > MAX_ITEMS:
        _skip(report, "…", f"a source has at most {MAX_ITEMS} documents; {len(listing.items)} were listed")
        report.is_complete = False
    for number, item in enumerate(items.values()):
        await context.report_progress(number, len(items), item.key)
        await _sync_item(context, source_id, source, item, stored, report)
    if report.is_complete:
        for key in stored.keys() - items.keys():
            report.removed += await context.collections.delete(source.collection, key)
    await context.report_progress(len(items), len(items))
    return report


async def list_stored(context: Context, source_id: str, collection: UUID) -> Mapping[str, _Stored]:
    """List the documents of a collection that came from a source, by key."""
    stored, after = dict[str, _Stored](), ""
    while True:
        page = await context.collections.list_documents(
            [collection], DocumentFilter(metadata={SOURCE_FIELD: source_id}), after=after, limit=MAX_DOCUMENT_PAGE
        )
        stored |= {one.key: _Stored(one.id, str(one.metadata.get(VERSION_FIELD, ""))) for one in page.documents}
        after = page.next_after
        if not after:
            return stored


async def _sync_item(
    context: Context,
    source_id: str,
    source: SavedSource,
    item: SourceItem,
    stored: Mapping[str, _Stored],
    report: SyncReport,
) -> None:
    known = stored.get(item.key)
    if known is not None and item.version and known.version == item.version:
        report.unchanged += 1
        return
    try:
        read = await source.place.read_item(context, item)
        if not read.text.strip():
            raise ToolError("it is empty")
        document = NewDocument(
            key=item.key,
            title=" ".join((read.title or item.title).split())[:MAX_TITLE_LENGTH],
            text=read.text,
            tags=read.tags,
            metadata={SOURCE_FIELD: source_id, VERSION_FIELD: item.version},
            url=read.url or item.url,
            parent=build_source_key(source_id),
        )
        await context.collections.put(source.collection, document, expected_version=0 if known is None else None)
    except StaleVersion:
        _skip(report, item.key, "the collection has a document of this path that is none of this source's")
        return
    except ToolError as error:
        _skip(report, item.key, str(error))
        return
    if known is None:
        report.added += 1
    else:
        report.updated += 1


def _skip(report: SyncReport, key: str, reason: str) -> None:
    report.skipped_count += 1
    if len(report.skipped) < MAX_REPORTED:
        report.skipped.append(SkippedItem(file_path=key, reason=reason[:300]))
