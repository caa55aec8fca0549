"""Tools that walk over the relations of items."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from modules.items.errors import build_not_found
from modules.items.graph_walk import (
    MAX_DEPTH,
    MAX_PATH_LENGTH,
    FoundPaths,
    find_shortest_paths,
    walk_around,
)
from modules.items.item_keys import ItemKey, parse_id
from modules.items.item_rows import resolve_keys
from modules.items.item_tools import READ, READ_HINTS, IdParameter
from modules.items.listed_rows import fetch_listed
from modules.items.models import IdValue, ListedItem, TypeName, TypeParameter, WorkspaceParameter
from modules.items.read_cache import READ_CACHE
from modules.items.workspaces import Workspace
from modules.kit import Context, Store, tool

MAX_RELATED_ITEMS = 500


class RelatedItem(BaseModel):
    """An item that relations lead to, in at least `distance` steps; `direct` is one step."""

    item: ListedItem
    distance: int
    relationship: Literal["direct", "indirect"]


class GraphStats(BaseModel):
    """Numbers of the items of an answer, the one in the middle included, and of the relations among them, each counted
    once; and the largest distance."""

    total_nodes: int
    total_edges: int
    max_depth: int


class RelatedItems(BaseModel):
    """Items around one, the nearest first. `edges` are the relations among all of them, as pairs of keys."""

    center_item: ListedItem
    related_items: list[RelatedItem]
    graph_stats: GraphStats
    edges: list[tuple[str, str]]


class ItemPath(BaseModel):
    """A path of `length` steps; `weight` is one divided by that."""

    items: list[ListedItem]
    length: int
    weight: float


class FoundItemPaths(BaseModel):
    """Shortest paths, at most ten of `total_paths_found`, all of one length, which is null where there is none.
    `is_complete` is false where the search was given up because too many items lay around both ends; otherwise it is
    left out."""

    paths: list[ItemPath]
    shortest_path_length: int | None
    total_paths_found: int
    is_complete: Annotated[bool, Field(exclude_if=lambda value: value)] = True


@tool(hints=READ_HINTS, scopes=[READ], keywords="graph, neighbours, links, 関連, グラフ")
async def get_related_items(
    context: Context,
    type: TypeParameter,
    id: IdParameter,
    depth: Annotated[int, Field(ge=1, le=MAX_DEPTH, description="Steps from the item")] = 1,
    max_results: Annotated[int, Field(ge=1, le=MAX_RELATED_ITEMS, description="Most items")] = 50,
    workspace: WorkspaceParameter = None,
) -> RelatedItems:
    """Get the items around one: those that it relates to, those that relate to it, and so on, the nearest first."""
    key = parse_id(type, id)

    async def read(store: Store, found: Workspace | None) -> RelatedItems:
        (center,) = await _require_items(store, found, [(key, id)])
        assert found is not None, "an item was found in it"
        around = await walk_around(store, found.id, center, depth, max_results)
        items = await fetch_listed(store, found, around.distances)
        if center not in items:
            raise build_not_found(key.type, id)  # it was deleted in this moment
        edges = [(items[one].key, items[other].key) for one, other in around.edges if one in items and other in items]
        related = [_build_related(item, around.distances[one]) for one, item in items.items() if one != center]
        stats = GraphStats(
            total_nodes=len(items),
            total_edges=len(edges),
            max_depth=max((one.distance for one in related), default=0),
        )
        return RelatedItems(center_item=items[center], related_items=related, graph_stats=stats, edges=edges)

    return await READ_CACHE.read(context, workspace, "get_related_items", (key, depth, max_results), read)


@tool(hints=READ_HINTS, scopes=[READ], keywords="graph, connection, route, 経路, つながり")
async def find_path(
    context: Context,
    from_type: Annotated[TypeName, Field(description="Type of the first item")],
    from_id: Annotated[IdValue, Field(description="Number, or type-number such as task-7")],
    to_type: Annotated[TypeName, Field(description="Type of the last item")],
    to_id: Annotated[IdValue, Field(description="Number, or type-number such as note-3")],
    max_depth: Annotated[int, Field(ge=1, le=MAX_PATH_LENGTH, description="Most steps")] = 5,
    workspace: WorkspaceParameter = None,
) -> FoundItemPaths:
    """Find how two items are connected: the shortest paths over relations, in either direction."""
    first, last = parse_id(from_type, from_id, "from_id"), parse_id(to_type, to_id, "to_id")

    async def read(store: Store, found: Workspace | None) -> FoundItemPaths:
        source, target = await _require_items(store, found, [(first, from_id), (last, to_id)])
        assert found is not None, "items were found in it"
        paths = await find_shortest_paths(store, found.id, source, target, max_depth)
        return await _build_paths(store, found, paths)

    return await READ_CACHE.read(context, workspace, "find_path", (first, last, max_depth), read)


GRAPH_TOOLS = (get_related_items, find_path)


async def _require_items(
    store: Store, workspace: Workspace | None, keys: Sequence[tuple[ItemKey, int | str]]
) -> list[int]:
    """Return the internal ids of items; each key comes with the id as it was given.

    Raises:
        DocumentedError: one does not exist.
    """
    found = [] if workspace is None else await resolve_keys(store, workspace, [key for key, _ in keys])
    ids = [None if one is None else one.id for one in found] or [None] * len(keys)
    for one, (key, requested) in zip(ids, keys, strict=True):
        if one is None:
            raise build_not_found(key.type, requested)
    return [one for one in ids if one is not None]


async def _build_paths(store: Store, workspace: Workspace, found: FoundPaths) -> FoundItemPaths:
    items = await fetch_listed(store, workspace, {one: None for path in found.paths for one in path})
    # One of its items may have been deleted in this moment.
    paths = [[items[one] for one in path] for path in found.paths if all(one in items for one in path)]
    length = len(paths[0]) - 1 if paths else None
    return FoundItemPaths(
        paths=[ItemPath(items=path, length=len(path) - 1, weight=1 / max(1, len(path) - 1)) for path in paths],
        shortest_path_length=length,
        total_paths_found=found.total if paths else 0,
        is_complete=found.is_complete,
    )


def _build_related(item: ListedItem, distance: int) -> RelatedItem:
    return RelatedItem(item=item, distance=distance, relationship="direct" if distance == 1 else "indirect")
