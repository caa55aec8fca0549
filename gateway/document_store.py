"""The caller's JSON documents in one module (modules.kit.DocumentStore), in one table for all modules."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson

from modules.kit import Document, DocumentConflict, DocumentPage, Store, ToolError
from modules.kit.documents import MAX_DOCUMENT_BYTES, MAX_DOCUMENTS, MAX_KEY_LENGTH, MAX_PAGE

CONFLICT = "somebody has changed this meanwhile; read it again"
NOT_JSON = "this cannot be stored: it is no JSON"
TOO_LARGE = f"this is too large to be stored: at most {MAX_DOCUMENT_BYTES} bytes of JSON"
TOO_MANY = f"there is no room for another: at most {MAX_DOCUMENTS} are stored"

GET = """SELECT value, version FROM modules.documents
    WHERE tenant_id = $1 AND user_id = $2 AND module = $3 AND key = $4"""
LOCK = """INSERT INTO modules.document_counts (tenant_id, user_id, module) VALUES ($1, $2, $3)
    ON CONFLICT (tenant_id, user_id, module) DO UPDATE SET documents = document_counts.documents
    RETURNING documents"""
COUNT = """UPDATE modules.document_counts SET documents = documents + $4
    WHERE tenant_id = $1 AND user_id = $2 AND module = $3"""
INSERT = """INSERT INTO modules.documents (tenant_id, user_id, module, key, value, version)
    VALUES ($1, $2, $3, $4, $5, 1)"""
UPDATE = """UPDATE modules.documents SET value = $5, version = version + 1
    WHERE tenant_id = $1 AND user_id = $2 AND module = $3 AND key = $4 RETURNING version"""
DELETE = """DELETE FROM modules.documents
    WHERE tenant_id = $1 AND user_id = $2 AND module = $3 AND key = $4"""
LIST = """SELECT key, value, version FROM modules.documents
    WHERE tenant_id = $1 AND user_id = $2 AND module = $3 AND key > $4 AND starts_with(key, $5)
    ORDER BY key LIMIT $6"""


class PersonalDocuments:
    """Implements :class:`modules.kit.DocumentStore`. `read_only`: the tool has declared that it changes nothing."""

    def __init__(
        self, module: str, open_store: Callable[[], AbstractAsyncContextManager[Store]], *, read_only: bool
    ) -> None:
        self._module = module
        self._open_store = open_store
        self._read_only = read_only

    async def get(self, key: str) -> Document | None:
        _check_key(key)
        async with self._open_store() as store:
            row = await store.fetchrow(GET, self._module, key)
        return None if row is None else Document(key, orjson.loads(row["value"]), row["version"])

    async def put(self, key: str, value: Any, *, version: int | None = None) -> Document:
        self._check_writable()
        _check_key(key)
        text = _encode(value)
        async with self._open_store() as store:
            count = await store.fetchval(LOCK, self._module)
            stored = await self._check_version(store, key, version)
            if stored:
                return Document(key, value, await store.fetchval(UPDATE, self._module, key, text))
            if count >= MAX_DOCUMENTS:
                raise ToolError(TOO_MANY)
            await store.execute(INSERT, self._module, key, text)
            await store.execute(COUNT, self._module, 1)
        return Document(key, value, 1)

    async def delete(self, key: str, *, version: int | None = None) -> bool:
        self._check_writable()
        _check_key(key)
        async with self._open_store() as store:
            await store.fetchval(LOCK, self._module)
            await self._check_version(store, key, version)
            removed = await store.execute(DELETE, self._module, key)
            if removed:
                await store.execute(COUNT, self._module, -removed)
        return bool(removed)

    async def list(self, prefix: str = "", *, after: str = "", limit: int = MAX_PAGE) -> DocumentPage:
        if prefix:
            _check_key(prefix)
        if after:
            _check_key(after)
        limit = max(1, min(limit, MAX_PAGE))
        async with self._open_store() as store:
            rows = await store.fetch(LIST, self._module, after, prefix, limit + 1)
        documents = tuple(Document(row["key"], orjson.loads(row["value"]), row["version"]) for row in rows[:limit])
        return DocumentPage(documents, documents[-1].key if len(rows) > limit else "")

    async def _check_version(self, store: Store, key: str, expected: int | None) -> int:
        """Return the version of a document, 0 where there is none. The lock is held: it stays that until the commit."""
        row = await store.fetchrow(GET, self._module, key)
        found = 0 if row is None else row["version"]
        if expected is not None and expected != found:
            raise DocumentConflict(CONFLICT)
        return found

    def _check_writable(self) -> None:
        if self._read_only:
            raise RuntimeError("a tool that is declared read-only changes a document")


def _check_key(key: str) -> None:
    # U+0000 cannot be stored, a lone surrogate not be encoded.
    if not 0 < len(key) <= MAX_KEY_LENGTH or not key.isprintable():
        raise ToolError(f"a key has 1 to {MAX_KEY_LENGTH} printable characters")


def _encode(value: Any) -> str:
    try:
        text = orjson.dumps(value)
    except TypeError:  # also of a lone surrogate and of what is nested too deeply
        raise ToolError(NOT_JSON) from None
    if len(text) > MAX_DOCUMENT_BYTES:
        raise ToolError(TOO_LARGE)
    return text.decode()
