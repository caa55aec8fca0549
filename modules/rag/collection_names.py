"""Collections as callers name them: by name, or by id where names of several owners are the same."""

from collections.abc import Sequence
from uuid import UUID

from modules.kit import CollectionInfo, CollectionOwner, Context, ToolError
from modules.rag.models import DEFAULT_COLLECTION
from modules.rag.settings import DocumentSettings


async def find_collection(context: Context, named: str | None) -> CollectionInfo:
    """Find the collection of this name or id; without a name the caller's own documents, which are created.

    Raises:
        ToolError: the caller may read no such collection, or several.
    """
    if named is None or named == DEFAULT_COLLECTION:
        return await open_collection(context, DEFAULT_COLLECTION)
    (found,) = _select(await context.collections.list(), [named])
    return found


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
    """Find the collection of this name or id, and create none.

    Raises:
        ToolError: the caller may read no such collection, or several.
    """
    if named is None:
        return await context.collections.find(DEFAULT_COLLECTION)
    (found,) = _select(await context.collections.list(), [named])
    return found


async def select_collections(context: Context, named: Sequence[str]) -> Sequence[CollectionInfo]:
    """Select collections by name or id; all that the caller may read where none is named.

    Raises:
        ToolError: the caller may read no such collection.
    """
    readable = await context.collections.list()
    if not named:
        return readable
    names = {one.name for one in readable}
    return [
        one
        for name in named
        for one in ([found for found in readable if found.name == name] if name in names else _select(readable, [name]))
    ]


def _select(readable: Sequence[CollectionInfo], named: Sequence[str]) -> list[CollectionInfo]:
    selected = list[CollectionInfo]()
    for name in named:
        found = [one for one in readable if one.name == name or str(one.id) == name.lower()]
        if not found:
            raise ToolError(f"you may read no collection {name!r}")
        if len(found) > 1:
            raise ToolError(f"several collections are called {name!r}; name one by its id")
        selected += found
    return selected


def map_names(collections: Sequence[CollectionInfo]) -> dict[UUID, str]:
    """Map the ids of collections to their names."""
    return {one.id: one.name for one in collections}
