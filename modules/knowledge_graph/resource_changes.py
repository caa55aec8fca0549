"""Which tools change what of the memory can be attached to a chat."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from modules.kit.resource_changes import MAX_ANNOUNCED, Arguments, ChangedResource, changed
from modules.knowledge_graph.json_lines import list_entity_names
from modules.knowledge_graph.resources import entity, graph


def _change_entities(list_names: Callable[[Arguments], Iterable[str]]) -> list[ChangedResource]:
    def select(arguments: Arguments) -> Iterable[Mapping[str, Any]]:
        return [{"name": name} for name in list_names(arguments)]

    return [changed(graph), ChangedResource(entity, select)]


def _list_ends(arguments: Arguments) -> list[str]:
    return [name for relation in arguments["relations"] for name in (relation.source, relation.to)]


CHANGES = {
    "create_entities": _change_entities(lambda given: [one.name for one in given["entities"]]),
    "add_observations": _change_entities(lambda given: [one.entityName for one in given["observations"]]),
    "import_graph": _change_entities(lambda given: list_entity_names(given["jsonl"], MAX_ANNOUNCED)),
    "delete_entities": _change_entities(lambda given: given["entityNames"]),
    "delete_observations": _change_entities(lambda given: [one.entityName for one in given["deletions"]]),
    **dict.fromkeys(("create_relations", "delete_relations"), _change_entities(_list_ends)),
}
