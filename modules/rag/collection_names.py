"""Collections as callers name them: by name, or by id where names of several owners are the same."""

from collections.abc import Sequence
from uuid import UUID

from modules.kit import CollectionInfo, CollectionOwner, Context, ToolError
from modules.kit.collections import normalize_name
from modules.rag.models import DEFAULT_COLLECTION
from modules.rag.settings import DocumentSettings


async def find_or_create(context: Context, named: str | None) -> CollectionInfo:
    """Find the collection of this name or id; the caller's own documents, which are created, without a name.

    Raises:
        ToolError: the caller may read no such collection, or several.
    """
    if named is None or named == DEFAULT_COLLECTION:
        return await open_collection(context, DEFAULT_COLLECTION)
    return _find_named(await context.collections.list(), named)


async def open_collection(
    context: Context,
    name: str,
    owner: CollectionOwner = CollectionOwner.USER,
    role: str = "",
    *,
    member_writes: bool = False,
) -> CollectionInfo:
    """Return a collection, which is created with the model of the service's settings where there is none.

    Raises:
        ToolError: the caller may not create it.
    """
    settings = await context.get_settings(DocumentSettings)
    model = settings.embedding_model
    return await context.collections.open(name, owner, role, model=model, member_writes=member_writes)


async def find_readable(context: Context, named: str | None) -> CollectionInfo | None:
    """Find the collection of this name or id, and create none; without a name the caller's own documents, None where
    they have none. Of several of that name their own documents come first, as in :func:`find_or_create`.

    Raises:
        ToolError: the caller may read no such collection, or several.
    """
    if named is None or named == DEFAULT_COLLECTION:
        own = await context.collections.find(DEFAULT_COLLECTION)
        if own is not None or named is None:
            return own
    return _find_named(await context.collections.list(), named)


async def find_existing(context: Context, named: str) -> CollectionInfo:
    """Find the collection of this name or id.

    Raises:
        ToolError: the caller may read no such collection, or several.
    """
    found = await find_readable(context, named)
    assert found is not None, "a collection that is named and not found is an error"
    return found


async def select_collections(context: Context, named: Sequence[str]) -> Sequence[CollectionInfo]:
    """Select collections: all of each name, or that of an id; all that the caller may read where none is named.

    Raises:
        ToolError: the caller may read no such collection.
    """
    readable = await context.collections.list()
    if not named:
        return readable
    return [
        one
        for name in named
        for one in [found for found in readable if found.name == normalize_name(name)] or [_find_named(readable, name)]
    ]


def _find_named(readable: Sequence[CollectionInfo], named: str) -> CollectionInfo:
    name = normalize_name(named)
    found = [one for one in readable if one.name == name or str(one.id) == name.lower()]
    if not found:
        raise ToolError(f"you may read no collection {name!r}")
    if len(found) > 1:
        raise ToolError(f"several collections are called {name!r}; name one by its id")
    return found[0]


def map_names(collections: Sequence[CollectionInfo]) -> dict[UUID, str]:
    """Map the ids of collections to their names."""
    return {one.id: one.name for one in collections}
