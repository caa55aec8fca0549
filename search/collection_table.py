"""Collections: what is read and changed of `search.collections`."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from core.db import Row, UnitOfWork
from core.errors import Forbidden, Invalid, LimitReached, NotFound
from core.search_schema.policies import build_writable
from search.records import MAX_COLLECTIONS, MAX_READABLE_COLLECTIONS, CollectionCaller, CollectionKind, SearchCollection


@dataclass(frozen=True, slots=True)
class CollectionState:
    """What embeds a collection, and how large it is. `next_model` embeds it anew meanwhile, empty where none does."""

    id: UUID
    model: str
    dimensions: int
    generation: int
    next_model: str
    next_generation: int | None
    documents: int
    chunks: int
    can_write: bool


@dataclass(frozen=True, slots=True)
class CollectionPlace:
    """A collection's name and owner; `role` is the owning role's name, empty unless one owns it."""

    name: str
    owner: CollectionKind = CollectionKind.USER
    role: str = ""


async def list_collections(work: UnitOfWork, caller: CollectionCaller) -> Sequence[SearchCollection]:
    """List the collections of a module: the caller's own first, then by name."""
    return [_read_collection(row) for row in await work.fetch(_LIST, caller.module, MAX_READABLE_COLLECTIONS)]


async def find_collection(
    work: UnitOfWork, caller: CollectionCaller, place: CollectionPlace
) -> SearchCollection | None:
    """Find a collection by its name and owner; None where the caller may read none."""
    row = await work.fetchrow(_FIND, caller.module, place.name, place.owner, place.role)
    return None if row is None else _read_collection(row)


async def create_collection(
    work: UnitOfWork,
    caller: CollectionCaller,
    place: CollectionPlace,
    *,
    model: str,
    dimensions: int,
    member_writes: bool,
) -> None:
    """Create a collection, unless there is one of that name and owner.

    Raises:
        core.errors.Forbidden: only administrators create shared ones.
        core.errors.NotFound: the caller has no such role.
        core.errors.LimitReached: the owner has as many as it may have.
    """
    if place.owner is not CollectionKind.USER and not await work.fetchval(_IS_ADMINISTRATOR):
        raise Forbidden("only administrators create collections that others use, too")
    role_id = None
    if place.owner is CollectionKind.ROLE:
        role_id = await work.fetchval(_FIND_ROLE, place.role)
        if role_id is None:
            raise NotFound("you have no role of that name")
    if await work.fetchval(_COUNT, caller.module, place.owner, role_id) >= MAX_COLLECTIONS:
        raise LimitReached(f"there is no room for another collection: at most {MAX_COLLECTIONS} of one owner")
    try:
        await work.execute(_INSERT, caller.module, place.name, place.owner, role_id, model, dimensions, member_writes)
    except asyncpg.InsufficientPrivilegeError:  # no administrator any more
        raise Forbidden("only administrators create collections that others use, too") from None


async def load_collection(work: UnitOfWork, caller: CollectionCaller, collection: UUID) -> CollectionState:
    """Load a collection.

    Raises:
        core.errors.NotFound: there is none that the caller may read.
    """
    row = await work.fetchrow(_LOAD, caller.module, collection)
    if row is None:
        raise _not_found()
    return _read_state(row)


async def load_collections(
    work: UnitOfWork, caller: CollectionCaller, collections: Sequence[UUID] | None
) -> Sequence[CollectionState]:
    """Load collections of a module, None for all that the caller may read.

    Raises:
        core.errors.NotFound: there is one of them that the caller may not read.
        core.errors.Invalid: these are too many.
    """
    asked = None if collections is None else list(dict.fromkeys(collections))
    if asked is not None and len(asked) > MAX_READABLE_COLLECTIONS:
        raise Invalid(f"at most {MAX_READABLE_COLLECTIONS:,} collections can be asked for at once")
    states = [_read_state(row) for row in await work.fetch(_LOAD_ALL, caller.module, asked, MAX_READABLE_COLLECTIONS)]
    if asked is not None and len(states) < len(asked):
        raise _not_found()
    return states


async def lock_collection(work: UnitOfWork, caller: CollectionCaller, collection: UUID) -> CollectionState:
    """Load a collection, whose other writers wait for the end of this transaction.

    Raises:
        core.errors.NotFound: there is none that the caller may read.
        core.errors.Forbidden: the caller may not write to it.
    """
    row = await work.fetchrow(_LOCK, caller.module, collection)
    if row is not None:
        return _read_state(row)
    if await work.fetchrow(_LOAD, caller.module, collection) is None:
        raise _not_found()
    raise Forbidden("you may read this collection, and not write to it")


async def delete_collection(work: UnitOfWork, caller: CollectionCaller, collection: UUID) -> int:
    """Delete a collection with its documents; return how many there were.

    Raises:
        core.errors.NotFound: there is none that the caller may read.
        core.errors.Forbidden: the caller may not write to it.
    """
    state = await lock_collection(work, caller, collection)
    # One after the other, so that none takes as long as a statement may.
    await work.execute(_EMPTY_CHUNKS, collection)
    await work.execute(_EMPTY_COUNTS, collection)
    await work.execute(_EMPTY_DOCUMENTS, collection)
    await work.execute(_DELETE, collection)
    return state.documents


async def change_size(
    work: UnitOfWork, collection: UUID, *, documents: int = 0, chunks: int = 0, size: int = 0
) -> None:
    """Add to the counts of a collection, and of its tenant: `size` is in bytes."""
    await work.execute(_CHANGE_SIZE, collection, documents, chunks, size)


async def read_tenant_bytes(work: UnitOfWork) -> int:
    """Read how many bytes the tenant has stored."""
    return await work.fetchval(_READ_USAGE) or 0


def _not_found() -> NotFound:
    return NotFound("there is no such collection")


def _read_collection(row: Row) -> SearchCollection:
    return SearchCollection(
        row["id"],
        row["name"],
        CollectionKind(row["owner"]),
        row["role"] or "",
        row["model"],
        row["can_write"],
        row["documents"],
        row["chunks"],
    )


def _read_state(row: Row) -> CollectionState:
    return CollectionState(
        row["id"],
        row["model"],
        row["dimensions"],
        row["generation"],
        row["next_model"] or "",
        row["next_generation"],
        row["documents"],
        row["chunks"],
        row["can_write"],
    )


_COLUMNS = f"""c.id, c.name, c.owner, r.name AS role, c.model, c.documents, c.chunks, {build_writable("c")} AS can_write
    FROM search.collections c LEFT JOIN core.roles r ON r.tenant_id = c.tenant_id AND r.id = c.role_id"""
_LIST = f"""SELECT {_COLUMNS} WHERE c.tenant_id = $1 AND c.module = $3
    ORDER BY c.user_id IS DISTINCT FROM $2, c.name, c.owner, r.name, c.id LIMIT $4"""  # noqa: S608 put together from constants, as below
_FIND = f"""SELECT {_COLUMNS} WHERE c.tenant_id = $1 AND c.module = $3 AND c.name = $4 AND c.owner = $5
    AND coalesce(r.name, '') = $6 AND (c.user_id IS NULL OR c.user_id = $2)"""
_STATE = f"""c.id, c.model, c.dimensions, c.generation, c.next_model, c.next_generation, c.documents, c.chunks,
    {build_writable("c")} AS can_write FROM search.collections c"""
_LOAD = f"SELECT {_STATE} WHERE c.tenant_id = $1 AND $2::uuid IS NOT NULL AND c.module = $3 AND c.id = $4"
_LOCK = f"{_LOAD} FOR UPDATE OF c"
_LOAD_ALL = f"""SELECT {_STATE} WHERE c.tenant_id = $1 AND c.module = $3 AND ($4::uuid[] IS NULL OR c.id = ANY ($4))
    ORDER BY c.user_id IS DISTINCT FROM $2, c.name, c.id LIMIT $5"""  # noqa: S608
_IS_ADMINISTRATOR = """SELECT EXISTS (
    SELECT FROM core.users WHERE tenant_id = $1 AND id = $2 AND system_role = 'admin')"""
_FIND_ROLE = """SELECT r.id FROM core.roles r JOIN core.role_assignments a ON a.tenant_id = r.tenant_id
    AND a.role_id = r.id WHERE r.tenant_id = $1 AND a.user_id = $2 AND r.name = $3"""
_COUNT = """SELECT count(*) FROM search.collections WHERE tenant_id = $1 AND module = $3 AND owner = $4
    AND (owner <> 'user' OR user_id = $2) AND role_id IS NOT DISTINCT FROM $5"""
_INSERT = """INSERT INTO search.collections
    (tenant_id, module, name, owner, user_id, role_id, model, dimensions, member_writes)
    VALUES ($1, $3, $4, $5, CASE WHEN $5 = 'user' THEN $2::uuid END, $6, $7, $8, $9) ON CONFLICT DO NOTHING"""
_EMPTY_CHUNKS = "DELETE FROM search.chunks WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3"
_EMPTY_COUNTS = """DELETE FROM search.token_counts
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3"""
_EMPTY_DOCUMENTS = "DELETE FROM search.documents WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3"
_DELETE = "DELETE FROM search.collections WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND id = $3"
_CHANGE_SIZE = """UPDATE search.collections SET documents = documents + $4, chunks = chunks + $5, bytes = bytes + $6
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND id = $3"""
_READ_USAGE = "SELECT bytes FROM search.usage WHERE tenant_id = $1 AND $2::uuid IS NOT NULL"
