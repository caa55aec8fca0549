"""Items around one, and the paths between two."""

import itertools
import random
from collections import deque
from collections.abc import Iterable
from typing import Any

import pytest

from tests.modules.items.conftest import Office, refused
from tests.support.modules import Person


async def draw(person: Person, count: int, edges: Iterable[tuple[int, int]], **params: Any) -> None:
    """Create items node-1 to node-`count`, each of which is related to the ones that `edges` name."""
    for number in range(1, count + 1):
        await person.call("create_item", type="node", title=f"Node {number}", **params)
    by_source: dict[int, list[str]] = {}
    for source, target in edges:
        by_source.setdefault(source, []).append(f"node-{target}")
    for source, related in by_source.items():
        await person.call("update_item", type="node", id=source, related=related, **params)


def list_numbers(items: Iterable[Any]) -> list[int]:
    return [one["id"] for one in items]


async def around(person: Person, number: int, **params: Any) -> dict[int, int]:
    found = await person.call("get_related_items", type="node", id=number, **params)
    return {one["item"]["id"]: one["distance"] for one in found["related_items"]}


async def test_items_around_one_by_their_distance(ada: Person) -> None:
    await draw(ada, 6, [(1, 2), (3, 1), (2, 4), (4, 5), (5, 6)])
    found = await ada.call("get_related_items", type="node", id="node-1")
    assert found["center_item"]["key"] == "node-1"
    assert {"description", "content", "related"}.isdisjoint(found["center_item"])
    assert [(one["item"]["key"], one["distance"], one["relationship"]) for one in found["related_items"]] == [
        ("node-3", 1, "direct"),
        ("node-2", 1, "direct"),
    ]
    assert found["graph_stats"] == {"total_nodes": 3, "total_edges": 2, "max_depth": 1}
    assert sorted(map(sorted, found["edges"])) == [["node-1", "node-2"], ["node-1", "node-3"]]
    assert await around(ada, 1, depth=2) == {3: 1, 2: 1, 4: 2}
    assert await around(ada, 1, depth=3) == {3: 1, 2: 1, 4: 2, 5: 3}
    far = await ada.call("get_related_items", type="node", id=1, depth=3)
    assert far["related_items"][-1]["relationship"] == "indirect"
    assert far["graph_stats"] == {"total_nodes": 5, "total_edges": 4, "max_depth": 3}


async def test_a_cycle_and_a_pair_both_ways_count_once(ada: Person) -> None:
    await draw(ada, 4, [(1, 2), (2, 1), (2, 3), (3, 1), (3, 4), (4, 3)])
    assert await around(ada, 1, depth=3) == {3: 1, 2: 1, 4: 2}
    found = await ada.call("get_related_items", type="node", id=1, depth=3)
    assert found["graph_stats"] == {"total_nodes": 4, "total_edges": 4, "max_depth": 2}
    alone = await ada.call("create_item", type="node", title="Alone")
    found = await ada.call("get_related_items", type="node", id=alone["id"], depth=3)
    assert (found["related_items"], found["edges"]) == ([], [])
    assert found["graph_stats"] == {"total_nodes": 1, "total_edges": 0, "max_depth": 0}


async def test_of_too_many_the_nearest_and_newest_are_told(ada: Person) -> None:
    await draw(ada, 12, [(1, other) for other in range(2, 11)] + [(10, 11), (11, 12)])
    assert await around(ada, 1, max_results=4) == {10: 1, 9: 1, 8: 1, 7: 1}
    assert await around(ada, 1, depth=3, max_results=10) == {**dict.fromkeys(range(2, 11), 1), 11: 2}
    hub = await ada.call("get_related_items", type="node", id=11, depth=2, max_results=3)
    assert list_numbers(one["item"] for one in hub["related_items"]) == [12, 10, 1]


@pytest.mark.parametrize("seed", range(3))
async def test_walks_are_those_of_a_plain_search(ada: Person, seed: int) -> None:
    chance = random.Random(seed)
    pairs = chance.sample(list(itertools.permutations(range(1, 21), 2)), 24)
    await draw(ada, 20, pairs)
    neighbours: dict[int, set[int]] = {number: set() for number in range(1, 21)}
    for one, other in pairs:
        neighbours[one].add(other)
        neighbours[other].add(one)
    for start in range(1, 21):
        distances = measure(neighbours, start)
        for depth in (1, 2, 3):
            expected = {item: away for item, away in distances.items() if 0 < away <= depth}
            assert await around(ada, start, depth=depth) == expected
    for first, last in chance.sample(list(itertools.permutations(range(1, 21), 2)), 40):
        found = await ada.call("find_path", from_type="node", from_id=first, to_type="node", to_id=last, max_depth=6)
        away = measure(neighbours, first).get(last)
        expected = list_shortest(neighbours, first, last) if away is not None and away <= 6 else []
        assert found["total_paths_found"] == len(expected)
        assert found.get("shortest_path_length") == (away if expected else None)
        told = [tuple(list_numbers(path["items"])) for path in found["paths"]]
        assert len(set(told)) == len(told) == min(10, len(expected))
        assert set(told) <= set(expected)


def measure(neighbours: dict[int, set[int]], start: int) -> dict[int, int]:
    distances, queue = {start: 0}, deque([start])
    while queue:
        one = queue.popleft()
        for other in neighbours[one]:
            if other not in distances:
                distances[other] = distances[one] + 1
                queue.append(other)
    return distances


def list_shortest(neighbours: dict[int, set[int]], first: int, last: int) -> list[tuple[int, ...]]:
    away = measure(neighbours, last)
    paths = [(first,)]
    for _ in range(away[first]):
        paths = [
            (*path, other) for path in paths for other in neighbours[path[-1]] if away.get(other) == away[path[-1]] - 1
        ]
    return paths


async def test_a_path_has_its_items_length_and_weight(ada: Person) -> None:
    await draw(ada, 5, [(1, 2), (3, 2), (3, 4)])
    found = await ada.call("find_path", from_type="node", from_id=1, to_type="node", to_id="node-4")
    assert [one["key"] for one in found["paths"][0]["items"]] == ["node-1", "node-2", "node-3", "node-4"]
    assert (found["paths"][0]["length"], found["paths"][0]["weight"]) == (3, 1 / 3)
    assert (found["shortest_path_length"], found["total_paths_found"]) == (3, 1)
    assert "is_complete" not in found
    none: dict[str, Any] = {"paths": [], "shortest_path_length": None, "total_paths_found": 0}
    assert await ada.call("find_path", from_type="node", from_id=1, to_type="node", to_id=4, max_depth=2) == none
    assert await ada.call("find_path", from_type="node", from_id=1, to_type="node", to_id=5) == none
    itself = await ada.call("find_path", from_type="node", from_id=1, to_type="node", to_id=1)
    assert (itself["shortest_path_length"], itself["total_paths_found"]) == (0, 1)
    assert (itself["paths"][0]["length"], itself["paths"][0]["weight"]) == (0, 1.0)


async def test_many_paths_are_counted_and_ten_told(ada: Person) -> None:
    layers = [(1,), range(2, 8), range(8, 14), (14,)]
    await draw(ada, 14, [pair for one, other in itertools.pairwise(layers) for pair in itertools.product(one, other)])
    found = await ada.call("find_path", from_type="node", from_id=14, to_type="node", to_id=1)
    assert (found["shortest_path_length"], found["total_paths_found"], len(found["paths"])) == (3, 36, 10)
    assert len({tuple(list_numbers(path["items"])) for path in found["paths"]}) == 10


async def test_a_search_that_grows_too_large_says_so(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modules.items.graph_walk.MAX_VISITED", 8)
    await draw(ada, 20, [(1, other) for other in range(2, 10)] + [(11, other) for other in range(12, 20)])
    found = await ada.call("find_path", from_type="node", from_id=2, to_type="node", to_id=12)
    assert found == {"paths": [], "shortest_path_length": None, "total_paths_found": 0, "is_complete": False}


async def test_items_that_are_not_there(ada: Person, office: Office) -> None:
    assert await refused(ada, "get_related_items", type="node", id=1) == (
        1001,
        {"type": "node", "id": 1, "requested_id": "node-1"},
    )
    await draw(ada, 2, [(1, 2)])
    code, details = await refused(ada, "find_path", from_type="node", from_id=1, to_type="node", to_id="node-9")
    assert (code, details["requested_id"]) == (1001, "node-9")
    assert (await refused(office.bob, "get_related_items", type="node", id=1))[0] == 1001
    code, details = await refused(ada, "find_path", from_type="node", from_id="x", to_type="node", to_id=1)
    assert (code, details["field"]) == (1002, "from_id")


async def test_a_changed_type_keeps_its_relations(ada: Person) -> None:
    await draw(ada, 3, [(1, 2), (2, 3)])
    await ada.call("change_item_type", from_type="node", from_id=2, to_type="hub")
    found = await ada.call("get_related_items", type="node", id=2)
    assert found["center_item"]["key"] == "hub-1"
    assert {one["item"]["key"] for one in found["related_items"]} == {"node-1", "node-3"}
    path = await ada.call("find_path", from_type="node", from_id=1, to_type="node", to_id=3)
    assert [one["key"] for one in path["paths"][0]["items"]] == ["node-1", "hub-1", "node-3"]


async def test_graphs_of_other_workspaces_and_tenants_stay_apart(offices: tuple[Office, Office]) -> None:
    (ada, bob, cat), eve = (offices[0].ada, offices[0].bob, offices[0].cat), offices[1].ada
    await ada.call("create_workspace", name="board", owner="role", role="Team")
    for person, params in ((ada, {"workspace": "role:Team/board"}), (ada, {}), (cat, {}), (eve, {})):
        await draw(person, 3, [(1, 2), (2, 3)] if params else [(3, 1)], **params)
    assert await around(bob, 1, depth=3, workspace="role:Team/board") == {2: 1, 3: 2}
    for person in (ada, cat, eve):
        assert await around(person, 1, depth=3) == {3: 1}
    code, details = await refused(cat, "get_related_items", type="node", id=1, workspace="role:Team/board")
    assert (code, details["field"]) == (1002, "workspace")
