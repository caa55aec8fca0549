"""The caller's searched documents in one module (modules.kit.Collections), on the search engine."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from core.errors import MCPistError, Unavailable
from gateway.change_tracker import ChangeTracker
from gateway.embedding_models import CURRENT_REQUEST
from gateway.mcp.request_context import RequestContext
from modules.kit import (
    CollectionInfo,
    CollectionOwner,
    DocumentFilter,
    MatchKind,
    NewDocument,
    SearchHit,
    SearchMode,
    SimilarPair,
    StaleVersion,
    StoredDocument,
    StoredDocumentPage,
    ToolError,
)
from modules.kit.collections import NO_FILTER, ReportStep, normalize_name
from search.engine import SearchEngine
from search.records import (
    CollectionCaller,
    CollectionKind,
    DocumentCondition,
    DocumentDraft,
    FoundPassage,
    IndexedDocument,
    SearchCollection,
    SearchScope,
    VersionChanged,
)

NO_SEARCH = "documents cannot be searched here: this MCPist runs without a search engine"


class ModuleCollections:
    """Implements :class:`modules.kit.Collections`. `read_only`: the tool has declared that it changes nothing."""

    def __init__(
        self,
        engine: SearchEngine | None,
        request: RequestContext,
        module: str,
        changes: ChangeTracker,
        *,
        read_only: bool,
    ) -> None:
        self._engine = engine
        self._request = request
        self._caller = CollectionCaller(request.caller.tenant_id, request.caller.user_id, module)
        self._changes = changes
        self._read_only = read_only

    async def list(self) -> Sequence[CollectionInfo]:
        async with self._open_engine() as engine:
            return [_build_info(one) for one in await engine.list_collections(self._caller)]

    async def find(
        self, name: str, owner: CollectionOwner = CollectionOwner.USER, role: str = ""
    ) -> CollectionInfo | None:
        async with self._open_engine() as engine:
            kind = CollectionKind(owner.value)
            found = await engine.find_collection(self._caller, normalize_name(name), kind, role)
        return None if found is None else _build_info(found)

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
        kind = CollectionKind(owner.value)
        async with self._open_for_change(derived=derived) as engine:
            found = await engine.open_collection(
                self._caller, normalize_name(name), kind, role, model=model, member_writes=member_writes
            )
        return _build_info(found)

    async def reembed(self, collection: UUID, model: str, report: ReportStep | None = None) -> int:
        async with self._open_for_change() as engine:
            return await engine.reembed(self._caller, collection, model, report)

    async def remove(self, collection: UUID) -> int:
        async with self._open_for_change() as engine:
            return await engine.remove_collection(self._caller, collection)

    async def put(
        self, collection: UUID, document: NewDocument, *, expected_version: int | None = None, derived: bool = False
    ) -> StoredDocument:
        draft = DocumentDraft(
            normalize_name(document.key),
            document.title,
            document.text,
            [normalize_name(tag) for tag in document.tags],
            document.metadata,
            document.url,
            document.keep_text,
            document.max_chunk_chars,
            document.parent,
        )
        async with self._open_for_change(derived=derived) as engine:
            stored = await engine.put_document(self._caller, collection, draft, expected_version=expected_version)
        return _build_document(stored)

    async def get(self, collection: UUID, key: str) -> StoredDocument | None:
        async with self._open_engine() as engine:
            found = await engine.get_document(self._caller, collection, normalize_name(key))
        return None if found is None else _build_document(found)

    async def get_by_id(self, document: UUID) -> StoredDocument | None:
        async with self._open_engine() as engine:
            found = await engine.get_document_by_id(self._caller, document)
        return None if found is None else _build_document(found)

    async def delete(
        self, collection: UUID, key: str, *, expected_version: int | None = None, derived: bool = False
    ) -> bool:
        async with self._open_for_change(derived=derived) as engine:
            return await engine.delete_document(
                self._caller, collection, normalize_name(key), expected_version=expected_version
            )

    async def list_documents(
        self,
        collections: Sequence[UUID] | None = None,
        filter: DocumentFilter = NO_FILTER,
        *,
        newest_first: bool = False,
        after: str = "",
        limit: int = 50,
    ) -> StoredDocumentPage:
        async with self._open_engine() as engine:
            page = await engine.list_documents(
                self._caller, collections, _build_condition(filter), newest_first=newest_first, after=after, limit=limit
            )
        return StoredDocumentPage(tuple(map(_build_document, page.documents)), page.next_after)

    async def count_tags(self, collections: Sequence[UUID] | None = None) -> Sequence[tuple[str, int]]:
        async with self._open_engine() as engine:
            return await engine.count_tags(self._caller, collections)

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
        async with self._open_engine() as engine:
            found = await engine.search(
                self._caller,
                query,
                collections=collections,
                condition=_build_condition(filter),
                scope=SearchScope(mode.value),
                limit=limit,
                one_per_document=one_per_document,
            )
        return [_build_hit(passage) for passage in found]

    async def pair_nearest(self, collection: UUID, *, least: float) -> Sequence[SimilarPair]:
        async with self._open_engine() as engine:
            found = await engine.pair_nearest(self._caller, collection, least=least)
        return [SimilarPair(one.first, one.second, one.similarity, one.likeness) for one in found]

    async def describe_model(self, model: str = "") -> str:
        async with self._open_engine() as engine:
            return await engine.check_model(self._caller, model)

    @asynccontextmanager
    async def _open_engine(self) -> AsyncGenerator[SearchEngine]:
        """Give the engine, whose errors become the tool's."""
        if self._engine is None:
            raise ToolError(NO_SEARCH, code="unavailable")
        token = CURRENT_REQUEST.set(self._request)
        try:
            yield self._engine
        except VersionChanged as error:
            raise StaleVersion(str(error), code="conflict", details={"version": error.version}) from None
        except Unavailable as error:
            if error.__cause__ is not None:  # the database is away, which the runner tells
                raise
            raise ToolError(str(error), code=error.code) from None
        except MCPistError as error:
            raise ToolError(str(error), code=error.code) from None
        finally:
            CURRENT_REQUEST.reset(token)

    @asynccontextmanager
    async def _open_for_change(self, *, derived: bool = False) -> AsyncGenerator[SearchEngine]:
        if self._read_only and not derived:
            raise RuntimeError("a tool that is declared read-only changes a collection")
        async with self._open_engine() as engine:
            self._changes.require_may_act()
            if derived:
                yield engine
                return
            try:
                yield engine
            except Unavailable as error:
                if error.__cause__ is not None:  # the COMMIT may have been sent
                    self._changes.add(stored=1)
                raise
            self._changes.add(stored=1)


def _build_info(found: SearchCollection) -> CollectionInfo:
    return CollectionInfo(
        found.id,
        found.name,
        CollectionOwner(found.owner.value),
        found.role,
        found.model,
        found.can_write,
        found.documents,
        found.chunks,
    )


def _build_document(found: IndexedDocument) -> StoredDocument:
    return StoredDocument(
        found.id,
        found.collection,
        found.key,
        found.title,
        found.text,
        found.tags,
        found.metadata,
        found.url,
        found.version,
        found.chunks,
        found.updated_at,
        found.chunk_ranges,
    )


def _build_condition(wanted: DocumentFilter) -> DocumentCondition:
    tags = [normalize_name(tag) for tag in wanted.tags]
    return DocumentCondition(tags, wanted.metadata, normalize_name(wanted.key_prefix), wanted.since, wanted.until)


def _build_hit(found: FoundPassage) -> SearchHit:
    return SearchHit(
        found.document,
        found.collection,
        found.key,
        found.title,
        found.heading,
        found.position,
        found.text,
        found.tags,
        found.metadata,
        found.url,
        found.updated_at,
        found.similarity,
        found.coverage,
        MatchKind(found.matched.value),
    )
